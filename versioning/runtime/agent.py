"""Agents as code defines them, and as a selector finds them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, Protocol, Unpack, overload

from editor_client.shared import ids

from versioning.domain.overrides import Ownership
from versioning.domain.resolved_agent import ResolvedAgent
from versioning.domain.selectors import PUBLISHED, Selector
from versioning.runtime.calls import Options
from versioning.runtime.events import Event
from versioning.runtime.results import Result
from versioning.runtime.streaming import EventStream
from versioning.runtime.tools import Toolbox, toolbox


class Host(Protocol):
    """Runs agents by id; a `Framework` is one."""

    def generate(
        self, agent_id: str, messages: Any, *, default: Selector | None, **options: Unpack[Options]
    ) -> Result:
        """Run the agent and return its answer."""

    async def agenerate(
        self, agent_id: str, messages: Any, *, default: Selector | None, **options: Unpack[Options]
    ) -> Result:
        """Run the agent and return its answer."""

    def stream(
        self,
        agent_id: str,
        messages: Any,
        *,
        default: Selector | None,
        heartbeat: float | None,
        **options: Unpack[Options],
    ) -> Generator[Event | None]:
        """Run the agent and yield what happens."""

    def astream(
        self,
        agent_id: str,
        messages: Any,
        *,
        default: Selector | None,
        heartbeat: float | None,
        **options: Unpack[Options],
    ) -> EventStream[Event | None]:
        """Run the agent and yield what happens."""


class Runnable(ABC):
    """Whatever can be asked. The options of all four forms are the same.

    `versions` selects versions for this call alone (`{"agents": {<id>: selector}, "self"?,
    "defaultStatus"?, "strict"?}`), above those of `request_context`, above the framework's;
    `request_context` is a `RequestContext`, or the values that templates and rules see;
    `max_steps`, `model_settings` and `instructions` take the place of the agent's own.

    All raise `Invalid`, `NotFound`, `Forbidden` (see `versioning.domain.errors`) and the errors of
    `versioning.runtime.errors`.
    """

    id: str

    @property
    @abstractmethod
    def framework(self) -> Host:
        """The framework that runs it."""

    @property
    @abstractmethod
    def _default(self) -> Selector | None:
        """What runs when a call selects nothing; None stands for the agent as its code says."""

    def generate(self, messages: Any, **options: Unpack[Options]) -> Result:
        """Run the agent and return its answer; from any thread."""
        return self.framework.generate(self.id, messages, default=self._default, **options)

    async def agenerate(self, messages: Any, **options: Unpack[Options]) -> Result:
        """Run the agent on the caller's event loop and return its answer."""
        return await self.framework.agenerate(self.id, messages, default=self._default, **options)

    @overload
    def stream(
        self, messages: Any, *, heartbeat: None = None, **options: Unpack[Options]
    ) -> Generator[Event]: ...
    @overload
    def stream(
        self, messages: Any, *, heartbeat: float, **options: Unpack[Options]
    ) -> Generator[Event | None]: ...
    def stream(
        self, messages: Any, *, heartbeat: float | None = None, **options: Unpack[Options]
    ) -> Generator[Event] | Generator[Event | None]:
        """Return a generator of events; closing it stops the model call.

        What is wrong with the call itself is raised here and not by the first `next()`. With
        `heartbeat` it yields None whenever nothing happened for that many seconds.
        """
        return self.framework.stream(self.id, messages, default=self._default, heartbeat=heartbeat, **options)

    @overload
    def astream(
        self, messages: Any, *, heartbeat: None = None, **options: Unpack[Options]
    ) -> EventStream[Event]: ...
    @overload
    def astream(
        self, messages: Any, *, heartbeat: float, **options: Unpack[Options]
    ) -> EventStream[Event | None]: ...
    def astream(
        self, messages: Any, *, heartbeat: float | None = None, **options: Unpack[Options]
    ) -> EventStream[Event] | EventStream[Event | None]:
        """Return the events to iterate over; `await` it first to have the call checked before."""
        return self.framework.astream(
            self.id, messages, default=self._default, heartbeat=heartbeat, **options
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Agent(Runnable):
    """An agent that is defined in code; a framework serves it, with or without an override.

    `tools` are typed functions, `agents` other agents or the ids of stored ones. `editor` says
    what an override may change: None = instructions and tools, False = nothing,
    `{"instructions": bool, "tools": bool | {"description": bool}}` = just these. With
    `{"instructions": True}` the code may leave them out; then it is `NoInstructions` to run the agent
    until some are published. Nothing changes an agent once it is made. Raises `ValueError` for what
    can never work.
    """

    id: str
    name: str
    instructions: str | list[dict[str, Any]] | None = None
    description: str = ""
    model: Mapping[str, Any] | None = None
    tools: Iterable[Callable[..., Any]] = ()
    agents: Iterable[Agent | str] = ()
    editor: Literal[False] | Mapping[str, Any] | None = None
    visibility: Literal["public", "private"] = "public"
    default_options: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    ownership: Ownership = field(init=False, repr=False)
    toolbox: Toolbox = field(init=False, repr=False)
    _framework: Host | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        problem = _problem(self)
        if problem is not None:
            raise ValueError(f"Agent {self.id!r}: {problem}")
        # Copies, so that nobody can change the agent through what it was made of.
        self._set("instructions", deepcopy(self.instructions))
        for name in ("model", "default_options", "metadata"):
            value = getattr(self, name)
            self._set(name, None if value is None else MappingProxyType(deepcopy(dict(value))))
        self._set("tools", tuple(self.tools))
        self._set("agents", tuple(self.agents))
        self._set("ownership", Ownership.of(self.editor))
        self._set("toolbox", toolbox(self.tools))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def tool_descriptions(self) -> Mapping[str, str]:
        """What each of its tools is for, by name."""
        return {name: tool.description or "" for name, tool in self.toolbox.items()}

    @property
    def sub_agent_ids(self) -> tuple[str, ...]:
        """The ids of the agents that it can delegate to, in its order."""
        return tuple(agent if isinstance(agent, str) else agent.id for agent in self.agents)

    @property
    def framework(self) -> Host:
        """The framework that it is registered in; raises `RuntimeError` when there is none."""
        if self._framework is None:
            raise RuntimeError(f"Agent {self.id!r} is in no framework yet: give it to Framework(agents=[…]).")
        return self._framework

    @property
    def _default(self) -> Selector | None:
        # What the code leaves to the editor is there once it is published.
        return PUBLISHED if self.instructions is None else None

    @property
    def is_registered(self) -> bool:
        """Whether a framework runs it."""
        return self._framework is not None

    def join(self, framework: Host) -> None:
        """Make the framework the one that runs it; a `Framework` does this with its agents."""
        self._set("_framework", framework)


@dataclass(frozen=True, kw_only=True)
class SelectedAgent(Runnable, ResolvedAgent):
    """A copy of an agent at a selected version, override applied; the registered agent is untouched.

    Its fields are what the selector named when it was asked for. A run asks again, so that a
    status means what it means at that moment.
    """

    host: Host = field(repr=False)

    @classmethod
    def of(cls, served: ResolvedAgent, host: Host) -> SelectedAgent:
        """Return what was served as an agent that can run."""
        return cls(
            host=host, **{member.name: getattr(served, member.name) for member in fields(ResolvedAgent)}
        )

    @property
    def framework(self) -> Host:
        """The framework that runs it."""
        return self.host

    @property
    def _default(self) -> Selector | None:
        return self.selector


def _problem_of_instructions(agent: Agent) -> str | None:
    if agent.instructions is None:
        is_editors = isinstance(agent.editor, Mapping) and agent.editor.get("instructions") is True
        return None if is_editors else 'the instructions are missing, without editor={"instructions": True}'
    if not (agent.instructions.strip() if isinstance(agent.instructions, str) else agent.instructions):
        return "the instructions must not be empty"
    return None


def _problem(agent: Agent) -> str | None:
    """Return why such an agent cannot be, or None when it can."""
    id_problem = ids.problem(agent.id)
    if id_problem is not None:
        return f"the id {id_problem}"
    if not agent.name.strip():
        return "the name must not be blank"
    instructions_problem = _problem_of_instructions(agent)
    if instructions_problem is not None:
        return instructions_problem
    if agent.model is not None and not {"provider", "name"} <= agent.model.keys():
        return 'the model must be {"provider", "name", …}'
    if agent.visibility not in {"public", "private"}:
        return "the visibility must be 'public' or 'private'"
    return None
