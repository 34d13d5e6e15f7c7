"""Judging pairs of answers without knowing which is which."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from functools import cached_property
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from capabilities.evaluation.experiments.models import Cell, Experiment, Label, State
from capabilities.evaluation.experiments.verbs import Experiments
from capabilities.evaluation.studio.comparison import Result
from capabilities.evaluation.studio.experiment import OneExperimentPage
from capabilities.evaluation.studio.preferences import NAME, SAME, preferences_of
from versioning.domain.access import Right
from versioning.domain.errors import NotFound

SIDES: Final = ("a", "b")


class BlindPage(OneExperimentPage):
    """One pair of answers after the other, in an order and on sides that differ from person to person."""

    right = Right.SAVE

    def get(self, request: HttpRequest, workspace: str, dataset: str, experiment: str) -> HttpResponse:
        """Show the next pair; once all are judged, what came of it."""
        item = next((one for one in self.items if one not in self._judged), None)
        done = sum(1 for one in self.items if one in self._judged)
        return self.page(
            "evaluation/blind.html",
            title=_("Blind comparison"),
            experiment_address=self.experiment_address(self.experiment.pk),
            item=item,
            answers=self._answers(item) if item else [],
            number=done + 1,
            count=len(self.items),
            done=done,
            preferences=None if item else preferences_of(self.experiment, self.baseline),
        )

    def post(self, request: HttpRequest, workspace: str, dataset: str, experiment: str) -> HttpResponse:
        """Store what a person says of a pair, and show the next one."""
        item, better = request.POST.get("item", ""), request.POST.get("better", "")
        if item not in self.items or better not in {*SIDES, SAME}:
            raise NotFound
        value = SAME if better == SAME else self._sides(item)[SIDES.index(better)].pk
        given = {"experimentId": self.experiment.pk, "itemId": item, "name": NAME, "value": value}
        Experiments.add_label(given, dataset_id=self.dataset_id, by=self.caller)
        return self.go(request.path)

    @cached_property
    def baseline(self) -> Experiment:
        """The experiment with which it is compared; raises `NotFound` without one, or before both ended."""
        found = self.baseline_of(self.experiment)
        if found is None or not (found.outcome and self.experiment.outcome):
            raise NotFound
        return found

    @cached_property
    def items(self) -> list[str]:
        """The items with two answers that differ, in the order for this person."""
        rows = Cell.objects.filter(
            experiment__in=[self.experiment.pk, self.baseline.pk], attempt=0, state=State.DONE
        )
        answers: defaultdict[str, dict[str, tuple[int | None, str]]] = defaultdict(dict)
        for run, item_id, revision, digest in rows.values_list(
            "experiment", "item_id", "revision", "output_digest"
        ):
            answers[str(item_id)][run] = (revision, digest)
        found = []
        for item, both in answers.items():
            here, there = both.get(self.experiment.pk), both.get(self.baseline.pk)
            if here and there and here[0] == there[0] is not None and here[1] != there[1]:
                found.append(item)
        return sorted(found, key=self._drawn)

    @cached_property
    def _judged(self) -> set[str]:
        """The items of which the person has said something."""
        mine = Label.objects.filter(experiment=self.experiment, name=NAME, author=self.caller.user_id)
        return {str(one) for one in mine.values_list("item_id", flat=True)}

    def _drawn(self, item: str) -> bytes:
        """Return what chance decides for an item and this person: nobody can tell it from the page."""
        seed = f"{self.experiment.pk}\n{self.caller.user_id}\n{item}"
        return hashlib.sha256(seed.encode()).digest()

    def _sides(self, item: str) -> list[Experiment]:
        both = [self.experiment, self.baseline]
        return both if self._drawn(item)[-1] % 2 else both[::-1]

    def _answers(self, item: str) -> list[tuple[str, Result]]:
        """Return both answers to an item, with the names of their sides."""
        rows = Cell.objects.filter(item_id=item, attempt=0).with_revisions()
        cells = [rows.get(experiment=one) for one in self._sides(item)]
        return [(side.upper(), Result(cell)) for side, cell in zip(SIDES, cells, strict=True)]
