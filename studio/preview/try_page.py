"""Try an agent, or a prompt block in an agent that uses it: draft and live version answer side by side.

A draft runs as if it were published now. The draft of an agent shows the published texts of its prompt blocks
and delegates to the sub-agents that it would have; `?blocks=drafts` runs it with the drafts of its prompt
blocks. The draft of a prompt block is shown in the live version of the agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studio import additions
from studio.examples.changes import change_examples
from studio.examples.form import ContextForm
from studio.preview.columns import AgentsOfBlock, BlockInAgent, Column, OverlayOnPage, column_with_overlay
from studio.preview.views import SavedInstructionsPage
from versioning.domain.access import Right
from versioning.domain.errors import Invalid
from versioning.domain.selectors import DRAFT, PUBLISHED, Selector, Status
from versioning.domain.snapshots import title_of

SEVERAL: Final = "several"
"""Stands in the address for several examples at once."""

_TITLES: Final = {
    (Status.DRAFT, False): gettext_lazy("Draft"),
    (Status.PUBLISHED, False): gettext_lazy("Live"),
    (Status.DRAFT, True): gettext_lazy("Draft, with drafts of blocks"),
    (Status.PUBLISHED, True): gettext_lazy("Live, with drafts of blocks"),
}
"""The titles of columns, by status and whether they use the drafts of prompt blocks."""


class TryPage(SavedInstructionsPage):
    """A column for each version that can be run, and one message for all of them."""

    tab = "try"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show an empty chat or table; its script sends the messages with the session."""
        columns = self.columns
        if self.agents is not None:
            self.used_by = self.agents.live.count  # so that the head of the page need not query it again
        form = self.form()
        several = request.GET.get("mode") == SEVERAL and form.examples.may_read
        return self.page(
            "studio/preview/try_several.html" if several else "studio/preview/try.html",
            title=_("Try"),
            columns=columns,
            context_form=form if several else form.take(request.GET),
            may_save=self.may(Right.SAVE),
            overlay=self.overlay,
            with_drafts=self.with_drafts,
            offers_drafts=self._offers_drafts(columns),
            answer_actions=additions.added(lambda one: one.answer_actions(self.caller)),
            agents=self.agents.offered if self.agents else (),
            in_agent=self.user,
            modes=self._modes() if form.examples.may_read else (),
            addresses={name: self.address(name) for name in ("try", "context", "preview", "usage")},
        )

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Return the filled-in context as JSON, or its fields: with an example, or with errors."""
        form = self.form().take(request.POST)
        wanted = request.POST.get("do", "")
        if wanted != "read":
            return self._fields(form, change_examples(form, wanted))
        try:
            return JsonResponse({"context": form.read()})
        except Invalid:
            return self._fields(form, 400)

    def form(self) -> ContextForm:
        """Return an empty form for the context of the running versions."""
        own = self.effective(self.overlaid) if self.overlay else self.saved(self.statuses[0])
        if not self.kind.is_shown:
            return self.context_form(own, drafts=self.with_drafts)
        return self.context_form(own, *([self.user.config] if self.user else []), drafts=False)

    @cached_property
    def agents(self) -> AgentsOfBlock | None:
        """The agents to run a prompt block in; None for an agent, which runs itself."""
        return AgentsOfBlock(self.resource_id, self.caller) if self.kind.is_shown else None

    @cached_property
    def user(self) -> BlockInAgent | None:
        """The agent to run a prompt block in; None if there is none, and for agents."""
        if self.agents is None or not self.agents.offered:
            return None
        return self.agents.get(self._parameters.get("agent", ""))

    @property
    def columns(self) -> Sequence[Column]:
        """The versions that answer."""
        if not self.kind.is_shown:
            live = [status for status in self.statuses if status is Status.PUBLISHED]
            shown = [self._column(status) for status in (live if self.overlay else self.statuses)]
            return [self._column_with_overlay(self.overlay), *shown] if self.overlay else shown
        if self.user is None or self.resource is None:
            return ()
        if self.overlay:
            live_column = self.user.column(self.resource, Status.PUBLISHED)
            return [self.user.column_with_overlay(self.overlay, self.overlaid, self.caller), live_column]
        has_draft = Status.DRAFT in self.statuses
        # The live version is compared even if the block is not live: the agent runs without it.
        statuses = (Status.DRAFT, Status.PUBLISHED) if has_draft else (Status.PUBLISHED,)
        return [self.user.column(self.resource, status) for status in statuses]

    @property
    def _parameters(self) -> Any:
        return self.request.POST if self.request.method == "POST" else self.request.GET

    def _fields(self, form: ContextForm, status: int) -> HttpResponse:
        template = "studio/editing/context_fields.html"
        return TemplateResponse(self.request, template, {"context_form": form}, status=status)

    def _modes(self) -> list[tuple[str, str, bool]]:
        """Return the (title, query, is current) of both modes."""
        chosen = {
            name: self._parameters[name]
            for name in ("agent", "blocks", *additions.overlays())
            if self._parameters.get(name)
        }
        current = self._parameters.get("mode", "")
        titles = {"": _("A conversation"), SEVERAL: _("Several examples")}
        return [
            (title, urlencode({**chosen, **({"mode": mode} if mode else {})}), mode == current)
            for mode, title in titles.items()
        ]

    def _offers_drafts(self, columns: Sequence[Column]) -> bool:
        has_version = self.resource is not None
        has_blocks = has_version and any(column.blocks for column in columns)
        return has_blocks and not self.overlay and self.may(Right.READ_DRAFTS)

    def _column_with_overlay(self, overlay: OverlayOnPage) -> Column:
        called = title_of(self.overlaid) if self.overlaid else _("In code")
        return column_with_overlay(overlay, self.resource_id, self.overlaid, called)

    def _column(self, status: Status) -> Column:
        version = None
        if self.resource is not None:
            version = self.resource.latest if status is Status.DRAFT else self.resource.active
        # Without its own draft, the live version is what the drafts of blocks would change.
        with_drafts = self.with_drafts and status is self.statuses[0] and self.resource is not None
        selector = PUBLISHED
        if with_drafts:
            selector = DRAFT
        elif status is Status.DRAFT and version is not None:
            # By its id, a version runs with the published texts of its blocks.
            selector = Selector(version_id=version.version_id)
        return Column(
            title=str(_TITLES[status, with_drafts]),
            version=title_of(version) if version else _("In code"),
            agent=self.resource_id,
            version_id=version.version_id if version else "",
            status=Status.DRAFT if with_drafts else status,
            stream=f"{self.address('try_run')}?{urlencode(selector.as_dict())}",
            blocks=self.used(self.saved(status)),
        )
