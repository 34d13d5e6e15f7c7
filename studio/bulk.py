"""The base classes of pages that change chosen resources: they ask first, and may report results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy
from editor_client.shared.tags import listed_in

from studio import unsaved
from studio.kinds import KINDS_BY_SLUG, StudioKind
from studio.publishing.drafts import Changes, Draft, Texts, changes_of, drafts_by_id, find_refusals
from studio.publishing.views import reasons
from studio.resources.filters import MATCHING, matching
from studio.resources.rows import read_choices, value_of
from studio.translation import translate
from studio.views import StudioPage, safe_next_url
from studio.workspaces.names import OfWorkspace, by_workspace, workspace_names
from versioning.domain.access import Caller, Right
from versioning.domain.errors import EditConflict, Invalid, NotFound
from versioning.editor.bulk import (
    BulkOutcome,
    ChosenVersion,
    Result,
    label_chosen,
    publish_chosen,
    tag_chosen,
)
from versioning.editor.catalog import ListFilter

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

LATER: Final = "later"
"""The field with the chosen resources of other workspaces, which are handled afterwards."""


@dataclass(frozen=True, kw_only=True)
class ChosenResource:
    choice: ChosenVersion
    draft: Draft | None
    """The current state; None if the resource was deleted or the caller may not read its drafts."""
    obstacle: str = ""
    """Why the action is impossible for it; empty if it can be chosen."""
    changes: Changes | None = None
    """The changes that would go live, on pages that show them."""
    is_chosen: bool = True
    """Whether its checkbox is ticked."""

    @property
    def workspace_id(self) -> str:
        """The workspace of the resource; empty if it was deleted."""
        return self.draft.resource.workspace_id if self.draft is not None else ""

    @property
    def value(self) -> str:
        return value_of(self.choice.kind, self.choice.id, self.choice.version_id)


@dataclass(frozen=True, kw_only=True)
class Reported:
    kind: StudioKind
    outcome: BulkOutcome
    draft: Draft | None
    """The current state, as in `ChosenResource`."""
    workspace: str = ""
    """The name of its workspace, if the person works in several."""

    @property
    def reasons(self) -> list[str]:
        return reasons(self.outcome.error)

    @property
    def has_changed(self) -> bool:
        """Whether it was refused because it was changed in the meantime."""
        return isinstance(self.outcome.error, EditConflict)


@dataclass(frozen=True, kw_only=True)
class AskForm:
    groups: Sequence[OfWorkspace[ChosenResource]]
    later: Sequence[str] = ()
    """The values of the chosen resources in the other forms, which follow afterwards."""
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def workspace_id(self) -> str:
        """The workspace of the first group, which is the only one if the form is for one workspace."""
        return self.groups[0].id


class ChosenPage(StudioPage, ABC):
    """Confirms an action on resources chosen in a list, and performs it."""

    ask_template: str
    spans_workspaces = True
    """Whether the action can be performed for several workspaces at once; otherwise each has its own form."""

    @abstractmethod
    def question(self, count: int) -> str:
        """Return the question, for this many resources: `Publish 3 drafts?`."""

    @abstractmethod
    def obstacle(self, choice: ChosenVersion, draft: Draft) -> str:
        """Return why the action is impossible for a resource now; empty if it is possible."""

    @abstractmethod
    def perform(self, choices: Sequence[ChosenVersion]) -> HttpResponse:
        """Perform the action, and answer; raises `Invalid` for input errors, which the page shows."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.go(self.back_address)

    def post(self, request: HttpRequest) -> HttpResponse:
        is_confirmed = "confirmed" in request.POST
        if MATCHING in request.POST and not is_confirmed:
            choices = matching(request.POST, self.caller, self.narrow)
        else:
            choices = read_choices(request.POST)
        if not choices:
            return self.go(self.back_address, _("Nothing was chosen."), level=messages.WARNING)
        if not is_confirmed:
            return self.ask(choices)
        try:
            return self.perform(choices)
        except Invalid as error:
            return self.ask(choices, error)

    def narrow(self, filters: ListFilter) -> ListFilter:
        """When a whole list was chosen, filter it to resources for which the action is possible."""
        return filters

    @property
    def back_address(self) -> str:
        return safe_next_url(self.request, reverse("studio:waiting"))

    def ask(self, choices: Sequence[ChosenVersion], error: Invalid | None = None) -> HttpResponse:
        resources = self.judge(self._resources(choices))
        offered = self.describe([resource for resource in resources if not resource.obstacle])
        forms = [replace(form, more=self.about_form(form)) for form in self._forms(offered)]
        return self.page(
            self.ask_template,
            title=self.question(len(offered)) if offered else _("Nothing can be done with these"),
            status=400 if error else 200 if offered else 409,
            problems=reasons(error),
            forms=forms,
            is_divided=len(forms) > 1,
            left_out=[resource for resource in resources if resource.obstacle],
            workspace_names=self.names,
            names_workspaces=len(self.names) > 1,
            back_address=self.back_address,
            **self.more(),
        )

    def about_form(self, form: AskForm) -> dict[str, Any]:
        return {}

    def judge(self, resources: Sequence[ChosenResource]) -> Sequence[ChosenResource]:
        """Return the resources with the data that is determined for several at once."""
        return resources

    def describe(self, offered: Sequence[ChosenResource]) -> Sequence[ChosenResource]:
        return offered

    @cached_property
    def names(self) -> dict[str, str]:
        return workspace_names(self.caller)

    @property
    def later(self) -> Sequence[ChosenVersion]:
        return read_choices(self.request.POST, LATER)

    def go_on(self, address: str, message: str, *, level: int = messages.SUCCESS) -> HttpResponse:
        """Redirect to the address, which shows the message, or show the form for the next workspace."""
        if not self.later:
            return self.go(address, message, level=level)
        link = format_html('{} <a class="link" href="{}">{}</a>', message, address, _("Open the page"))
        messages.add_message(self.request, level, link)
        return self.ask(self.later)

    def _resources(self, choices: Sequence[ChosenVersion]) -> list[ChosenResource]:
        drafts = self._drafts(choices)
        resources = []
        for choice in choices:
            draft = drafts.get((choice.kind.slug, choice.id))
            obstacle = translate(NotFound().message) if draft is None else self.obstacle(choice, draft)
            resources.append(ChosenResource(choice=choice, draft=draft, obstacle=obstacle))
        return resources

    def _forms(self, offered: Sequence[ChosenResource]) -> list[AskForm]:
        groups = by_workspace(offered, lambda resource: resource.workspace_id, self.names)
        if self.spans_workspaces or len(groups) == 1:
            return [AskForm(groups=groups)] if groups else []
        return [
            AskForm(
                groups=[group],
                later=[item.value for other in groups if other is not group for item in other.items],
            )
            for group in groups
        ]

    def more(self) -> dict[str, Any]:
        return {}

    def _drafts(self, choices: Sequence[ChosenVersion]) -> dict[tuple[str, str], Draft]:
        return drafts_by_id({(choice.kind.slug, choice.id) for choice in choices}, self.caller)


class BulkPage(ChosenPage):
    """A change to each of the chosen resources, independently, with a report on each afterwards."""

    report_template: str

    asks: StrPromise
    """The question, with the `count` of resources."""
    all_done: StrPromise
    """The message with the number `done`, if none was refused."""
    some_refused: StrPromise
    """The message with the numbers `done` and `refused`."""

    def question(self, count: int) -> str:
        return str(self.asks % {"count": count})

    def result(self, done: int, refused: int) -> str:
        words = self.some_refused if refused else self.all_done
        return str(words % {"done": done, "refused": refused})

    @abstractmethod
    def act(self, choices: Sequence[ChosenVersion]) -> list[BulkOutcome]:
        """Perform the change; raises `Invalid` as `perform` does."""

    def perform(self, choices: Sequence[ChosenVersion]) -> HttpResponse:
        return self._report(self.act(choices))

    def _report(self, outcomes: Sequence[BulkOutcome]) -> HttpResponse:
        drafts = self._drafts([outcome.choice for outcome in outcomes])
        lines = []
        for outcome in outcomes:
            kind = KINDS_BY_SLUG[outcome.choice.kind.slug]
            draft = drafts.get((kind.slug, outcome.choice.id))
            workspace_id = draft.resource.workspace_id if draft is not None and len(self.names) != 1 else ""
            workspace = self.names.get(workspace_id, workspace_id)
            lines.append(Reported(kind=kind, outcome=outcome, draft=draft, workspace=workspace))
        by_result: dict[str, Any] = {
            result.value: [line for line in lines if line.outcome.result is result] for result in Result
        }
        report = self.page(
            self.report_template,
            title=self.result(len(by_result[Result.DONE.value]), len(by_result[Result.REFUSED.value])),
            back_address=self.back_address,
            later=[value_of(choice.kind, choice.id, choice.version_id) for choice in self.later],
            **by_result,
            **self.after(outcomes),
            **self.more(),
        )
        return unsaved.mark_copy_obsolete(self.request, report)

    def after(self, outcomes: Sequence[BulkOutcome]) -> dict[str, Any]:
        return {}


class LabelChosenPage(BulkPage):
    """Asks for a label and its versions, and sets it on each independently."""

    ask_template = "studio/bulk/label.html"
    report_template = "studio/bulk/labelled.html"
    asks = ngettext_lazy("Label %(count)s resource", "Label %(count)s resources", "count")
    all_done = ngettext_lazy("%(done)s labelled", "%(done)s labelled", "done")
    some_refused = gettext_lazy("%(done)s labelled, %(refused)s not")

    def obstacle(self, choice: ChosenVersion, draft: Draft) -> str:
        return "" if draft.may_publish else _("You may not set labels in its workspace.")

    def act(self, choices: Sequence[ChosenVersion]) -> list[BulkOutcome]:
        return label_chosen(
            self.editor.collection, choices, self._fields["label"], live=self._fields["live"], by=self.caller
        )

    def more(self) -> dict[str, Any]:
        return self._fields

    @property
    def _fields(self) -> dict[str, Any]:
        return {
            "label": self.request.POST.get("label", "").strip(),
            "live": self.request.POST.get("which") == "live",
        }


class TagChosenPage(BulkPage):
    """Asks for tags to add and to remove, and changes each resource independently."""

    ask_template = "studio/bulk/tag.html"
    report_template = "studio/bulk/tagged.html"
    asks = ngettext_lazy("Tag %(count)s resource", "Tag %(count)s resources", "count")
    all_done = ngettext_lazy("%(done)s tagged", "%(done)s tagged", "done")
    some_refused = gettext_lazy("%(done)s tagged, %(refused)s not")

    def obstacle(self, choice: ChosenVersion, draft: Draft) -> str:
        may = self.caller.may(Right.SAVE, draft.resource.workspace_id)
        return "" if may else _("You may not change its tags.")

    def act(self, choices: Sequence[ChosenVersion]) -> list[BulkOutcome]:
        """Change the tags; raises `Invalid` if the input is empty."""
        add, remove = (listed_in(self.request.POST.get(name, "")) for name in ("add", "remove"))
        if not add and not remove:
            raise Invalid.field("add", "must name a tag")
        return tag_chosen(self.editor.collection, choices, add=add, remove=remove, by=self.caller)

    def more(self) -> dict[str, Any]:
        return {name: self.request.POST.get(name, "") for name in ("add", "remove")}


class PublishChosenPage(BulkPage):
    """Shows the changes, and publishes exactly these versions, independently."""

    ask_template = "studio/bulk/publish.html"
    report_template = "studio/bulk/published.html"
    asks = ngettext_lazy("Publish %(count)s draft?", "Publish %(count)s drafts?", "count")
    all_done = ngettext_lazy("%(done)s published", "%(done)s published", "done")
    some_refused = gettext_lazy("%(done)s published, %(refused)s not")

    def obstacle(self, choice: ChosenVersion, draft: Draft) -> str:
        if choice.version_id == draft.resource.active_id:
            return _("It is already live.")
        if choice.version_id != draft.resource.current.version_id:
            return _("It has been saved again since you looked. Look at the newer draft first.")
        if not draft.may_publish:
            return _("You may not publish in its workspace.")
        return draft.hindrance

    def judge(self, resources: Sequence[ChosenResource]) -> Sequence[ChosenResource]:
        drafts = [
            resource.draft for resource in resources if resource.draft is not None and not resource.obstacle
        ]
        self._texts = Texts(drafts)
        refused = find_refusals(drafts, self._texts, self.caller)
        return [
            replace(
                resource,
                obstacle=resource.obstacle
                or refused.get((resource.choice.kind.slug, resource.choice.id), ""),
            )
            for resource in resources
        ]

    def describe(self, offered: Sequence[ChosenResource]) -> Sequence[ChosenResource]:
        return with_changes(offered, self.caller, self._texts)

    def narrow(self, filters: ListFilter) -> ListFilter:
        return ListFilter(filters, waiting=True)

    def act(self, choices: Sequence[ChosenVersion]) -> list[BulkOutcome]:
        return publish_chosen(self.editor.collection, choices, by=self.caller)

    def after(self, outcomes: Sequence[BulkOutcome]) -> dict[str, Any]:
        """Return the current state of the drafts that changed since they were shown."""
        changed = [outcome.choice for outcome in outcomes if isinstance(outcome.error, EditConflict)]
        drafts = self._drafts(changed)
        newest = [
            replace(choice, version_id=draft.newest.version_id, etag=None)
            for choice in changed
            if (draft := drafts.get((choice.kind.slug, choice.id))) is not None
        ]
        again = [draft for draft in self.judge(self._resources(newest)) if not draft.obstacle]
        return {"again": self.describe(again)}


def with_changes(
    offered: Sequence[ChosenResource], caller: Caller, texts: Texts | None = None
) -> list[ChosenResource]:
    """Return chosen drafts with the changes of publishing each; those shown completely are ticked."""
    drafts = [offer.draft for offer in offered if offer.draft is not None]
    changes = changes_of(drafts, texts or Texts(drafts), caller)
    with_own_changes = [(offer, changes[offer.choice.kind.slug, offer.choice.id]) for offer in offered]
    return [replace(offer, changes=own, is_chosen=own.is_whole) for offer, own in with_own_changes]
