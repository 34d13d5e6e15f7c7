"""The common part of all stored resources: records, versions, labels, exports; arguments of saves."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any, Literal, TypedDict

from editor_client.calls import Object
from editor_client.methods import Paging
from editor_client.result import CachedResult, Notice, Reasons, Result, Success, members

Status = Literal["published", "draft"]
Blocks = Sequence[Object]
Conditional = Object | Sequence[Object]
"""An object, or a list of variants of it: `[{"value", "rules"?}]`."""
Instructions = str | list[dict[str, Any]]
"""Text, or blocks: `{"type": "text" | "prompt_block" | "prompt_block_ref", …}`."""


class NamedFields(Result):
    """The fields that snapshots of all kinds have; None for one that is not set."""

    name: str | None = None
    description: str | None = None

    @property
    def config(self) -> dict[str, Any]:
        """The snapshot alone, with JSON names, as in an export."""
        return {name: self.raw[name] for name in snapshot_names(type(self)) if name in self.raw}


class SharedFields(NamedFields):
    """The fields of resources that are evaluated in a request context."""

    request_context_schema: Mapping[str, Any] | None = None


class NamedArguments(TypedDict, total=False):
    """The snapshot fields that all kinds accept; None clears a field."""

    name: str
    description: str | None


class SharedArguments(NamedArguments, total=False):
    """The snapshot fields of resources that are evaluated in a request context."""

    request_context_schema: Object | None


class Record(CachedResult):
    """A resource, with the fields of the version that the selector named."""

    id: str
    workspace_id: str | None = None
    status: Literal["published", "draft"] | None = None
    active_version_id: str | None = None
    latest_version_id: str | None = None
    """None also for a caller without access to drafts."""
    resolved_version_id: str | None = None
    has_draft: bool | None = None
    author_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    is_favorited: bool = False
    """Whether the owner of the key has marked it as a favorite."""
    favorite_count: int = 0
    warnings: tuple[Notice, ...] = ()
    """Warnings about a save; empty in other answers."""


class Version(CachedResult):
    """A saved configuration, which never changes."""

    id: str
    version_number: int
    changed_fields: tuple[str, ...] = ()
    change_message: str | None = None
    author_id: str | None = None
    author_name: str | None = None
    """The author of the commit, if the version is in one."""
    created_at: datetime.datetime | None = None
    source: Literal["database", "git", "file"] | None = None
    commit: str | None = None
    read_only: bool = False
    state: Literal["published", "draft", "historical"] | None = None
    """The current state of the version; it is not part of the snapshot."""
    labels: tuple[str, ...] = ()
    bypassed_by: str | None = None
    """The admin who published it without the required approvals."""


class Diff(Result):
    """A field in which two versions differ; None if it is not set."""

    field: str
    previous_value: Any
    current_value: Any


class Activated(Success):
    """A version is published."""

    active_version_id: str
    warnings: tuple[Notice, ...] = ()


class Label(Result):
    """A name for a version."""

    name: str
    version_id: str
    version_number: int
    kind: Literal["computed", "custom"]
    released: bool = False
    """Whether callers who can read published versions may read and run this one by the label."""
    updated_at: datetime.datetime | None = None
    updated_by: str | None = None


class Favorited(Result):
    """Whether a resource is a favorite of the key's owner, and how many people have marked it."""

    favorited: bool
    favorite_count: int


class Dependent(Result):
    """An agent that refers to a resource."""

    id: str
    name: str


class Dependents(Result):
    """The agents that refer to a resource: those that the caller may read, and the number of others."""

    dependents: tuple[Dependent, ...]
    hidden_count: int


class Export(Result):
    """A configuration as the content of its file."""

    file_name: str
    content: str
    config: Mapping[str, Any]


class LabelList(Result):
    """The labels of a resource, the computed ones first."""

    labels: tuple[Label, ...]


class Saved(Reasons, total=False):
    """The arguments of every save, in addition to the fields of the snapshot."""

    metadata: Object | None
    change_message: str | None
    auto_publish: bool


class Created(TypedDict, total=False):
    """Additional arguments for creating."""

    id: str
    workspace_id: str


class Filters(Paging, total=False):
    """The filters and the order of a list of resources."""

    status: Literal["published", "draft", "all"]
    author_id: str
    workspace_id: str
    metadata: Object
    tag: str | Sequence[str]
    """A tag, or several that are all required: texts in the list `tags` of the metadata."""
    search: str
    has_draft: bool
    favorited_only: bool


@lru_cache
def snapshot_names(result: type[Result]) -> tuple[str, ...]:
    """Return the JSON names of the snapshot fields that a result has."""
    bases = {NamedFields, SharedFields}
    kind = next(base for base in result.__mro__ if bases.intersection(base.__bases__))
    return tuple(member.json_name for member in members(kind))
