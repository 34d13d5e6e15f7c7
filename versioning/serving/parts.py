"""The parts of an agent: what is evaluated in a request context, for clients that evaluate it themselves.

The client's evaluation (`editor_client.parts`) and the service's own give the same answer, because both
evaluate with the functions of `editor_client.shared`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from editor_client.shared.agents import EVALUATED_FIELDS
from editor_client.shared.evaluation import Evaluation
from editor_client.shared.instructions import BlockText, referenced_blocks

from versioning.domain.access import Caller
from versioning.domain.config import Config
from versioning.domain.context_schema import SCHEMA_FIELD
from versioning.domain.errors import PartsUnavailable
from versioning.serving import choice
from versioning.serving.assembly import name_of, require_instructions, texts_for
from versioning.serving.blocks import Texts
from versioning.serving.candidates import Candidate


@dataclass(frozen=True, kw_only=True)
class AgentParts:
    """A configuration that is to be evaluated, and the prompt blocks that it may show."""

    candidate: Candidate
    config: Config
    """The fields that are evaluated."""
    texts: Texts
    """Every prompt block that the instructions refer to: its text, or why there is none to show."""

    @property
    def request_context_schema(self) -> Any:
        """The JSON Schema for request contexts; None without one."""
        return self.candidate.config.get(SCHEMA_FIELD)

    @property
    def shown(self) -> dict[str, BlockText | None]:
        """The prompt blocks, by id; None for one that is left out in every context."""
        return {
            block_id: text if isinstance(text, BlockText) else None for block_id, text in self.texts.items()
        }

    @property
    def omitted(self) -> Mapping[str, str]:
        """Why a prompt block is left out in every context, by id: `missing` or `unpublished`."""
        return {block_id: text for block_id, text in self.texts.items() if isinstance(text, str)}


def parts_of(candidate: Candidate, caller: Caller) -> AgentParts:
    """Return the parts of a candidate, as its caller would get it evaluated.

    Raises `PartsUnavailable` where an application chooses versions by the context, `NoInstructions`, and
    `Invalid` for prompt blocks that are too much to read.
    """
    if choice.has_choosers() and not candidate.selector.asks_for_draft:
        raise PartsUnavailable
    require_instructions(candidate)
    found = texts_for(candidate, Evaluation({}), caller)
    wanted = sorted({target for _, target in referenced_blocks(candidate.config)})
    fields = {field: candidate.config[field] for field in EVALUATED_FIELDS if field in candidate.config}
    return AgentParts(
        candidate=candidate,
        config={**fields, "name": name_of(candidate)},
        texts={block_id: found.get(block_id, "missing") for block_id in wanted},
    )
