"""The kinds of resource that the editor versions, each described once. Pure.

Editor, API, studio, the log and their tests ask a kind what it is called and what it can do; none of
them compares it with another one. The models that store a kind carry it as `model.kind`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from versioning.domain import config
from versioning.domain.config import ConfigSchema
from versioning.domain.errors import Invalid, Message


@dataclass(frozen=True, kw_only=True)
class ResourceKind:
    """What one kind of resource is called, what its versions hold, and which features it has."""

    slug: str
    """What the kind is called in resource references and event types: `agent`, `promptBlock`."""
    namespace: str
    """The attribute of the editor that holds its verbs: `editor.agent`."""
    singular: str
    plural: str
    path: str
    """The folder of its addresses (`/stored/agents`) and of its exported files."""
    icon: str
    """The Material symbol by which people recognise it."""
    text_field: str
    """The snapshot field with the text that people come to edit."""
    schema: ConfigSchema
    override_schema: ConfigSchema | None = None
    """What the snapshots of an override hold, of a kind that code can define; None for other kinds."""
    publishes_at_once: bool = False
    """Whether a save in Python, and a creation anywhere, is published when nobody says."""
    has_visibility: bool = False
    """Whether a resource can be public: readable beyond its workspace."""
    is_run: bool = False
    """Whether applications run resources of this kind, which people can then try out in a chat."""
    is_shown: bool = False
    """Whether its text is part of the instructions of agents, for whoever may read those."""

    @property
    def in_code(self) -> bool:
        """Whether code can define resources of this kind, which stored ones then override."""
        return self.override_schema is not None

    @property
    def has_preview(self) -> bool:
        """Whether there is text to preview: the instructions of an agent, or what agents show of a block."""
        return self.is_run or self.is_shown


AGENT: Final = ResourceKind(
    slug="agent",
    namespace="agent",
    singular="agent",
    plural="agents",
    path="agents",
    icon="smart_toy",
    text_field="instructions",
    schema=config.AGENT,
    override_schema=config.AGENT_OVERRIDE,
    publishes_at_once=True,
    has_visibility=True,
    is_run=True,
)
PROMPT_BLOCK: Final = ResourceKind(
    slug="promptBlock",
    namespace="prompt",
    singular="prompt block",
    plural="prompt blocks",
    path="prompt-blocks",
    icon="article",
    text_field="content",
    schema=config.PROMPT_BLOCK,
    is_shown=True,
)
KINDS: Final = (AGENT, PROMPT_BLOCK)
KINDS_BY_SLUG: Final[Mapping[str, ResourceKind]] = {kind.slug: kind for kind in KINDS}


def kind_named(slug: str) -> ResourceKind:
    """Return the kind with this slug; raises `Invalid`, naming `resource.kind`, for any other."""
    kind = KINDS_BY_SLUG.get(slug)
    if kind is None:
        raise Invalid.field(
            "resource.kind", Message("must be one of {values}", values=", ".join(KINDS_BY_SLUG))
        )
    return kind
