"""The use cases: what people and programs do with agents and prompt blocks.

    from versioning.editor import editor

    editor.agent.update("writer", {"instructions": "…"}, by=user)     # saved and published at once
    editor.prompt.update("tone", {"content": "…"}, by=user)           # saved as a draft

The two kinds differ in that one thing. Everything checks rights, keeps the policies and writes the
audit log; the REST API, the studio and the commands call these same verbs.
"""

from __future__ import annotations

from versioning.editor.collection import Collection
from versioning.models import Agent, AgentLabel, PromptBlock, PromptBlockLabel

__all__ = ["Collection", "Editor", "editor"]


class Editor:
    """Two collections, one for each kind."""

    def __init__(self) -> None:
        self.agent: Collection[Agent] = Collection(Agent, AgentLabel, publishes_at_once=True)
        self.prompt: Collection[PromptBlock] = Collection(
            PromptBlock, PromptBlockLabel, publishes_at_once=False
        )


editor = Editor()
