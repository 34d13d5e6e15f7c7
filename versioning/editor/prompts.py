"""The prompt blocks, and what a list of blocks amounts to before anything is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from editor_client.shared.evaluation import Evaluation
from editor_client.shared.instructions import BlockReport, assemble, referenced_blocks

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.config import Config
from versioning.domain.context_schema import SCHEMA_FIELD
from versioning.domain.events import Target
from versioning.domain.registry import Registry
from versioning.domain.resolved_agent import Notice
from versioning.domain.selectors import Status
from versioning.editor.agents import Agents
from versioning.editor.collection import Collection
from versioning.editor.reading import Who, caller_of
from versioning.editor.recording import target_of
from versioning.models import PromptBlock, PromptBlockLabel, PromptBlockVersion, VersionedResource
from versioning.models.basis import Basis
from versioning.models.versioned import VersionedQuerySet
from versioning.serving.assembly import Blocks, context_notices, find_blocks
from versioning.serving.dependents import Dependents, agents_that_show, dependents_of

# To say where a block stands takes the numbers of its versions, and none of their text.
_TEXTS: Final = [
    f"{version}__{column}"
    for version in ("active_version", "latest_version")
    for column in ("config_json", "search_text")
]


@dataclass(frozen=True, kw_only=True)
class UsedBlock:
    """A prompt block that an agent refers to: what is live of it, and what waits to be published."""

    id: str
    name: str
    live: int | None
    """The number of the published version; None while none is published."""
    draft: int | None
    """The number of a newer version that is not published; None without one that the caller may read."""


class Prompts(Collection[PromptBlock]):
    """Prompt blocks."""

    def __init__(self, code: Registry, agents: Agents) -> None:
        super().__init__(PromptBlock, PromptBlockLabel, code, publishes_at_once=False)
        self._agents = agents

    def _readable_by(self, by: Caller, *, label: str | None = None) -> VersionedQuerySet[PromptBlock]:
        return PromptBlock.objects.readable_by(by, label=label)

    def dependents(
        self, resource_id: str, *, status: Status = Status.PUBLISHED, by: Who = APPLICATION
    ) -> Dependents:
        """Return the agents that refer directly to a block which the caller may read."""
        by = caller_of(by)
        target = self.find(resource_id, by=by)
        return dependents_of(target, self.code, status=status, caller=by, beside=self._agents.beside())

    def _shown_in(self, resource: VersionedResource) -> list[Target]:
        """Return the live agents that show a block to people who may not read it."""
        block = cast("PromptBlock", resource)
        agents = agents_that_show(block, self.code, self._agents.beside())
        return [target_of(agent, self.code) for agent in agents]

    def basis_of_dependents(self, resource_id: str) -> Basis | None:
        """Return what the agents that use a block depend on; None when files say it of some."""
        return super().basis_of_dependents(resource_id) if self._agents.rows_decide else None

    def preview(
        self,
        blocks: Sequence[Mapping[str, Any]],
        context: Mapping[str, Any] | None = None,
        *,
        drafts: bool = True,
        by: Who = APPLICATION,
        field: str = "blocks",
    ) -> tuple[str, list[BlockReport]]:
        """Return the text that instruction blocks make in the context, and what became of each.

        A referenced block is its draft, the published one for who may read no more, and missing
        for strangers. Without `drafts` it is the published one for everybody who may read it: the
        text that an agent would get that is published with these blocks now. Raises `Invalid` for
        a text that would be too long, or would take too much to evaluate; `field` is what the caller
        calls the blocks.
        """
        evaluation = Evaluation(context or {})
        evaluation.field = field
        wanted = {block["id"] for block in blocks if block["type"] == "prompt_block_ref"}
        found = find_blocks(wanted, Blocks.DRAFTS if drafts else Blocks.READABLE, caller_of(by), evaluation)
        texts = {block_id: block.text for block_id, block in found.items()}
        return assemble(blocks, evaluation, texts, field=field)

    def context_notices(
        self, reports: Sequence[BlockReport], context: Mapping[str, Any] | None = None
    ) -> list[Notice]:
        """Return what the schemas of the blocks that a preview shows have against its context."""
        shown = [report.version_id for report in reports if report.shown and report.version_id]
        if not shown:
            return []
        evaluation = Evaluation(context or {})
        with_schema = PromptBlockVersion.objects.filter(pk__in=shown, config_json__contains=SCHEMA_FIELD)
        return [
            replace(notice, message=f"Prompt block {version.resource_id!r}: {notice.message}")
            for version in with_schema.order_by("resource_id")
            for notice in context_notices(version.config.get(SCHEMA_FIELD), evaluation)
        ]

    def used_in(self, config: Config, *, by: Who = APPLICATION) -> list[UsedBlock]:
        """Return the prompt blocks that instructions refer to, in their order, each once.

        Those that the caller may not read are left out; one query.
        """
        by = caller_of(by)
        wanted = list(dict.fromkeys(target for _, target in referenced_blocks(config)))
        rows = self.list(by=by).filter(pk__in=wanted).defer(*_TEXTS) if wanted else ()
        found = {block.pk: block for block in rows}
        return [_used(found[block_id], by) for block_id in wanted if block_id in found]


def _used(block: PromptBlock, by: Caller) -> UsedBlock:
    shows_draft = block.has_draft and by.may(Right.READ_DRAFTS, block.workspace_id)
    live, draft = block.active_version, block.latest_version if shows_draft else None
    named = draft or live
    return UsedBlock(
        id=block.pk,
        name=named.name if named else block.pk,
        live=live.number if live else None,
        draft=draft.number if draft else None,
    )
