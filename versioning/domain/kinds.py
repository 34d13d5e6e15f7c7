"""The kinds of resource that the editor versions, each described once. Pure.

Editor, API, studio, the log and their tests read names and features from the kind; none of them compares it
with another one. The models that store a kind carry it as `model.kind`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from versioning.domain.config import Config, ConfigSchema
from versioning.domain.errors import Invalid, Message


def no_configuration(_config: Config) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class ResourceKind:
    """The names of a kind of resource, the contents of its versions, and its features."""

    slug: str
    """The name in resource references and event types: `agent`, `promptBlock`."""
    id_member: str
    """The member of a version that has the id of its resource: `agentId`."""
    namespace: str
    """The attribute of the editor that holds its verbs: `editor.agent`."""
    singular: str
    plural: str
    path: str
    """The folder of its URLs (`/stored/agents`) and of its exported files."""
    icon: str
    """The Material symbol of the kind."""
    text_field: str
    """The snapshot field with the text, which people mostly edit."""
    schema: ConfigSchema
    studio_words: str = ""
    """The dotted path of the `studio.kind_words.KindWords` with the studio's words about the kind."""
    list_member: str = ""
    """The member of an answer that lists several, if that is not the slug with an s."""
    views: str = ""
    """The dotted path of the class of its API views, if it has routes of its own: a `ResourceViewSet`."""
    own_words: frozenset[str] = frozenset()
    """The words of these routes, reserved in ids: no segment of an id may be one."""
    override_schema: ConfigSchema | None = None
    """The snapshot fields of overrides, for a kind that code can define; None for other kinds."""
    publishes_at_once: bool = False
    """Whether a save in Python, and a creation anywhere, is published by default."""
    has_visibility: bool = False
    """Whether a resource can be public: readable outside its workspace."""
    is_run: bool = False
    """Whether applications run resources of this kind, so that people can try them in a chat."""
    is_shown: bool = False
    """Whether its text is part of the instructions of agents, and so visible to their readers."""
    judges_with_model: Callable[[Config], bool] = no_configuration
    """Whether the service calls the `model` of a configuration although the kind is not run."""

    @property
    def with_article(self) -> str:
        """The singular with an article: `an agent`."""
        return f"{'an' if self.singular[0] in 'aeiou' else 'a'} {self.singular}"

    @property
    def stored_names(self) -> tuple[str, str]:
        """The singular and plural in the API, which distinguish stored resources from code-defined ones."""
        stored = "stored " if self.in_code else ""
        return f"{stored}{self.singular}", f"{stored}{self.plural}"

    @property
    def schema_name(self) -> str:
        """The prefix of the names of its schemas: `PromptBlock`."""
        return self.slug[0].upper() + self.slug[1:]

    @property
    def wire_plural(self) -> str:
        """The member of an answer that lists several: `promptBlocks`."""
        return self.list_member or f"{self.slug}s"

    @cached_property
    def in_code(self) -> bool:
        """Whether code can define resources of this kind, which stored ones then override."""
        return self.override_schema is not None

    def asks_model(self, config: Config) -> bool:
        """Return whether the service calls the model of this configuration."""
        return self.is_run or self.judges_with_model(config)

    @property
    def has_preview(self) -> bool:
        """Whether there is text to preview: an agent's instructions, or a block's text as agents show it."""
        return self.is_run or self.is_shown


_kinds: Final[dict[str, ResourceKind]] = {}
KINDS: Final = _kinds.values()
"""Every kind whose models are loaded, in the order of INSTALLED_APPS."""
KINDS_BY_SLUG: Final[Mapping[str, ResourceKind]] = _kinds


def register(kind: ResourceKind) -> None:
    """Register a kind; the class of its resources calls this when it is created.

    Raises `ValueError` if another kind already has its slug, path or namespace.
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
