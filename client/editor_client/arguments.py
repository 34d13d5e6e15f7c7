"""The keyword arguments of methods with many. An absent argument means unchanged, None means cleared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from editor_client.fields import AgentArguments, Object, PromptBlockArguments

Status = Literal["published", "draft"]
Visibility = Literal["private", "public"]


class Selector(TypedDict, total=False):
    """A version: at most one of these members; the published one without any."""

    status: Status | None
    version_id: str | None
    label: str | None
    release: str | None
    """What would be served if this release were published now."""


class Saved(TypedDict, total=False):
    """The arguments of every save, in addition to the fields of the snapshot."""

    metadata: Object | None
    change_message: str | None
    auto_publish: bool
    bypass_review: str
    """Why an admin publishes without the approvals that the version needs."""


class Created(TypedDict, total=False):
    """Additional arguments for creating."""

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
    """The order of a list, and the size of its pages."""

    per_page: int
    order_by: str
    direction: Literal["ASC", "DESC"]


class Paging(Ordering, total=False):
    """The page of a list, from 0."""

    page: int


class PromptBlockFilters(TypedDict, total=False):
    """The filters of a list of prompt blocks."""

    status: Literal["published", "draft", "all"]
    author_id: str
    workspace_id: str
    metadata: Object
    tag: str | Sequence[str]
    """A tag, or several that all must be there: texts in the list `tags` of the metadata."""
    search: str
    has_draft: bool
    favorited_only: bool


class AgentFilters(PromptBlockFilters, total=False):
    """The filters of a list of agents."""

    visibility: Visibility


class Run(TypedDict, total=False):
    """The arguments of a run, in addition to the messages."""

    versions: Object | None
    request_context: Object | None
    max_steps: int | None
    model_settings: Object | None
    instructions: str | None
