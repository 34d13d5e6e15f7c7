"""The prompt blocks, and what a list of blocks amounts to before anything is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from versioning.access import APPLICATION, Caller
from versioning.assembly import Blocks, context_notices, find_blocks
from versioning.context_schema import SCHEMA_FIELD
from versioning.dependents import Dependents, dependents_of
from versioning.editor.agents import Agents
from versioning.editor.collection import Collection
from versioning.editor.reading import Who, caller_of
from versioning.instructions import BlockReport, assemble
from versioning.models import PromptBlock, PromptBlockLabel, PromptBlockVersion
from versioning.models.basis import Basis
from versioning.models.versioned import VersionedQuerySet
from versioning.registry import Registry
from versioning.selectors import Status
from versioning.served import Notice


class Prompts(Collection[PromptBlock]):
    """Prompt blocks."""

    def __init__(self, code: Registry, agents: Agents) -> None:
        super().__init__(PromptBlock, PromptBlockLabel, code, publishes_at_once=False)
        self._agents = agents

    def _readable_by(self, by: Caller) -> VersionedQuerySet[PromptBlock]:
        return PromptBlock.objects.readable_by(by)

    def dependents(
        self, resource_id: str, *, status: Status = Status.PUBLISHED, by: Who = APPLICATION
    ) -> Dependents:
        """Return the agents that refer directly to a block which the caller may read."""
        by = caller_of(by)
        target = self.find(resource_id, by=by)
        return dependents_of(target, self.code, status=status, caller=by, beside=self._agents.beside())

    def basis_of_dependents(self, resource_id: str, status: Status) -> Basis | None:
        """Return what the agents that use a block depend on; None when files say it of some."""
        return super().basis_of_dependents(resource_id, status) if self._agents.rows_decide else None

    def preview(
        self,
        blocks: Sequence[Mapping[str, Any]],
        context: Mapping[str, Any] | None = None,
        *,
        by: Who = APPLICATION,
    ) -> tuple[str, list[BlockReport]]:
        """Return the text that instruction blocks make in the context, and what became of each.

        A referenced block is its draft, the published one for who may read no more, and missing
        for strangers. Raises `Invalid` for a text that would be too long.
        """
        wanted = {block["id"] for block in blocks if block["type"] == "prompt_block_ref"}
        found = find_blocks(wanted, Blocks.DRAFTS, caller_of(by))
        return assemble(blocks, context or {}, {block_id: block.text for block_id, block in found.items()})

    def context_notices(
        self, reports: Sequence[BlockReport], context: Mapping[str, Any] | None = None
    ) -> list[Notice]:
        """Return what the schemas of the blocks that a preview shows have against its context."""
        shown = [report.version_id for report in reports if report.shown and report.version_id]
        if not shown:
            return []
        with_schema = PromptBlockVersion.objects.filter(pk__in=shown, config_json__contains=SCHEMA_FIELD)
        return [
            replace(notice, message=f"Prompt block {version.resource_id!r}: {notice.message}")
            for version in with_schema.order_by("resource_id")
            for notice in context_notices(version.config.get(SCHEMA_FIELD), context or {})
        ]
