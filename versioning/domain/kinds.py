"""The kinds of resource that the editor versions, each described once. Pure.

Editor, API, studio, the log and their tests ask a kind what it is called and what it can do; none of
them compares it with another one. The models that store a kind carry it as `model.kind`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from versioning.domain.config import ConfigSchema
from versioning.domain.errors import Invalid, Message


@dataclass(frozen=True, kw_only=True)
class ResourceKind:
    """What one kind of resource is called, what its versions hold, and which features it has."""

    slug: str
    """What the kind is called in resource references and event types: `agent`, `promptBlock`."""
    id_member: str
    """The member of a version that has the id of its resource: `agentId`."""
    namespace: str
    """The attribute of the editor that holds its verbs: `editor.agent`."""
    singular: str
    plural: str
    path: str
    """The folder of its URLs (`/stored/agents`) and of its exported files."""
    icon: str
    """The Material symbol by which people recognise it."""
    text_field: str
    """The snapshot field with the text that people come to edit."""
    schema: ConfigSchema
    studio_words: str = ""
    """Where the words of the studio about the kind are, a dotted path: a `studio.kind_words.KindWords`."""
    override_schema: ConfigSchema | None = None
    """What the snapshots of an override hold, of a kind that code can define; None for other kinds."""
    publishes_at_once: bool = False
    """Whether a save in Python, and a creation anywhere, is published by default."""
    has_visibility: bool = False
    """Whether a resource can be public: readable beyond its workspace."""
    is_run: bool = False
    """Whether applications run resources of this kind, which people can then try out in a chat."""
    is_shown: bool = False
    """Whether its text is part of the instructions of agents, for whoever may read those."""

    @property
    def with_article(self) -> str:
        """One of them, in a sentence: `an agent`."""
        return f"{'an' if self.singular[0] in 'aeiou' else 'a'} {self.singular}"

    @property
    def stored(self) -> tuple[str, str]:
        """What one, and what several are called in the API, which tells them from those that code defines."""
        stored = "stored " if self.in_code else ""
        return f"{stored}{self.singular}", f"{stored}{self.plural}"

    @property
    def schema_name(self) -> str:
        """How the names of its schemas begin: `PromptBlock`."""
        return self.slug[0].upper() + self.slug[1:]

    @property
    def wire_plural(self) -> str:
        """The member of an answer that lists several: `promptBlocks`."""
        return f"{self.slug}s"

    @property
    def in_code(self) -> bool:
        """Whether code can define resources of this kind, which stored ones then override."""
        return self.override_schema is not None

    @property
    def has_preview(self) -> bool:
        """Whether there is text to preview: the instructions of an agent, or what agents show of a block."""
        return self.is_run or self.is_shown


_kinds: Final[dict[str, ResourceKind]] = {}
KINDS: Final = _kinds.values()
"""Every kind of which the models are loaded, in the order of INSTALLED_APPS."""
KINDS_BY_SLUG: Final[Mapping[str, ResourceKind]] = _kinds


def register(kind: ResourceKind) -> None:
    """Make a kind known: the class of its resources does so when it is made.

    Raises `ValueError` if another kind has its slug, its path or its namespace already.
    """
    names = {kind.slug, kind.path, kind.namespace}
    for other in KINDS:
        if other != kind and names & {other.slug, other.path, other.namespace}:
            raise ValueError(f"The kinds {other.slug!r} and {kind.slug!r} share a name")
    _kinds[kind.slug] = kind


def kind_named(slug: str) -> ResourceKind:
    """Return the kind with this slug; raises `Invalid`, naming `resource.kind`, for any other."""
    kind = KINDS_BY_SLUG.get(slug)
    if kind is None:
        raise Invalid.field(
            "resource.kind", Message("must be one of {values}", values=", ".join(KINDS_BY_SLUG))
        )
    return kind
