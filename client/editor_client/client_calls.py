"""The methods of the clients that are not about a single resource, described as in `stored`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeVar, Unpack

from editor_client import releases
from editor_client.arguments import (
    AgentFilters,
    NewAgent,
    NewPromptBlock,
    Ordering,
    Paging,
    PromptBlockFilters,
    Selector,
)
from editor_client.calls import Answer, Call, Request, context_query, encoded, paging, query, reading
from editor_client.comments import (
    CommentArguments,
    CommentList,
    CommentPage,
    CommentRecord,
    CommentWalk,
    ResourceKind,
)
from editor_client.comments import creation as comment_creation
from editor_client.errors import malformed
from editor_client.locks import locking
from editor_client.log import EventPage, EventsAsked, event_query
from editor_client.naming import with_json_names
from editor_client.pages import Pages
from editor_client.records import AgentPage, AgentRecord, PromptBlockPage, PromptBlockRecord, Record
from editor_client.releases import ReleaseArguments, ReleaseList, ReleasePage, ReleaseRecord, ReleaseWalk
from editor_client.reviews import (
    ReviewArguments,
    ReviewList,
    ReviewPage,
    ReviewPolicy,
    ReviewRecord,
    ReviewWalk,
    asking,
    policy_of,
    setting_policy,
)
from editor_client.schedules import (
    ReleaseScheduleArguments,
    ScheduleArguments,
    ScheduleList,
    SchedulePage,
    ScheduleRecord,
    ScheduleWalk,
    scheduling,
)
from editor_client.served import Preview, ServedAgent
from editor_client.webhooks import (
    NewWebhook,
    WebhookArguments,
    WebhookList,
    WebhookPage,
    WebhookRecord,
    WebhookWalk,
    creation,
)

R = TypeVar("R", bound=Record)


class AgentList(AgentFilters, Paging, total=False):
    """The arguments of a list of stored agents."""


class AgentWalk(AgentFilters, Ordering, total=False):
    """The arguments for iterating over all stored agents."""


class PromptBlockList(PromptBlockFilters, Paging, total=False):
    """The arguments of a list of prompt blocks."""


class PromptBlockWalk(PromptBlockFilters, Ordering, total=False):
    """The arguments for iterating over all prompt blocks."""


class ClientCalls:
    """The descriptions."""

    def list_stored_agents(self, **asked: Unpack[AgentList]) -> Call[AgentPage]:
        """List the stored agents that the key may read, newest first; the published ones by default."""
        return Call(request=_list("/stored/agents", asked), read=reading(AgentPage))

    def iter_stored_agents(self, **asked: Unpack[AgentWalk]) -> Pages[AgentRecord]:
        """Iterate over all of them, page by page."""
        return Pages(partial(self.list_stored_agents, **asked))

    def create_stored_agent(self, **fields: Unpack[NewAgent]) -> Call[AgentRecord]:
        """Create an agent; it is published at once if the key may publish, unless told otherwise."""
        return _create("/stored/agents", fields, AgentRecord)

    def list_stored_prompt_blocks(self, **asked: Unpack[PromptBlockList]) -> Call[PromptBlockPage]:
        """List the prompt blocks that the key may read, newest first, published or not."""
        return Call(request=_list("/stored/prompt-blocks", asked), read=reading(PromptBlockPage))

    def iter_stored_prompt_blocks(self, **asked: Unpack[PromptBlockWalk]) -> Pages[PromptBlockRecord]:
        """Iterate over all of them, page by page."""
        return Pages(partial(self.list_stored_prompt_blocks, **asked))

    def create_stored_prompt_block(self, **fields: Unpack[NewPromptBlock]) -> Call[PromptBlockRecord]:
        """Create a prompt block, as a draft unless `auto_publish=True`."""
        return _create("/stored/prompt-blocks", fields, PromptBlockRecord)

    def list_agents(
        self, *, partial: bool | None = None, request_context: Mapping[str, Any] | None = None
    ) -> Call[dict[str, ServedAgent]]:
        """Return every published agent that the key may read, by id; `partial` omits the texts."""
        asked = (*query(partial=partial), *context_query(request_context))
        return Call(request=Request(method="GET", path="/agents", query=asked), read=_agents_by_id)

    def list_events(self, **asked: Unpack[EventsAsked]) -> Call[EventPage]:
        """Return a page of the log, from the oldest event on; `after` and `before` say where it begins.

        Raises `CursorExpired` if events after the position have been removed, and `CursorAhead` if the log
        ends before it.
        """
        return Call(
            request=Request(method="GET", path="/events", query=event_query(asked)), read=reading(EventPage)
        )

    def list_webhooks(self, **asked: Unpack[WebhookList]) -> Call[WebhookPage]:
        """List the webhooks of the workspaces that the key administers, newest first."""
        return Call(request=_list("/webhooks", asked), read=reading(WebhookPage))

    def iter_webhooks(self, **asked: Unpack[WebhookWalk]) -> Pages[WebhookRecord]:
        """Iterate over all of them, page by page."""
        return Pages(partial(self.list_webhooks, **asked))

    def create_webhook(self, workspace_id: str, **fields: Unpack[WebhookArguments]) -> Call[NewWebhook]:
        """Create a webhook for the events that follow; `url` and `event_types` are required."""
        return creation(workspace_id, fields)

    def list_releases(self, **asked: Unpack[ReleaseList]) -> Call[ReleasePage]:
        """List the releases of the workspaces whose drafts the key may read, newest first."""
        return Call(request=_list("/releases", asked), read=reading(ReleasePage))

    def iter_releases(self, **asked: Unpack[ReleaseWalk]) -> Pages[ReleaseRecord]:
        """Iterate over all of them, page by page."""
        return Pages(partial(self.list_releases, **asked))

    def create_release(
        self, workspace_id: str, title: str, **fields: Unpack[ReleaseArguments]
    ) -> Call[ReleaseRecord]:
        """Make a release, a draft; an item without `version_id` pins the latest version."""
        return releases.creation(workspace_id, title, fields)

    def list_reviews(self, **asked: Unpack[ReviewList]) -> Call[ReviewPage]:
        """List the reviews of everything whose drafts the key may read, newest first."""
        return Call(request=_list("/reviews", asked), read=reading(ReviewPage))

    def iter_reviews(self, **asked: Unpack[ReviewWalk]) -> Pages[ReviewRecord]:
        """Iterate over all of them, page by page."""
        return Pages(partial(self.list_reviews, **asked))

    def create_review(
        self, kind: Literal["agent", "promptBlock"], resource_id: str, **fields: Unpack[ReviewArguments]
    ) -> Call[ReviewRecord]:
        """Ask for a review of a version, by default of the latest.

        Raises `Conflict` with the code `review_open` if the resource has an open review.
        """
        return asking(kind, resource_id, fields)

    def get_review_policy(self, workspace_id: str) -> Call[ReviewPolicy]:
        """Read how many approvals versions of a workspace need to go live."""
        return policy_of(workspace_id)

    def set_review_policy(
        self, workspace_id: str, *, required: int = 0, bypass: Literal["admin", "nobody"] = "admin"
    ) -> Call[ReviewPolicy]:
        """Say how many approvals versions of a workspace need, and who may do without them."""
        return setting_policy(workspace_id, {"required": required, "bypass": bypass})

    def list_schedules(self, **asked: Unpack[ScheduleList]) -> Call[SchedulePage]:
        """List the schedules of what the key may read the drafts of, the latest time first."""
        return Call(request=_list("/schedules", asked), read=reading(SchedulePage))

    def iter_schedules(self, **asked: Unpack[ScheduleWalk]) -> Pages[ScheduleRecord]:
        """Iterate over all of them, page by page."""
        return Pages(partial(self.list_schedules, **asked))

    def create_schedule(
        self, kind: ResourceKind, resource_id: str, **fields: Unpack[ScheduleArguments]
    ) -> Call[ScheduleRecord]:
        """Schedule a version of a resource: `version_id`, and `run_at` or `local_time` and `time_zone`."""
        return scheduling({"resource": {"kind": kind, "id": resource_id}}, fields)

    def schedule_release(
        self, release_id: str, **fields: Unpack[ReleaseScheduleArguments]
    ) -> Call[ScheduleRecord]:
        """Schedule a release: `run_at`, or `local_time` and `time_zone`."""
        return scheduling({"releaseId": release_id}, fields)

    def list_comments(self, **asked: Unpack[CommentList]) -> Call[CommentPage]:
        """List the comments on what the key may read the drafts of, oldest first."""
        return Call(request=_list("/comments", asked), read=reading(CommentPage))

    def iter_comments(self, **asked: Unpack[CommentWalk]) -> Pages[CommentRecord]:
        """Iterate over all of them, page by page."""
        return Pages(partial(self.list_comments, **asked))

    def create_comment(
        self,
        kind: ResourceKind,
        resource_id: str,
        version_id: str,
        *,
        body: str,
        **place: Unpack[CommentArguments],
    ) -> Call[CommentRecord]:
        """Comment on a version, on a field or a line of it, or reply to a comment."""
        return comment_creation(kind, resource_id, version_id, body, place)

    def lock(
        self, agents: Sequence[str] = (), *, prompt_blocks: Sequence[str] = (), **selector: Unpack[Selector]
    ) -> Call[dict[str, Any]]:
        """Return a lock of agents and prompt blocks, for the `versions` of runs: plain JSON for a file.

        The selector names the version of each; without one it is what is published.
        """
        return locking(agents, prompt_blocks, selector)

    def preview_instructions(
        self, blocks: Sequence[Mapping[str, Any]], *, context: Mapping[str, Any] | None = None
    ) -> Call[Preview]:
        """Assemble blocks without saving them."""
        body = {"blocks": blocks} if context is None else {"blocks": blocks, "context": context}
        request = Request(method="POST", path="/stored/agents/preview-instructions", body=encoded(body))
        return Call(request=request, read=reading(Preview))


def _list(path: str, asked: Any) -> Request:
    filters = {name: value for name, value in asked.items() if name not in Paging.__annotations__}
    if not isinstance(filters.get("tag", ""), str):
        filters["tag"] = ",".join(filters["tag"])
    return Request(method="GET", path=path, query=(*paging(asked), *query(**filters)))


def _create(path: str, fields: Any, record: type[R]) -> Call[R]:
    request = Request(method="POST", path=path, body=encoded(with_json_names(fields)))
    return Call(request=request, read=reading(record, id=fields.get("id")), changes=True)


def _agents_by_id(answer: Answer) -> dict[str, ServedAgent]:
    agents = answer.json()
    if not isinstance(agents, dict):
        raise malformed("it is not an object of agents by id", answer.status)
    return {agent_id: ServedAgent.of(agent) for agent_id, agent in agents.items()}
