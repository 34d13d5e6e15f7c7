"""Try an agent, or a prompt block in an agent that uses it: the draft and what is live answer side by side.

A draft runs as if it were published now. The draft of an agent shows the published texts of its prompt
blocks and delegates to the sub-agents that it would have; `?blocks=drafts` runs it with the drafts of its
prompt blocks. The draft of a prompt block is shown in what is live of the agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.request import Request

from studio.examples.changes import change_examples
from studio.examples.form import ContextForm
from studio.preview.columns import AgentsOfBlock, BlockInAgent, Column, column_of_release
from studio.preview.views import SavedInstructionsPage
from versioning.api import parameters
from versioning.api.runs import RunViewSet
from versioning.conf import get_editor
from versioning.domain.access import Right
from versioning.domain.errors import Invalid
from versioning.domain.selectors import DRAFT, PUBLISHED, Selector, Status, VersionsMap
from versioning.domain.snapshots import title_of

SEVERAL: Final = "several"
"""What the address says for several examples at once."""

_TITLES: Final = {
    (Status.DRAFT, False): gettext_lazy("Draft"),
    (Status.PUBLISHED, False): gettext_lazy("Live"),
    (Status.DRAFT, True): gettext_lazy("Draft, with drafts of blocks"),
    (Status.PUBLISHED, True): gettext_lazy("Live, with drafts of blocks"),
}
"""What a column is called, by its status and whether it has the drafts of its prompt blocks."""


class TryPage(SavedInstructionsPage):
    """A column for each version that can be run, and one message for all of them."""

    tab = "try"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show an empty chat or table; its script sends the messages in the name of the session."""
        columns = self.columns
        if self.agents is not None:
            self.used_by = self.agents.live.count  # the head of the page need not ask again
        form = self.form()
        several = request.GET.get("mode") == SEVERAL and form.examples.may_read
        return self.page(
            "studio/preview/try_several.html" if several else "studio/preview/try.html",
            title=_("Try"),
            columns=columns,
            context_form=form if several else form.take(request.GET),
            may_save=self.may(Right.SAVE),
            release=self.release,
            with_drafts=self.with_drafts,
            offers_drafts=self._offers_drafts(columns),
            agents=self.agents.offered if self.agents else (),
            in_agent=self.user,
            modes=self._modes() if form.examples.may_read else (),
            addresses={name: self.address(name) for name in ("try", "context", "preview", "usage")},
        )

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Return the context that is filled in as JSON, or its fields: with an example, or what is wrong."""
        form = self.form().take(request.POST)
        wanted = request.POST.get("do", "")
        if wanted != "read":
            return self._fields(form, change_examples(form, wanted))
        try:
            return JsonResponse({"context": form.read()})
        except Invalid:
            return self._fields(form, 400)

    def form(self) -> ContextForm:
        """Return an empty form for the context of what runs."""
        own = self.effective(self.released) if self.release else self.saved(self.statuses[0])
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
            shown = [self._column(status) for status in (live if self.release else self.statuses)]
            return [self._column_of_release(), *shown] if self.release else shown
        if self.user is None or self.resource is None:
            return ()
        if self.release:
            live_column = self.user.column(self.resource, Status.PUBLISHED)
            return [self.user.column_of_release(self.release, self.released, self.caller), live_column]
        has_draft = Status.DRAFT in self.statuses
        # What is live is compared with the draft even where the block is not live: the agent runs without it.
        statuses = (Status.DRAFT, Status.PUBLISHED) if has_draft else (Status.PUBLISHED,)
        return [self.user.column(self.resource, status) for status in statuses]

    @property
    def _parameters(self) -> Any:
        return self.request.POST if self.request.method == "POST" else self.request.GET

    def _fields(self, form: ContextForm, status: int) -> HttpResponse:
        template = "studio/editing/context_fields.html"
        return TemplateResponse(self.request, template, {"context_form": form}, status=status)

    def _modes(self) -> list[tuple[str, str, bool]]:
        """Return the (title, query, is current) of both ways to try something out."""
        chosen = {
            name: self._parameters[name]
            for name in ("agent", "blocks", "release")
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
        return has_blocks and not self.release and self.may(Right.READ_DRAFTS)

    def _column_of_release(self) -> Column:
        return column_of_release(
            self.release,
            self.resource_id,
            self.released,
            title_of(self.released) if self.released else _("In code"),
        )

    def _column(self, status: Status) -> Column:
        version = None
        if self.resource is not None:
            version = self.resource.latest if status is Status.DRAFT else self.resource.active
        # Without a draft of its own, what is live is what the drafts of blocks would change.
        with_drafts = self.with_drafts and status is self.statuses[0] and self.resource is not None
        selector = PUBLISHED
        if with_drafts:
            selector = DRAFT
        elif status is Status.DRAFT and version is not None:
            # Named by its id, a version runs with the published texts of its blocks.
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


DRAFT_BLOCK: Final = parameters.query("draftBlock", "The prompt block that is shown in its draft.")


class TryRun(RunViewSet):
    """Runs the version of a column and streams its events like the API, except for two things.

    A draft delegates to the sub-agents that it would have once published, and one prompt block can be shown
    as if its draft were published.
    """

    schema = None  # no part of the API
    query = {"stream": (*RunViewSet.query["stream"], DRAFT_BLOCK)}

    def stream(self, request: Request, resource: str) -> StreamingHttpResponse:
        """Run the version that the address names on the messages."""
        return super().stream(request, unquote(resource))

    def _call(self, request: Request) -> dict[str, Any]:
        shown = request.query_params.getlist(DRAFT_BLOCK.name)
        get_editor().prompt.require_drafts(shown, by=self.caller)
        drafts = VersionsMap(prompt_blocks=dict.fromkeys(shown, DRAFT))
        return super()._call(request) | {"published_sub_agents": True, "versions": drafts}
