"""Stored agents and prompt blocks, their versions, labels, exports and dependents."""

from __future__ import annotations

import datetime
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from editor_client.fields import AgentFields, PromptBlockFields
from editor_client.result import CachedResult, Notice, Result, Success

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class Record(CachedResult):
    """A resource, with the fields of the version that the selector named."""

    id: str
    workspace_id: str | None = None
    status: Literal["published", "draft"] | None = None
    active_version_id: str | None = None
    latest_version_id: str | None = None
    """None also for who may not read drafts."""
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
    """What a save has to say; empty in other answers."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AgentRecord(Record, AgentFields):
    """A stored agent."""

    visibility: Literal["private", "public"] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class PromptBlockRecord(Record, PromptBlockFields):
    """A prompt block."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Version(CachedResult):
    """A saved configuration, which never changes."""

    id: str
    version_number: int
    changed_fields: tuple[str, ...] = ()
    change_message: str | None = None
    author_id: str | None = None
    author_name: str | None = None
    """Who made the commit, where one holds the version."""
    created_at: datetime.datetime | None = None
    source: Literal["database", "git", "file"] | None = None
    commit: str | None = None
    read_only: bool = False
    state: Literal["published", "draft", "historical"] | None = None
    """What the version is at the moment; it is not part of the snapshot."""
    labels: tuple[str, ...] = ()
    bypassed_by: str | None = None
    """The admin who let it go live without the approvals that it needed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AgentVersion(Version, AgentFields):
    """A version of an agent."""

    agent_id: str


@dataclass(frozen=True, kw_only=True, eq=False)
class PromptBlockVersion(Version, PromptBlockFields):
    """A version of a prompt block."""

    block_id: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Page(Result, Generic[T]):
    """A page of a list."""

    total: int
    page: int
    per_page: int
    has_more: bool

    @property
    @abstractmethod
    def entries(self) -> tuple[T, ...]:
        """What is listed on it, whatever its JSON name is."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AgentPage(Page[AgentRecord]):
    """A page of stored agents."""

    agents: tuple[AgentRecord, ...]

    @property
    def entries(self) -> tuple[AgentRecord, ...]:
        """The agents."""
        return self.agents


@dataclass(frozen=True, kw_only=True, eq=False)
class PromptBlockPage(Page[PromptBlockRecord]):
    """A page of prompt blocks."""

    prompt_blocks: tuple[PromptBlockRecord, ...]

    @property
    def entries(self) -> tuple[PromptBlockRecord, ...]:
        """The prompt blocks."""
        return self.prompt_blocks


@dataclass(frozen=True, kw_only=True, eq=False)
class AgentVersionPage(Page[AgentVersion]):
    """A page of the versions of an agent."""

    versions: tuple[AgentVersion, ...]

    @property
    def entries(self) -> tuple[AgentVersion, ...]:
        """The versions."""
        return self.versions


@dataclass(frozen=True, kw_only=True, eq=False)
class PromptBlockVersionPage(Page[PromptBlockVersion]):
    """A page of the versions of a prompt block."""

    versions: tuple[PromptBlockVersion, ...]

    @property
    def entries(self) -> tuple[PromptBlockVersion, ...]:
        """The versions."""
        return self.versions


@dataclass(frozen=True, kw_only=True, eq=False)
class Diff(Result):
    """A field in which two versions differ; None where it is not set."""

    field: str
    previous_value: Any
    current_value: Any


@dataclass(frozen=True, kw_only=True, eq=False)
class AgentComparison(Result):
    """Two versions of an agent, and the fields in which they differ."""

    diffs: tuple[Diff, ...]
    from_version: AgentVersion
    to_version: AgentVersion


@dataclass(frozen=True, kw_only=True, eq=False)
class PromptBlockComparison(Result):
    """Two versions of a prompt block, and the fields in which they differ."""

    diffs: tuple[Diff, ...]
    from_version: PromptBlockVersion
    to_version: PromptBlockVersion


@dataclass(frozen=True, kw_only=True, eq=False)
class Activated(Success):
    """A version is published."""

    active_version_id: str
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Label(Result):
    """A name for a version."""

    name: str
    version_id: str
    version_number: int
    kind: Literal["computed", "custom"]
    released: bool = False
    """Whether whoever may read what is published may read and run the version by this name."""
    updated_at: datetime.datetime | None = None
    updated_by: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Favorited(Result):
    """Whether a resource is a favorite of the key's owner, and of how many people."""

    favorited: bool
    favorite_count: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Dependent(Result):
    """An agent that refers to a resource."""

    id: str
    name: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Dependents(Result):
    """The agents that refer to a resource: those that the caller may read, and the number of others."""

    dependents: tuple[Dependent, ...]
    hidden_count: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Export(Result):
    """A configuration as the file that would hold it."""

    file_name: str
    content: str
    config: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelList(Result):
    """The labels of a resource, the computed ones first."""

    labels: tuple[Label, ...]
