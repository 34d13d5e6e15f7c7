"""The keyword arguments of the methods that take many. An absent one means unchanged, None means cleared."""

from __future__ import annotations

from typing import Literal, TypedDict

from editor_client.fields import AgentArguments, Object, PromptBlockArguments

Status = Literal["published", "draft"]
Visibility = Literal["private", "public"]


class Selector(TypedDict, total=False):
    """Which version: at most one of these; what is published when there is none."""

    status: Status | None
    version_id: str | None
    label: str | None


class Saved(TypedDict, total=False):
    """What every save takes beside the fields of the snapshot."""

    metadata: Object | None
    change_message: str | None
    auto_publish: bool


class Created(TypedDict, total=False):
    """What creating takes as well."""

    id: str
    workspace_id: str


class AgentChanges(AgentArguments, Saved, total=False):
    """An edit of an agent."""

    visibility: Visibility


class NewAgent(AgentChanges, Created, total=False):
    """A new agent; name and instructions are required unless code defines it."""


class PromptBlockChanges(PromptBlockArguments, Saved, total=False):
    """An edit of a prompt block."""


class NewPromptBlock(PromptBlockChanges, Created, total=False):
    """A new prompt block; name and content are required."""


class Ordering(TypedDict, total=False):
    """In which order a list comes, and in pages of which size."""

    per_page: int
    order_by: str
    direction: Literal["ASC", "DESC"]


class Paging(Ordering, total=False):
    """Which page of a list, from 0."""

    page: int


class PromptBlockFilters(TypedDict, total=False):
    """What a list of prompt blocks can be narrowed by."""

    status: Literal["published", "draft", "all"]
    author_id: str
    workspace_id: str
    metadata: Object
    search: str
    has_draft: bool


class AgentFilters(PromptBlockFilters, total=False):
    """What a list of agents can be narrowed by."""

    visibility: Visibility
    favorited_only: bool


class Run(TypedDict, total=False):
    """What a run takes beside the messages."""

    versions: Object | None
    request_context: Object | None
    max_steps: int | None
    model_settings: Object | None
    instructions: str | None
