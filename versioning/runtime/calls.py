"""A call of an agent, validated before anything is looked up: its context, its options and its messages."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from versioning.domain.access import APPLICATION, Caller
from versioning.domain.errors import Invalid, Issue
from versioning.domain.run_options import MODEL_SETTINGS, SETTINGS, is_count, setting_problem, usable_settings
from versioning.domain.selectors import NO_VERSIONS, Selector, VersionsMap

if TYPE_CHECKING:
    from pydantic_ai.settings import ModelSettings


class Live:
    """Marker: the tool itself is called."""


LIVE: Final = Live()
AnswersTool = Callable[[str, Mapping[str, Any]], Any]
"""Returns the answer of a tool to some arguments, or `LIVE`; raises `VersioningError` to fail the run."""


@dataclass(frozen=True, kw_only=True)
class Conduct:
    """How a run is carried out."""

    arm: str = ""
    """The arm under which it counts, instead of those of rollouts."""
    answers_tool: AnswersTool | None = None
    """Answers in place of all tools of the run."""
    asks_again: bool = True
    """Whether the providers' libraries retry after a refusal; if not, the caller has to."""


USUAL: Final = Conduct()


class Stop:
    """Ends the wait of a thread: from another thread, or after some seconds."""

    def __init__(self, seconds: float | None = None) -> None:
        self.within(seconds)
        self._lock = threading.Lock()
        self._waited_for: Future[Any] | None = None
        self.is_stopped = False

    def within(self, seconds: float | None) -> None:
        """Limit the following waits to this many seconds; None for no limit."""
        self._until = None if seconds is None else time.monotonic() + seconds

    def stop(self) -> None:
        """End the wait of the thread, now and later."""
        with self._lock:
            self.is_stopped = True
            if self._waited_for is not None:
                self._waited_for.cancel()

    def result_of(self, future: Future[Any]) -> Any:
        """Return the result of a future.

        Raises `TimeoutError` after the seconds, and `CancelledError` if it is stopped.
        """
        with self._lock:
            self._waited_for = future
            if self.is_stopped:
                future.cancel()
        try:
            return future.result(None if self._until is None else max(0.0, self._until - time.monotonic()))
        finally:
            self._waited_for = None


class _OfThread(threading.local):
    stop: Stop | None = None


_of_thread: Final = _OfThread()


@contextmanager
def stoppable(stop: Stop) -> Iterator[None]:
    """Let runs that this thread starts within the block be stopped."""
    before, _of_thread.stop = _of_thread.stop, stop
    try:
        yield
    finally:
        _of_thread.stop = before


def wait_for_result(future: Future[Any]) -> Any:
    """Return the result of a future, unless the `Stop` of this thread ends it."""
    stop = _of_thread.stop
    return future.result() if stop is None else stop.result_of(future)


ROLES = ("user", "assistant", "system")


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One message of a conversation."""

    role: str
    text: str

    def as_dict(self) -> dict[str, str]:
        """Return the message in the form in which it can be sent again."""
        return {"role": self.role, "content": self.text}


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """The previous messages, and the new one of the user."""

    history: tuple[Turn, ...]
    prompt: str

    @classmethod
    def parse(cls, messages: Any) -> Conversation:
        """Return the conversation from a text, a message or a list of messages.

        Content is text, or a list of `{"type": "text", "text"}` parts. Raises `Invalid` with every problem,
        named like `messages.2.role`; the last message has to be the user's.
        """
        if isinstance(messages, str):
            if not messages.strip():
                raise Invalid.field("messages", "must not be blank")
            return cls(history=(), prompt=messages)
        message_list = [messages] if isinstance(messages, Mapping) else messages
        if not isinstance(message_list, list | tuple) or not message_list:
            raise Invalid.field("messages", "must be a text, a message or a list of at least one message")
        issues: list[Issue] = []
        single = isinstance(messages, Mapping)
        places = ["messages" if single else f"messages.{position}" for position in range(len(message_list))]
        turns = [_turn(message, place, issues) for message, place in zip(message_list, places, strict=True)]
        if not issues and turns[-1].role != "user":
            issues.append(Issue(f"{places[-1]}.role", "must be 'user' in the last message"))
        if issues:
            raise Invalid(issues)
        return cls(history=tuple(turns[:-1]), prompt=turns[-1].text)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All messages, in order."""
        return (*self.history, Turn(role="user", text=self.prompt))


def _turn(message: Any, place: str, issues: list[Issue]) -> Turn:
    if not isinstance(message, Mapping):
        issues.append(Issue(place, 'must be a message: {"role", "content"}'))
        return Turn(role="user", text="")
    issues.extend(
        Issue(f"{place}.{name}", "is not a known member")
        for name in message
        if name not in {"role", "content"}
    )
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        issues.append(Issue(f"{place}.role", "must be 'user', 'assistant' or 'system'"))
        role = "user"
    text = _text(message.get("content"), f"{place}.content", issues)
    if role == "user" and text is not None and not text.strip():
        issues.append(Issue(f"{place}.content", "must not be blank"))
    return Turn(role=role, text=text or "")


def _text(content: Any, place: str, issues: list[Issue]) -> str | None:
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple) or not content:
        issues.append(Issue(place, 'must be a text or a list of {"type": "text", "text"}'))
        return None
    wrong = [position for position, part in enumerate(content) if not _is_text_part(part)]
    issues.extend(Issue(f"{place}.{position}", 'must be {"type": "text", "text"}') for position in wrong)
    return None if wrong else "".join(part["text"] for part in content)


def _is_text_part(part: Any) -> bool:
    return (
        isinstance(part, Mapping)
        and part.keys() == {"type", "text"}
        and part["type"] == "text"
        and isinstance(part["text"], str)
    )


@dataclass(frozen=True, kw_only=True)
class RequestContext:
    """The values for templates and rules, the selected versions, and the caller.

    It is frozen and passed as an argument. Versions reach a sub-agent in no other way, so they cannot reach
    another request.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    versions: VersionsMap = NO_VERSIONS
    by: Caller = APPLICATION

    @classmethod
    def of(
        cls, values: Mapping[str, Any] | None = None, versions: Any = None, by: Caller = APPLICATION
    ) -> RequestContext:
        """Return the context of a request from its `requestContext`, its `versions` and its caller.

        `requestContext.versions` counts too, with lower precedence than the body's. Raises `Invalid` for
        malformed maps.
        """
        values = values or {}
        inner = VersionsMap.parse(values.get("versions"), "requestContext.versions")
        return cls(values=values, versions=VersionsMap.merge(inner, VersionsMap.parse(versions)), by=by)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run, by the agent library's names; the agent's own apply if one is not set."""

    max_steps: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    instructions: str | None = None

    @classmethod
    def parse(
        cls, *, max_steps: Any = None, model_settings: Any = None, instructions: Any = None
    ) -> RunOptions:
        """Return the options of a call; raises `Invalid` with the JSON names of the invalid ones."""
        issues: list[Issue] = []
        if max_steps is not None and not is_count(max_steps):
            issues.append(Issue("maxSteps", "must be a whole number from 1"))
        if instructions is not None and not (isinstance(instructions, str) and instructions.strip()):
            issues.append(Issue("instructions", "must be a text that is not blank"))
        settings = _settings({} if model_settings is None else model_settings, issues)
        if issues:
            raise Invalid(issues)
        return cls(max_steps=max_steps, settings=settings, instructions=instructions)

    @classmethod
    def of_agent(cls, default_options: Mapping[str, Any], model: Mapping[str, Any] | None) -> RunOptions:
        """Return the options in an agent's `defaultOptions` and `model`; unknown ones are ignored.

        They are saved without validation, so an error in them is not the caller's.
        """
        max_steps = default_options.get("maxSteps")
        return cls(
            max_steps=max_steps if is_count(max_steps) else None,
            settings={
                **usable_settings(model, MODEL_SETTINGS),
                **usable_settings(default_options.get("modelSettings")),
            },
        )

    def over(self, weaker: RunOptions) -> RunOptions:
        """Return these options, completed by those of `weaker`."""
        return RunOptions(
            max_steps=self.max_steps or weaker.max_steps,
            settings={**weaker.settings, **self.settings},
            instructions=self.instructions or weaker.instructions,
        )

    def model_settings(self) -> ModelSettings:
        """Return the settings in the form of the agent library."""
        return cast("ModelSettings", dict(self.settings))


def _settings(values: Any, issues: list[Issue]) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        issues.append(Issue("modelSettings", "must be an object"))
        return {}
    settings: dict[str, Any] = {}
    for name, value in values.items():
        problem = setting_problem(name, value)
        if problem is not None:
            issues.append(Issue(f"modelSettings.{name}", problem))
        elif value is not None:
            settings[SETTINGS[name][0]] = value
    return settings


REQUEST_LIMIT = 50
"""The default limit of model requests for one call with all its delegations."""


class Options(TypedDict, total=False):
    """The options of a call as keyword arguments; see `versioning.runtime.agent.Runnable`."""

    selector: Selector | None
    """The selector in the URL of the request, in addition to `versions`."""
    versions: VersionsMap | Mapping[str, Any] | None
    request_context: RequestContext | Mapping[str, Any] | None
    max_steps: int | None
    model_settings: Mapping[str, Any] | None
    instructions: str | None
    conduct: Conduct
    """How the run is carried out."""
    published_sub_agents: bool
    """Whether sub-agents run as if the called version were published: see `planning.plan`."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of one agent."""

    agent_id: str
    conversation: Conversation
    context: RequestContext
    """The request context with the call's own versions merged in."""
    options: RunOptions
    selector: Selector | None
    default: Selector | None
    published_sub_agents: bool = False
    conduct: Conduct = USUAL

    @classmethod
    def parse(
        cls,
        agent_id: str,
        messages: Any,
        *,
        default: Selector | None,
        selector: Selector | None = None,
        versions: VersionsMap | Mapping[str, Any] | None = None,
        request_context: RequestContext | Mapping[str, Any] | None = None,
        published_sub_agents: bool = False,
        conduct: Conduct = USUAL,
        **options: Any,
    ) -> Call:
        """Return the call; raises `Invalid` with the caller's names of the wrong members."""
        return cls(
            agent_id=agent_id,
            conversation=Conversation.parse(messages),
            context=_context(request_context, versions),
            options=RunOptions.parse(**options),
            selector=selector,
            default=default,
            published_sub_agents=published_sub_agents,
            conduct=conduct,
        )


def _context(
    context: RequestContext | Mapping[str, Any] | None, versions: VersionsMap | Mapping[str, Any] | None
) -> RequestContext:
    if not isinstance(context, RequestContext):
        if context is not None and not isinstance(context, Mapping):
            raise Invalid.field("requestContext", "must be an object")
        context = RequestContext.of(context)
    call = versions if isinstance(versions, VersionsMap) else VersionsMap.parse(versions)
    return RequestContext(
        values=context.values, versions=VersionsMap.merge(context.versions, call), by=context.by
    )
