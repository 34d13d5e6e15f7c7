"""The bases of pages that change many chosen resources: they ask first, and may report on each afterwards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from studio.kinds import KINDS_BY_SLUG, StudioKind
from studio.publishing.drafts import Draft, drafts_by_id
from studio.publishing.obstacles import reasons
from studio.resources import matching
from studio.resources.chosen import chosen, value_of
from studio.translation import translated
from studio.views import StudioPage, safe_next_url
from versioning.domain.errors import EditConflict, Invalid, NotFound
from versioning.editor.bulk import Choice, Outcome, Result
from versioning.editor.catalog import Wanted


@dataclass(frozen=True, kw_only=True)
class ChosenResource:
    """A chosen resource on the page that asks."""

    choice: Choice
    draft: Draft | None
    """The resource as it is now; None if it is not there, or the caller may not read its drafts."""
    obstacle: str = ""
    """Why nothing can be done with it; empty if it is offered."""

    @property
    def value(self) -> str:
        """The value of its checkbox, for the version that was chosen."""
        return value_of(self.choice.kind, self.choice.id, self.choice.version_id)


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A chosen resource on the page that reports."""

    kind: StudioKind
    outcome: Outcome
    draft: Draft | None
    """The resource as it is now, as in `ChosenResource`."""

    @property
    def reasons(self) -> list[str]:
        """Why it was refused, a sentence each."""
        return reasons(self.outcome.error)

    @property
    def has_changed(self) -> bool:
        """Whether it was refused because it was changed in the meantime."""
        return isinstance(self.outcome.error, EditConflict)


class ChosenPage(StudioPage, ABC):
    """Asks what to do with the resources that were chosen in a list, and does it once confirmed."""

    ask_template: str

    @abstractmethod
    def question(self, count: int) -> str:
        """Return the question, for this many resources: `Publish 3 drafts?`."""

    @abstractmethod
    def obstacle(self, choice: Choice, draft: Draft) -> str:
        """Return why nothing can be done with a resource as it is now; empty if it can be offered."""

    @abstractmethod
    def confirmed(self, choices: Sequence[Choice]) -> HttpResponse:
        """Do it, and answer; raises `Invalid` for what was typed, which the page then says."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Lead back: the page begins with a choice, which only a form can send."""
        return self.go(self.back_address)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Ask; or do what was confirmed."""
        is_confirmed = "confirmed" in request.POST
        if matching.FIELD in request.POST and not is_confirmed:
            choices = matching.matching(request.POST, self.caller, self.narrow)
        else:
            choices = chosen(request.POST)
        if not choices:
            return self.go(self.back_address, _("Nothing was chosen."), level=messages.WARNING)
        if not is_confirmed:
            return self.ask(choices)
        try:
            return self.confirmed(choices)
        except Invalid as error:
            return self.ask(choices, error)

    def narrow(self, wanted: Wanted) -> Wanted:
        """Narrow a list further, of which everything was chosen, to what can be offered at all."""
        return wanted

    @property
    def back_address(self) -> str:
        """The page of the studio on which the resources were chosen."""
        return safe_next_url(self.request, reverse("studio:waiting"))

    def ask(self, choices: Sequence[Choice], error: Invalid | None = None) -> HttpResponse:
        """Return the page that asks, with what is wrong with what was typed."""
        found = self._drafts(choices)
        resources = [self._judged(choice, found.get((choice.kind.slug, choice.id))) for choice in choices]
        offered = [one for one in resources if not one.obstacle]
        return self.page(
            self.ask_template,
            title=self.question(len(offered)),
            status=400 if error else 200,
            problems=reasons(error),
            offered=offered,
            left_out=[one for one in resources if one.obstacle],
            back_address=self.back_address,
            **self.more(),
        )

    def more(self) -> dict[str, Any]:
        """Return what else the templates show."""
        return {}

    def _judged(self, choice: Choice, draft: Draft | None) -> ChosenResource:
        if draft is None:
            return ChosenResource(choice=choice, draft=None, obstacle=translated(NotFound().message))
        return ChosenResource(choice=choice, draft=draft, obstacle=self.obstacle(choice, draft))

    def _drafts(self, choices: Sequence[Choice]) -> dict[tuple[str, str], Draft]:
        return drafts_by_id({(choice.kind.slug, choice.id) for choice in choices}, self.caller)


class BulkPage(ChosenPage):
    """A change to the resources that were chosen: to each on its own, with a report on each afterwards."""

    report_template: str

    @abstractmethod
    def result(self, done: int, refused: int) -> str:
        """Return what came of it, in one sentence."""

    @abstractmethod
    def act(self, choices: Sequence[Choice]) -> list[Outcome]:
        """Do it; raises `Invalid` as `confirmed` does."""

    def confirmed(self, choices: Sequence[Choice]) -> HttpResponse:
        """Do it, and report."""
        return self._report(self.act(choices))

    def _report(self, outcomes: Sequence[Outcome]) -> HttpResponse:
        found = self._drafts([outcome.choice for outcome in outcomes])
        lines = [
            Reported(
                kind=KINDS_BY_SLUG[outcome.choice.kind.slug],
                outcome=outcome,
                draft=found.get((outcome.choice.kind.slug, outcome.choice.id)),
            )
            for outcome in outcomes
        ]
        by_result: dict[str, Any] = {
            result.value: [line for line in lines if line.outcome.result is result] for result in Result
        }
        return self.page(
            self.report_template,
            title=self.result(len(by_result[Result.DONE.value]), len(by_result[Result.REFUSED.value])),
            back_address=self.back_address,
            **by_result,
            **self.more(),
        )
