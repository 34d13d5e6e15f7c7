"""The blocking client: it performs what the flows yield, and decides nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack

import httpx

from editor_client import agents, records, stored
from editor_client.arguments import Run, Selector
from editor_client.base import BaseClient, answer_of, no_answer, unreachable_when_broken
from editor_client.calls import Answer, Call, Request
from editor_client.client_calls import ClientCalls
from editor_client.deadlines import Deadline
from editor_client.effects import DiskWork, Effect, Flow, InBackground, NoAnswer, Send, Sleep
from editor_client.events import EventReader
from editor_client.pages import HasId, Pages
from editor_client.result import Result
from editor_client.served import Event

T = TypeVar("T")
Entry = TypeVar("Entry", bound=HasId)
P = ParamSpec("P")
R = TypeVar("R", bound=records.Record)
V = TypeVar("V", bound=records.Version)
L = TypeVar("L", bound=records.Page[Any])
C = TypeVar("C", bound=Result)

REFRESHING_THREADS = 4


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
            yield from pages.entries_of(self._client.perform(call))

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


class StoredAgent(
    Stored[records.AgentRecord, records.AgentVersion, records.AgentVersionPage, records.AgentComparison]
):
    """A stored agent, by id."""

    update = blocking(stored.StoredAgent.update)
    favorite = blocking(stored.StoredAgent.favorite)
    unfavorite = blocking(stored.StoredAgent.unfavorite)


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
    generate = blocking(agents.Agent.generate)

    def stream(self, messages: agents.Messages, **run: Unpack[Run]) -> Iterator[Event]:
        """Run the agent and yield its events.

        The run begins when the first event is requested and ends when the iterator is closed. Raises
        `ServerError` if the run fails and `Unreachable` if the stream breaks off.
        """
        return self._client.events(self._calls.stream(messages, **run))


class Client(BaseClient):
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

    def prefetch(self, wanted: Iterable[str | Agent | StoredAgent | StoredPromptBlock]) -> list[Any]:
        """Read what the application will need and return it, in the same order.

        A text is the id of an agent, as for `get_agent`. All are read before the first error is raised.
        """
        readable = [agents.Agent(one) if isinstance(one, str) else one._calls for one in wanted]  # noqa: SLF001
        return self._run(self._flows.prefetch([one.details() for one in readable]))

    def close(self) -> None:
        """Wait for reads in the background and close the connections."""
        if self._background is not None:
            self._background.shutdown(cancel_futures=True)
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # What the methods above need

    @property
    def _client(self) -> Self:
        return self

    def perform(self, call: Call[T]) -> T:
        """Make a call, within the rules of the cache, and return its result."""
        return self._run(self._flows.perform(call))

    def events(self, request: Request) -> Iterator[Event]:
        """Send a request whose answer is a stream of events, and yield them."""
        reader = EventReader()
        with unreachable_when_broken(), self._open(request) as response:
            for piece in response.iter_bytes():
                yield from reader.feed(piece)
                if reader.done:
                    return
        reader.end()

    # The driver

    def _start(self) -> None:
        self._deadline = Deadline(self._clock)
        self._lock = Lock()
        self._background: ThreadPoolExecutor | None = None
        self._connect()

    def _connect(self) -> None:
        self._connections = httpx.Client(headers=self._headers)
        self._deadline.apply_to(self._connections)
        self._process = os.getpid()

    @property
    def _http(self) -> httpx.Client:
        # A connection that two processes write to mixes up their answers.
        if self._process != os.getpid():
            self._flows.after_fork()
            self._start()
        return self._connections

    def _run(self, flow: Flow[T]) -> T:
        try:
            effect = next(flow)
            while True:
                done, error = None, None
                try:
                    done = self._do(effect)
                except NoAnswer as nothing:
                    error = nothing
                effect = flow.send(done) if error is None else flow.throw(error)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            flow.close()

    def _do(self, effect: Effect) -> Any:
        match effect:
            case Send():
                return self._send(effect)
            case Sleep(seconds):
                return time.sleep(seconds)
            case DiskWork(function):
                return function()
            case InBackground(flow):
                return self._later(flow)

    def _send(self, send: Send) -> Answer:
        sent = self._as_sent(send.request, send.etag)
        left = send.deadline - self._clock()
        try:
            with self._deadline.at(send.deadline):
                return answer_of(self._http.request(**sent, timeout=left))
        except httpx.RequestError as error:
            raise no_answer(error) from error

    @contextmanager
    def _open(self, request: Request) -> Iterator[httpx.Response]:
        """Yield a response before its body is read; raises the error for any status other than success."""
        sent = self._as_sent(request, accept="text/event-stream")
        asked = self._http.build_request(**sent, timeout=self._timeout)
        with self._deadline.at(self._clock() + self._timeout):
            response = self._http.send(asked, stream=True)
            if response.status_code != httpx.codes.OK:
                response.read()
        with closing(response):
            if response.status_code != httpx.codes.OK:
                self._run(self._flows.fail(answer_of(response)))
            yield response

    def _later(self, flow: Flow[None]) -> None:
        with self._lock:
            if self._background is None:
                self._background = ThreadPoolExecutor(REFRESHING_THREADS, "editor-client")
            self._background.submit(self._run, flow)
