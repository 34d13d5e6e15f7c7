"""The base classes of pages that change chosen resources: they ask first, and may report results."""

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
    """A chosen resource on the confirmation page."""

    choice: Choice
    draft: Draft | None
    """The current state; None if the resource is gone or the caller may not read its drafts."""
    obstacle: str = ""
    """Why the action is impossible for it; empty if it can be chosen."""

    @property
    def value(self) -> str:
        """The value of its checkbox, for the chosen version."""
        return value_of(self.choice.kind, self.choice.id, self.choice.version_id)


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A chosen resource in the report."""

    kind: StudioKind
    outcome: Outcome
    draft: Draft | None
    """The current state, as in `ChosenResource`."""

    @property
    def reasons(self) -> list[str]:
        """The reasons for the refusal, a sentence each."""
        return reasons(self.outcome.error)

    @property
    def has_changed(self) -> bool:
        """Whether it was refused because it was changed in the meantime."""
        return isinstance(self.outcome.error, EditConflict)


class ChosenPage(StudioPage, ABC):
    """Asks what to do with the resources chosen in a list, and does it once confirmed."""

    ask_template: str

    @abstractmethod
    def question(self, count: int) -> str:
        """Return the question, for this many resources: `Publish 3 drafts?`."""

    @abstractmethod
    def obstacle(self, choice: Choice, draft: Draft) -> str:
        """Return why the action is impossible for a resource now; empty if it is possible."""

    @abstractmethod
    def confirmed(self, choices: Sequence[Choice]) -> HttpResponse:
        """Perform the action, and answer; raises `Invalid` for input errors, which the page shows."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Redirect back: the page begins with a choice, which only a form can send."""
        return self.go(self.back_address)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Ask for confirmation, or perform what was confirmed."""
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
        """When a whole list was chosen, filter it to resources for which the action is possible."""
        return wanted

    @property
    def back_address(self) -> str:
        """The studio page on which the resources were chosen."""
        return safe_next_url(self.request, reverse("studio:waiting"))

    def ask(self, choices: Sequence[Choice], error: Invalid | None = None) -> HttpResponse:
        """Return the confirmation page, with the errors of the input."""
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
        """Return further context for the templates."""
        return {}

    def _judged(self, choice: Choice, draft: Draft | None) -> ChosenResource:
        if draft is None:
            return ChosenResource(choice=choice, draft=None, obstacle=translated(NotFound().message))
        return ChosenResource(choice=choice, draft=draft, obstacle=self.obstacle(choice, draft))

    def _drafts(self, choices: Sequence[Choice]) -> dict[tuple[str, str], Draft]:
        return drafts_by_id({(choice.kind.slug, choice.id) for choice in choices}, self.caller)


class BulkPage(ChosenPage):
    """A change to each of the chosen resources, independently, with a report on each afterwards."""

    report_template: str

    @abstractmethod
    def result(self, done: int, refused: int) -> str:
        """Return the result in one sentence."""

    @abstractmethod
    def act(self, choices: Sequence[Choice]) -> list[Outcome]:
        """Perform the change; raises `Invalid` as `confirmed` does."""

    def confirmed(self, choices: Sequence[Choice]) -> HttpResponse:
        """Perform the change, and report."""
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
