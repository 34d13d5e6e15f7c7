"""The kinds of stored resources: a new kind has its own module, and is listed here."""

from __future__ import annotations

from typing import Any

from editor_client.manage.stored import Kind
from editor_client.manage.stored_agents import AGENTS, StoredAgentMethods
from editor_client.manage.stored_prompt_blocks import PROMPT_BLOCKS, StoredPromptBlockMethods
from editor_client.manage.stored_scorers import SCORERS, StoredScorerMethods

KINDS: dict[str, Kind[Any, Any, Any, Any, Any]] = {
    kind.segment: kind for kind in (SCORERS, PROMPT_BLOCKS, AGENTS)
}
"""By their segment in URLs. Referenced kinds come first, so that they are published before others."""


class StoredMethods(StoredAgentMethods, StoredPromptBlockMethods, StoredScorerMethods):
    """The methods of a client for stored resources."""
