"""The prompt blocks, and what a list of blocks amounts to before anything is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from versioning.access import APPLICATION
from versioning.assembly import Blocks, find_blocks
from versioning.dependents import Dependents, dependents_of
from versioning.editor.agents import Agents
from versioning.editor.collection import Collection
from versioning.editor.reading import Who, caller_of
from versioning.instructions import BlockReport, assemble
from versioning.models import PromptBlock, PromptBlockLabel
from versioning.models.basis import Basis
from versioning.registry import Registry
from versioning.selectors import Status


class Prompts(Collection[PromptBlock]):
    """Prompt blocks."""

    def __init__(self, code: Registry, agents: Agents) -> None:
        super().__init__(PromptBlock, PromptBlockLabel, code, publishes_at_once=False)
        self._agents = agents

    def dependents(
        self, resource_id: str, *, status: Status = Status.PUBLISHED, by: Who = APPLICATION
    ) -> Dependents:
        """Return the agents that refer directly to a block which the caller may read."""
        by = caller_of(by)
        target = self.find(resource_id, by=by)
        return dependents_of(target, self.code, status=status, caller=by, beside=self._agents.beside())

    def basis_of_dependents(self, resource_id: str) -> Basis | None:
        """Return what the agents that use a block depend on; None when files say it of some."""
        return super().basis_of_dependents(resource_id) if self._agents.rows_decide else None

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
