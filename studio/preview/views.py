"""Preview the text of the instructions in a context, and which blocks are shown.

It has its own page for saved versions, and is shown on the edit page for unsaved text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_lazy as _
from editor_client.shared.conditions import Evaluation
from editor_client.shared.instructions import Origin, Piece, placeholders, referenced_blocks

from studio import additions, extensions
from studio.editing.base import EditablePage
from studio.examples import ContextForm, Examples, change_examples
from studio.field_words import REASONS
from studio.forms.fields import is_unchosen
from studio.forms.inputs import controls_of
from studio.forms.rules import drop_empty_conditions
from studio.kinds import AGENT, PROMPT_BLOCK
from studio.limits import PageBudget, shorten
from studio.resources.rows import BlockOnPage, blocks_on_page
from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.errors import Invalid, Issue, NotFound
from versioning.domain.overrides import CodeAgent, code_config, merged_config
from versioning.domain.selectors import DRAFT, PUBLISHED, OverlayName, Selector, Status
from versioning.domain.snapshots import Snapshot, version_title
from versioning.editor import Explanation
from versioning.models import VersionedResource
from versioning.serving.overlays import read_overlay
from versioning.serving.references import Dependents

MAX_BLOCKS: Final = 300
"""The number of blocks whose result a preview shows."""
MAX_MARKS: Final = 2_000
"""The maximum number of marked placeholders; later ones are plain text."""
MAX_NAMES: Final = 50
"""The maximum number of names listed of each type."""
_SORTS: Final = {
    "text": _("Text"),
    "prompt_block": _("Text with conditions"),
    "prompt_block_ref": _("Prompt block"),
}
_ORIGINS: Final = (
    (Origin.MISSING, _("Missing")),
    (Origin.FALLBACK, _("Fallback")),
    (Origin.CONTEXT, _("Filled in")),
)


@dataclass(frozen=True, kw_only=True)
class Preview:
    pieces: Sequence[Piece]
    blocks: Sequence[dict[str, Any]]
    filled: Sequence[dict[str, Any]]
    """The names by origin, each with its number of occurrences in the text."""
    more_characters: int
    more_blocks: int
    has_unfilled: bool
    """Whether there are placeholders in instructions without blocks, which are not filled in."""

    @property
    def hidden_blocks(self) -> list[dict[str, Any]]:
        return [block for block in self.blocks if block["why_not"]]

    @property
    def shown_blocks(self) -> list[dict[str, Any]]:
        return [block for block in self.blocks if not block["why_not"]]

    @classmethod
    def of(cls, explanation: Explanation, used: Sequence[BlockOnPage] = ()) -> Preview:
        """Return the preview of assembled instructions, within the limits of a page.

        `used` are the prompt blocks that it refers to.
        """
        blocks_by_id = {block.id: block for block in used}
        length = sum(len(piece.text) for piece in explanation.pieces)
        pieces = list(_fit_pieces(explanation.pieces))
        filled = []
        for origin, title in _ORIGINS:
            counts = Counter(piece.path for piece in explanation.pieces if piece.origin is origin)
            if counts:
                names, more = list(islice(counts.items(), MAX_NAMES)), max(len(counts) - MAX_NAMES, 0)
                filled.append({"origin": origin.value, "title": str(title), "names": names, "more": more})
        return cls(
            pieces=pieces,
            filled=filled,
            more_characters=length - sum(len(piece.text) for piece in pieces),
            more_blocks=len(explanation.blocks[MAX_BLOCKS:]),
            has_unfilled=not explanation.blocks
            and any(next(placeholders(piece.text), None) is not None for piece in explanation.pieces),
            blocks=[
                {
                    "position": report.position + 1,
                    "sort": str(_SORTS[report.type]),
                    "id": report.id,
                    "why_not": str(REASONS[report.reason]) if report.reason else "",
                    "used": blocks_by_id.get(report.id or ""),
                }
                for report in explanation.blocks[:MAX_BLOCKS]
            ],
        )


def _fit_pieces(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Yield the pieces that fit on a page; unmarked text becomes a single piece."""
    budget = PageBudget()
    marks = 0
    plain: list[Piece] = []
    for piece in pieces:
        marks += piece.origin is not Origin.TEXT
        is_marked = piece.origin is not Origin.TEXT and marks <= MAX_MARKS
        plain.append(piece if is_marked else Piece(piece.text))
    for is_text, same_kind in groupby(plain, lambda piece: piece.origin is Origin.TEXT):
        for piece in [Piece("".join(part.text for part in same_kind))] if is_text else same_kind:
            text = budget.take(piece.text)
            # An empty value is also marked.
            if text or not piece.text:
                yield Piece(text, piece.origin, piece.path)


class OverlayOnPage(NamedTuple):
    name: OverlayName
    words: extensions.OverlayWords


def named_overlay(parameters: Mapping[str, str]) -> OverlayOnPage | None:
    """Return the overlay named by the parameters of a request, or None."""
    overlays = ((name, words) for name, words in additions.overlays().items() if parameters.get(name))
    return next((OverlayOnPage(OverlayName(name, parameters[name]), words) for name, words in overlays), None)


MAX_AGENTS: Final = 200
"""The maximum number of agents offered to run a prompt block in."""


@dataclass(frozen=True, kw_only=True)
class Column:
    title: str
    version: str
    agent: str
    version_id: str
    """The expected version of the agent; empty for an agent as defined in code."""
    status: Status
    """Whether it is the live version or a draft."""
    stream: str
    blocks: Sequence[BlockOnPage] = ()


@dataclass(frozen=True)
class BlockInAgent:
    """An agent that uses a prompt block, with its version that does."""

    id: str
    name: str
    config: Config
    version: Snapshot | None
    """None for an agent as defined in code."""
    is_live: bool

    @property
    def selector(self) -> Selector:
        """The selector that runs this version, with the published texts of its prompt blocks."""
        if self.is_live or self.version is None:
            return PUBLISHED
        return Selector(version_id=self.version.version_id)

    def column(self, block: VersionedResource, status: Status) -> Column:
        is_draft = status is Status.DRAFT
        version = block.latest if is_draft else block.active
        query = {**self.selector.as_dict(), **({"draftBlock": block.pk} if is_draft else {})}
        return Column(
            title=gettext("Draft") if is_draft else gettext("Live"),
            version=version_title(version) if version else gettext("not live"),
            agent=self.id,
            version_id=self.version.version_id if self.version else "",
            status=status,
            stream=f"{AGENT.address('try_run', self.id)}?{urlencode(query)}",
        )

    def column_with_overlay(self, overlay: OverlayOnPage, block: Snapshot | None, caller: Caller) -> Column:
        """Return the column of the agent and the block as if an overlay were live."""
        version: Snapshot | None = self.version
        if version is not None:
            selector = Selector(overlay=overlay.name)
            version = AGENT.collection.get(self.id, selector, by=caller).version
        return column_with_overlay(
            overlay, self.id, version, version_title(block) if block else gettext("not live")
        )


def column_with_overlay(
    overlay: OverlayOnPage, agent_id: str, version: Snapshot | None, called: str
) -> Column:
    """Return the column of an agent as if an overlay were live; `called` names the version."""
    query = urlencode(Selector(overlay=overlay.name).as_dict())
    return Column(
        title=str(overlay.words.column),
        version=called,
        agent=agent_id,
        version_id=version.version_id if version else "",
        status=Status.DRAFT,
        stream=f"{AGENT.address('try_run', agent_id)}?{query}",
    )


@dataclass(frozen=True)
class AgentsOfBlock:
    """The agents that use a prompt block and that the caller may run."""

    block_id: str
    caller: Caller

    @cached_property
    def choices(self) -> list[tuple[str, str]]:
        """The (id, name) of each, up to a limit; agents that show the block live come first."""
        choices = self._with_names(self.live, self.live.ids[:MAX_AGENTS])
        if len(choices) < MAX_AGENTS:
            choices += self._with_names(self._drafts, self._only_in_drafts[: MAX_AGENTS - len(choices)])
        return choices

    @cached_property
    def live(self) -> Dependents:
        return self._users(Status.PUBLISHED)

    @cached_property
    def _drafts(self) -> Dependents:
        return self._users(Status.DRAFT)

    @cached_property
    def _only_in_drafts(self) -> list[str]:
        live = set(self.live.ids)
        return [agent_id for agent_id in self._drafts.ids if agent_id not in live]

    def _with_names(self, users: Dependents, ids: Sequence[str]) -> list[tuple[str, str]]:
        return [(agent_id, shorten(name or agent_id)) for agent_id, name in users.find_names(ids)]

    def _users(self, status: Status) -> Dependents:
        users: Dependents = PROMPT_BLOCK.collection.dependents(self.block_id, status=status, by=self.caller)
        return users

    def get(self, agent_id: str) -> BlockInAgent | None:
        """Return an agent, by default the first, with its version that refers to the block.

        That is the published version if it does, otherwise the latest one for callers with access to drafts.
        None if neither does: only a labelled version may refer to it. Raises `NotFound` for other agents.
        """
        is_live = agent_id in self.live.ids if agent_id else bool(self.live.ids)
        users, ids = (self.live, self.live.ids) if is_live else (self._drafts, self._only_in_drafts)
        if not agent_id and ids:
            agent_id = ids[0]
        if agent_id not in ids:
            raise NotFound
        code = AGENT.catalog(self.caller).in_code.get(agent_id)
        record = self._record(agent_id, code)
        versions: list[tuple[Snapshot | None, bool]] = []
        if record is None or record.active is not None or code is not None:
            versions.append((record.active if record else None, True))
        if record is not None and self.caller.may(Right.READ_DRAFTS, record.workspace_id):
            versions.append((record.current, False))
        for version, is_live in versions:
            config = version.config if version else {}
            if code is not None:  # an override is applied to the code
                config = merged_config(code, config) if version else code_config(code)
            if any(target == self.block_id for _field, target in referenced_blocks(config)):
                name = dict(self._with_names(users, [agent_id])).get(agent_id, agent_id)
                return BlockInAgent(agent_id, name, config, version, is_live)
        return None

    def _record(self, agent_id: str, code: CodeAgent | None) -> VersionedResource | None:
        try:
            record: VersionedResource = AGENT.collection.find(agent_id, by=self.caller)
        except NotFound:
            if code is None:
                raise
            return None
        return record


SEVERAL: Final = "several"
"""The word in the address for several examples at once."""
_TITLES: Final = {
    (Status.DRAFT, False): gettext_lazy("Draft"),
    (Status.PUBLISHED, False): gettext_lazy("Live"),
    (Status.DRAFT, True): gettext_lazy("Draft, with drafts of blocks"),
    (Status.PUBLISHED, True): gettext_lazy("Live, with drafts of blocks"),
}
"""The titles of columns, by status and whether they use the drafts of prompt blocks."""


class InstructionsPage(EditablePage):
    """A page with assembled instructions, as if published now or with drafts of blocks."""

    @cached_property
    def with_drafts(self) -> bool:
        """Whether to show the drafts of prompt blocks; by default as if published now."""
        requested = self.request.POST if self.request.method == "POST" else self.request.GET
        is_requested = requested.get("blocks") == "drafts" and named_overlay(requested) is None
        return is_requested and self.may(Right.READ_DRAFTS)

    def list_blocks(self, config: Config) -> list[BlockOnPage]:
        """Return the prompt blocks that a configuration refers to, with their live versions and drafts."""
        return blocks_on_page(config, self.caller)


class SavedInstructionsPage(InstructionsPage):
    """A page about a saved version: the draft, or the published one."""

    @cached_property
    def statuses(self) -> list[Status]:
        """The statuses that the caller may choose: the draft if there is one, and the published version."""
        saved = self.resource
        statuses = []
        is_draft = saved is not None and saved.has_draft and self.taken_back is None
        if is_draft and self.may(Right.READ_DRAFTS):
            statuses.append(Status.DRAFT)
        if self.code_agent is not None or (saved is not None and saved.active is not None):
            statuses.append(Status.PUBLISHED)
        return statuses

    @cached_property
    def overlay(self) -> OverlayOnPage | None:
        """The requested overlay, such as a release, shown as if it were live; None for none.

        Raises `NotFound` if it cannot be selected, or is invisible to the caller.
        """
        requested = self.request.POST if self.request.method == "POST" else self.request.GET
        overlay = named_overlay(requested)
        if overlay is not None:
            read_overlay(overlay.name, self.caller)
        return overlay

    @cached_property
    def overlaid(self) -> Snapshot | None:
        """The version that would be live if the overlay were; None for an agent that only code defines."""
        if self.resource is None or self.overlay is None:
            return None
        selector = Selector(overlay=self.overlay.name)
        version: Snapshot = self.collection.get(self.resource_id, selector, by=self.caller).version
        return version

    def saved_config(self, status: Status) -> Config:
        if self.resource is None:
            return self.effective(None)
        return self.effective(self.resource.latest if status is Status.DRAFT else self.resource.active)


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
        has_version = self.resource is not None
        has_blocks = has_version and any(column.blocks for column in columns)
        return self.page(
            "studio/preview/try_several.html" if several else "studio/preview/try.html",
            title=gettext("Try"),
            columns=columns,
            context_form=form if several else form.take(request.GET),
            may_save=self.may(Right.SAVE),
            overlay=self.overlay,
            with_drafts=self.with_drafts,
            offers_drafts=(has_blocks and not self.overlay and self.may(Right.READ_DRAFTS)),
            answer_actions=additions.collect(lambda extension: extension.answer_actions(self.caller)),
            agents=self.agents.choices if self.agents else (),
            in_agent=self.user,
            modes=self._modes() if form.examples.may_read else (),
            addresses={name: self.address(name) for name in ("try", "context", "preview", "usage")},
        )

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Return the filled-in context as JSON, or its fields: with an example, or with errors."""
        form = self.form().take(request.POST)
        action = request.POST.get("do", "")
        if action != "read":
            return self._fields(form, change_examples(form, action))
        try:
            return JsonResponse({"context": form.read()})
        except Invalid:
            return self._fields(form, 400)

    def form(self) -> ContextForm:
        """Return an empty form for the context of the running versions."""
        own = self.effective(self.overlaid) if self.overlay else self.saved_config(self.statuses[0])
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
        if self.agents is None or not self.agents.choices:
            return None
        return self.agents.get(self._parameters.get("agent", ""))

    @property
    def columns(self) -> Sequence[Column]:
        if not self.kind.is_shown:
            live = [status for status in self.statuses if status is Status.PUBLISHED]
            columns = [self._column(status) for status in (live if self.overlay else self.statuses)]
            if not self.overlay:
                return columns
            called = version_title(self.overlaid) if self.overlaid else gettext("In code")
            return [column_with_overlay(self.overlay, self.resource_id, self.overlaid, called), *columns]
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
        titles = {"": gettext("A conversation"), SEVERAL: gettext("Several examples")}
        return [
            (title, urlencode({**chosen, **({"mode": mode} if mode else {})}), mode == current)
            for mode, title in titles.items()
        ]

    def _column(self, status: Status) -> Column:
        version = None
        if self.resource is not None:
            version = self.resource.latest if status is Status.DRAFT else self.resource.active
        # Without its own draft, the drafts of blocks would change the live version.
        with_drafts = self.with_drafts and status is self.statuses[0] and self.resource is not None
        selector = PUBLISHED
        if with_drafts:
            selector = DRAFT
        elif status is Status.DRAFT and version is not None:
            # By its id, a version runs with the published texts of its blocks.
            selector = Selector(version_id=version.version_id)
        return Column(
            title=str(_TITLES[status, with_drafts]),
            version=version_title(version) if version else gettext("In code"),
            agent=self.resource_id,
            version_id=version.version_id if version else "",
            status=Status.DRAFT if with_drafts else status,
            stream=f"{self.address('try_run')}?{urlencode(selector.as_dict())}",
            blocks=self.list_blocks(self.saved_config(status)),
        )


class PreviewPage(SavedInstructionsPage):
    tab = "preview"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the saved version in the context named by the address, by default an empty one."""
        return self.preview_page(self.saved_form().take(request.GET))

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the unsaved form; parts of a page, for the edit page."""
        self.require(Right.SAVE)
        controls = controls_of(request.POST)
        # A new row is still empty, and must not prevent a preview of the others.
        blocks = controls.child("instructions").child("blocks").children
        for name in [name for name, row in blocks.items() if is_unchosen(row)]:
            del blocks[name]
        drop_empty_conditions(controls)
        submission = self.submission(controls)
        try:
            submission.check(self.schema)
            config = self.schema.edit_config(submission.began_with or {}, submission.changed)
            if self.code_agent:
                config = merged_config(self.code_agent, config)
        except Invalid as error:
            # Examples can still be saved.
            form = self.saved_form().take(request.POST)
            status = change_examples(form, request.POST.get("do", ""))
            return self.parts_of_page(form, None, error.issues, status=status)
        form = self.context_form(config, drafts=self.with_drafts).take(request.POST)
        status = change_examples(form, request.POST.get("do", ""))
        preview, errors = _make_preview(form, lambda context: self._preview_typed(config, context))
        return self.parts_of_page(form, preview, errors, status=status)

    def parts_of_page(
        self,
        form: ContextForm,
        preview: Preview | None,
        errors: Sequence[Issue],
        *,
        status: int = 200,
        **which: object,
    ) -> HttpResponse:
        """Return the parts that an open page replaces: its preview and its context."""
        context = {"preview": preview, "errors": errors, "context_form": form, **which, **self.places()}
        return TemplateResponse(self.request, "studio/preview/live.html", context, status=status)

    def saved_form(self) -> ContextForm:
        """Return an empty form for the context of the requested version."""
        return self.context_form(self._chosen_config, drafts=self.with_drafts)

    def preview_page(self, form: ContextForm, *, status: int = 200) -> HttpResponse:
        preview, errors = _make_preview(form, self._preview_saved)
        context = {
            "wanted": self._chosen_status.value,
            "overlay": self.overlay,
            "with_drafts": self.with_drafts,
            "offers_drafts": not self.overlay and not self.kind.is_shown and self.may(Right.READ_DRAFTS),
        }
        if "fragment" in self.request.POST:
            return self.parts_of_page(form, preview, errors, status=status, **context)
        return self.page(
            "studio/preview/preview.html",
            title=gettext("Preview"),
            status=status,
            preview=preview,
            errors=errors,
            context_form=form,
            statuses=[choice.value for choice in self.statuses],
            **context,
            **self.places(),
        )

    def places(self) -> dict[str, object]:
        """Return the further template context for the fields of a context, on every page with them."""
        return {"addresses": {name: self.address(name) for name in ("preview", "context")}}

    @cached_property
    def _chosen_status(self) -> Status:
        requested = self.request.POST if self.request.method == "POST" else self.request.GET
        status_value = requested.get("version", "")
        return next((status for status in self.statuses if status.value == status_value), self.statuses[0])

    @property
    def _chosen_config(self) -> Config:
        return self.effective(self.overlaid) if self.overlay else self.saved_config(self._chosen_status)

    def _preview_saved(self, context: Mapping[str, Any]) -> Preview:
        selector = (
            Selector(overlay=self.overlay.name) if self.overlay else Selector(status=self._chosen_status)
        )
        if self.kind.is_shown:
            version = self.collection.get(self.resource_id, selector, by=self.caller).version
            return self._preview_block(version.config, context)
        explanation = self.editor.agent.explain(
            self.resource_id, selector, context=context, drafts_of_blocks=self.with_drafts, by=self.caller
        )
        return Preview.of(explanation, self.list_blocks(self._chosen_config))

    def _preview_typed(self, config: Config, context: Mapping[str, Any]) -> Preview:
        if self.kind.is_shown:
            return self._preview_block(config, context)
        # Code may omit the instructions of an agent.
        instructions = config.get("instructions", "")
        if isinstance(instructions, str):
            return Preview.of(Explanation.of(instructions, Evaluation({}), {}))
        explanation = self.editor.prompt.explain(
            instructions, context, drafts=self.with_drafts, by=self.caller, field="instructions"
        )
        return Preview.of(explanation, self.list_blocks(config))

    def _preview_block(self, config: Config, context: Mapping[str, Any]) -> Preview:
        block = {"type": "prompt_block", "content": config["content"], "rules": config.get("rules")}
        return Preview.of(self.editor.prompt.explain([block], context, by=self.caller))


def _make_preview(
    form: ContextForm, preview: Callable[[Mapping[str, Any]], Preview]
) -> tuple[Preview | None, Sequence[Issue]]:
    """Return the preview in the context of a form, or the errors of the context or the text.

    Errors of the context are also shown next to its fields, which an open page does not renew immediately.
    """
    try:
        return preview(form.read()), []
    except Invalid as error:
        return None, error.issues


class ContextPage(PreviewPage):
    """The preview page for a posted form; for scripts, parts of the page and the context as JSON."""

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Return the context of the example that the address names, as JSON, or go to the preview."""
        if "example" not in request.GET:
            return self.go(self.address("preview"))
        example = Examples.of(self.kind, self.resource_id, self.resource, self.caller).get(
            request.GET.get("example", "")
        )
        return JsonResponse({"name": example.name, "context": example.context})

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Perform the button's action, and show the saved version in the posted context."""
        form = self.saved_form().take(request.POST)
        status = change_examples(form, request.POST.get("do", ""))
        return self.preview_page(form, status=status)
