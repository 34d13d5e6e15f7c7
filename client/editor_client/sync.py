"""The blocking client: every method, made of the descriptions that both clients share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack

from editor_client import agents, comments, records, releases, reviews, schedules, stored, webhooks
from editor_client.arguments import Run, Selector
from editor_client.calls import Call
from editor_client.client_calls import ClientCalls
from editor_client.errors import ValidationFailed
from editor_client.log import After, EventFilters, LogEvent
from editor_client.pages import HasId, Pages
from editor_client.result import Result
from editor_client.served import Event
from editor_client.sync_driver import SyncDriver

T = TypeVar("T")
Entry = TypeVar("Entry", bound=HasId)
P = ParamSpec("P")
R = TypeVar("R", bound=records.Record)
V = TypeVar("V", bound=records.Version)
L = TypeVar("L", bound=records.Page[Any])
C = TypeVar("C", bound=Result)


def blocking(describe: Callable[Concatenate[Any, P], Call[T]]) -> Callable[Concatenate[Any, P], T]:
    """Turn the description of a call into a method."""

    @wraps(describe)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = self._client.perform(describe(self._calls, *args, **kwargs))
        return result

    return method


def iterating(
    describe: Callable[Concatenate[Any, P], Pages[Entry]],
) -> Callable[Concatenate[Any, P], Iterator[Entry]]:
    """Turn the description of a walk into a method that returns an iterator."""

    @wraps(describe)
    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[Entry]:
        pages = describe(self._calls, *args, **kwargs)
        while (call := pages.next_call()) is not None:
            try:
                page = self._client.perform(call)
            except ValidationFailed as error:
                pages.shrink(error)
            else:
                yield from pages.entries_of(page)

    return method


class Stored(Generic[R, V, L, C]):
    """One stored agent or prompt block."""

    def __init__(self, client: Client, calls: stored.Stored[R, V, L, C]) -> None:
        self._client = client
        self._calls = calls
        self.id = calls.id

    details = blocking(stored.Stored[R, V, L, C].details)
    delete = blocking(stored.Stored[R, V, L, C].delete)
    dependents = blocking(stored.Stored[R, V, L, C].dependents)
    export = blocking(stored.Stored[R, V, L, C].export)
    clone = blocking(stored.Stored[R, V, L, C].clone)
    unpublish = blocking(stored.Stored[R, V, L, C].unpublish)
    list_versions = blocking(stored.Stored[R, V, L, C].list_versions)
    iter_versions = iterating(stored.Stored[R, V, L, C].iter_versions)
    get_version = blocking(stored.Stored[R, V, L, C].get_version)
    create_version = blocking(stored.Stored[R, V, L, C].create_version)
    activate_version = blocking(stored.Stored[R, V, L, C].activate_version)
    restore_version = blocking(stored.Stored[R, V, L, C].restore_version)
    delete_version = blocking(stored.Stored[R, V, L, C].delete_version)
    compare_versions = blocking(stored.Stored[R, V, L, C].compare_versions)
    list_labels = blocking(stored.Stored[R, V, L, C].list_labels)
    set_label = blocking(stored.Stored[R, V, L, C].set_label)
    remove_label = blocking(stored.Stored[R, V, L, C].remove_label)
    favorite = blocking(stored.Stored[R, V, L, C].favorite)
    unfavorite = blocking(stored.Stored[R, V, L, C].unfavorite)


class StoredAgent(
    Stored[records.AgentRecord, records.AgentVersion, records.AgentVersionPage, records.AgentComparison]
):
    """A stored agent, by id."""

    update = blocking(stored.StoredAgent.update)


class StoredPromptBlock(
    Stored[
        records.PromptBlockRecord,
        records.PromptBlockVersion,
        records.PromptBlockVersionPage,
        records.PromptBlockComparison,
    ]
):
    """A prompt block, by id."""

    update = blocking(stored.StoredPromptBlock.update)


class Agent:
    """An agent as applications use it, stored or defined in code, in the version that was selected."""

    def __init__(self, client: Client, calls: agents.Agent) -> None:
        self._client = client
        self._calls = calls
        self.id = calls.id

    details = blocking(agents.Agent.details)
    parts = blocking(agents.Agent.parts)
    generate = blocking(agents.Agent.generate)

    def stream(self, messages: agents.Messages, **run: Unpack[Run]) -> Iterator[Event]:
        """Run the agent and yield its events.

        The run begins when the first event is requested and ends when the iterator is closed. Raises
        `ServerError` if the run fails and `Unreachable` if the stream breaks off.
        """
        return self._client.run_events(self._calls.stream(messages, **run))


class Webhook:
    """A webhook, by id."""

    def __init__(self, client: Client, calls: webhooks.Webhook) -> None:
        self._client = client
        self._calls = calls
        self.id = calls.id

    details = blocking(webhooks.Webhook.details)
    update = blocking(webhooks.Webhook.update)
    delete = blocking(webhooks.Webhook.delete)
    rotate = blocking(webhooks.Webhook.rotate)
    ping = blocking(webhooks.Webhook.ping)
    list_deliveries = blocking(webhooks.Webhook.list_deliveries)
    iter_deliveries = iterating(webhooks.Webhook.iter_deliveries)
    replay = blocking(webhooks.Webhook.replay)


class Release:
    """A release, by id."""

    def __init__(self, client: Client, calls: releases.Release) -> None:
        self._client = client
        self._calls = calls
        self.id = calls.id

    details = blocking(releases.Release.details)
    update = blocking(releases.Release.update)
    delete = blocking(releases.Release.delete)
    check = blocking(releases.Release.check)
    publish = blocking(releases.Release.publish)
    revert = blocking(releases.Release.revert)


class Review:
    """A review, by id."""

    def __init__(self, client: Client, calls: reviews.Review) -> None:
        self._client = client
        self._calls = calls
        self.id = calls.id

    details = blocking(reviews.Review.details)
    update = blocking(reviews.Review.update)
    give_verdict = blocking(reviews.Review.give_verdict)


class Schedule:
    """A schedule, by id."""

    def __init__(self, client: Client, calls: schedules.Schedule) -> None:
        self._client = client
        self._calls = calls
        self.id = calls.id

    details = blocking(schedules.Schedule.details)
    update = blocking(schedules.Schedule.update)
    cancel = blocking(schedules.Schedule.cancel)


class Comment:
    """A comment, by id."""

    def __init__(self, client: Client, calls: comments.Comment) -> None:
        self._client = client
        self._calls = calls
        self.id = calls.id

    details = blocking(comments.Comment.details)
    update = blocking(comments.Comment.update)
    delete = blocking(comments.Comment.delete)


class Client(SyncDriver):
    """The client for threads. Any number of threads can share one, and so can processes forked later.

    `with Client(…) as client:` closes its connections, as `close()` does.
    """

    list_stored_agents = blocking(ClientCalls.list_stored_agents)
    iter_stored_agents = iterating(ClientCalls.iter_stored_agents)
    create_stored_agent = blocking(ClientCalls.create_stored_agent)
    list_stored_prompt_blocks = blocking(ClientCalls.list_stored_prompt_blocks)
    iter_stored_prompt_blocks = iterating(ClientCalls.iter_stored_prompt_blocks)
    create_stored_prompt_block = blocking(ClientCalls.create_stored_prompt_block)
    list_agents = blocking(ClientCalls.list_agents)
    list_events = blocking(ClientCalls.list_events)
    list_webhooks = blocking(ClientCalls.list_webhooks)
    iter_webhooks = iterating(ClientCalls.iter_webhooks)
    create_webhook = blocking(ClientCalls.create_webhook)
    list_releases = blocking(ClientCalls.list_releases)
    iter_releases = iterating(ClientCalls.iter_releases)
    create_release = blocking(ClientCalls.create_release)
    list_reviews = blocking(ClientCalls.list_reviews)
    iter_reviews = iterating(ClientCalls.iter_reviews)
    create_review = blocking(ClientCalls.create_review)
    get_review_policy = blocking(ClientCalls.get_review_policy)
    set_review_policy = blocking(ClientCalls.set_review_policy)
    list_schedules = blocking(ClientCalls.list_schedules)
    iter_schedules = iterating(ClientCalls.iter_schedules)
    create_schedule = blocking(ClientCalls.create_schedule)
    schedule_release = blocking(ClientCalls.schedule_release)
    list_comments = blocking(ClientCalls.list_comments)
    iter_comments = iterating(ClientCalls.iter_comments)
    create_comment = blocking(ClientCalls.create_comment)
    lock = blocking(ClientCalls.lock)
    preview_instructions = blocking(ClientCalls.preview_instructions)

    def get_agent(self, agent_id: str, **selector: Unpack[Selector]) -> Agent:
        """Return an agent as applications use it; no request is sent yet."""
        return Agent(self, agents.Agent(agent_id, **selector))

    def get_stored_agent(self, agent_id: str) -> StoredAgent:
        """Return a stored agent; no request is sent yet."""
        return StoredAgent(self, stored.StoredAgent(agent_id))

    def get_stored_prompt_block(self, block_id: str) -> StoredPromptBlock:
        """Return a prompt block; no request is sent yet."""
        return StoredPromptBlock(self, stored.StoredPromptBlock(block_id))

    def get_webhook(self, webhook_id: str) -> Webhook:
        """Return a webhook; no request is sent yet."""
        return Webhook(self, webhooks.Webhook(webhook_id))

    def get_release(self, release_id: str) -> Release:
        """Return a release; no request is sent yet."""
        return Release(self, releases.Release(release_id))

    def get_review(self, review_id: str) -> Review:
        """Return a review; no request is sent yet."""
        return Review(self, reviews.Review(review_id))

    def get_schedule(self, schedule_id: str) -> Schedule:
        """Return a schedule; no request is sent yet."""
        return Schedule(self, schedules.Schedule(schedule_id))

    def get_comment(self, comment_id: str) -> Comment:
        """Return a comment; no request is sent yet."""
        return Comment(self, comments.Comment(comment_id))

    def prefetch(self, wanted: Iterable[str | Agent | StoredAgent | StoredPromptBlock]) -> list[Any]:
        """Read what the application will need and return it, in the same order.

        A text is the id of an agent, as for `get_agent`. All are read before the first error is raised.
        """
        readable = [agents.Agent(one) if isinstance(one, str) else one._calls for one in wanted]  # noqa: SLF001
        return self._run(self._flows.prefetch([one.details() for one in readable]))

    def events(self, after: After = "now", **filters: Unpack[EventFilters]) -> Iterator[LogEvent]:
        """Yield the events of the log after a position, as they happen, until the client is closed.

        They come over a stream, or by asking once a second where none can be had. A lost connection is made
        anew; nothing is missed or repeated. Raises `CursorExpired` if events after the position have been
        removed, `CursorAhead` if the log ends before it because an earlier state was restored, errors such as
        `Unauthorized`, and `Unreachable` if the first connection fails.
        """
        return self.log_events(self._flows.listener(after, filters))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def _client(self) -> Self:
        return self
