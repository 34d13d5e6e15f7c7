"""Agents as defined in code, and as found by a selector."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, Protocol, Unpack, overload

from editor_client.shared import ids

from versioning.domain.agents import ResolvedAgent
from versioning.domain.overrides import Ownership
from versioning.domain.selectors import PUBLISHED, Selector
from versioning.runtime.calls import Options
from versioning.runtime.results import Event, EventStream, Result
from versioning.runtime.tools import Toolbox


class Host(Protocol):
    """Runs agents by id; implemented by `Framework`."""

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
        """Run the agent and yield its events."""

    def astream(
        self,
        agent_id: str,
        messages: Any,
        *,
        default: Selector | None,
        heartbeat: float | None,
        **options: Unpack[Options],
    ) -> EventStream[Event | None]:
        """Run the agent and yield its events."""


class Runnable(ABC):
    """An agent that can be run. All four methods take the same options.

    `versions` selects versions for this call only (`{"agents": {<id>: selector}, "self"?, "defaultStatus"?,
    "strict"?}`). It overrides those of `request_context`, which override the framework's. `request_context`
    is a `RequestContext`, or the values for templates and rules. `max_steps`, `model_settings` and
    `instructions` replace the agent's own.

    All raise `Invalid`, `NotFound`, `Forbidden` (see `versioning.domain.errors`) and the errors of
    `versioning.runtime.failures`.
    """

    id: str

    @property
    @abstractmethod
    def framework(self) -> Host:
        """The framework that runs it."""

    @property
    @abstractmethod
    def _default(self) -> Selector | None:
        """The version that runs if a call selects none; None means the agent as defined in code."""

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

        Errors of the call itself are raised here, not by the first `next()`. With `heartbeat` it yields
        None after that many seconds without an event.
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
        """Return the events to iterate over; `await` it first to check the call in advance."""
        return self.framework.astream(
            self.id, messages, default=self._default, heartbeat=heartbeat, **options
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Agent(Runnable):
    """An agent defined in code; a framework serves it, with or without an override.

    `tools` are typed functions, `agents` other agents or the ids of stored ones. `editor` limits overrides:
    None allows instructions and tools, False nothing, `{"instructions": bool, "tools": bool | {"description":
    bool}}` only these. With `{"instructions": True}` the code may omit the instructions; until some are
    published, running the agent raises `NoInstructions`. An agent never changes once it is created. Raises
    `ValueError` for a definition that can never work.
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
        # Copies, so that changes of the arguments do not change the agent.
        self._set("instructions", deepcopy(self.instructions))
        for name in ("model", "default_options", "metadata"):
            value = getattr(self, name)
            self._set(name, None if value is None else MappingProxyType(deepcopy(dict(value))))
        self._set("tools", tuple(self.tools))
        self._set("agents", tuple(self.agents))
        self._set("ownership", Ownership.of(self.editor))
        self._set("toolbox", Toolbox(self.tools))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def tool_descriptions(self) -> Mapping[str, str]:
        """The descriptions of its tools, by name."""
        return self.toolbox.descriptions

    @property
    def sub_agent_ids(self) -> tuple[str, ...]:
        """The ids of the agents that it can delegate to, in order."""
        return tuple(agent if isinstance(agent, str) else agent.id for agent in self.agents)

    @property
    def framework(self) -> Host:
        """The framework that it is registered in; raises `RuntimeError` if there is none."""
        if self._framework is None:
            raise RuntimeError(f"Agent {self.id!r} is in no framework yet: give it to Framework(agents=[…]).")
        return self._framework

    @property
    def _default(self) -> Selector | None:
        # Instructions that the code omits exist once they are published in the editor.
        return PUBLISHED if self.instructions is None else None

    @property
    def is_registered(self) -> bool:
        """Whether a framework runs it."""
        return self._framework is not None

    def join(self, framework: Host) -> None:
        """Register the agent in the framework; a `Framework` calls this for its agents."""
        self._set("_framework", framework)


@dataclass(frozen=True, kw_only=True)
class SelectedAgent(Runnable, ResolvedAgent):
    """A copy of an agent at a selected version, with the override applied.

    Its fields are those of the version at the time of the selection. A run selects again, so that a status
    means the version at that moment. The registered agent is not changed.
    """

    host: Host = field(repr=False)

    @classmethod
    def of(cls, served: ResolvedAgent, host: Host) -> SelectedAgent:
        """Return a served agent as one that can be run."""
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


def _problem_of_model(model: object) -> str | None:
    if isinstance(model, Mapping) and all(
        isinstance(text, str) and text.strip() for text in map(model.get, ("provider", "name"))
    ):
        return None
    # Other libraries write both as one text.
    parts = re.fullmatch(r"([a-z][a-z0-9-]*)[/:](\S+)", model) if isinstance(model, str) else None
    provider, name = parts.groups() if parts else ("openai", "gpt-4o")
    example = f'{{"provider": "{provider}", "name": "{name}"}}'
    return f"the model must be {example if parts else f'such as {example}'}, not {model!r}"


def _problem(agent: Agent) -> str | None:
    """Return why the agent is invalid, or None if it is valid."""
    id_problem = ids.problem(agent.id)
    if id_problem is not None:
        return f"the id {id_problem}"
    if not agent.name.strip():
        return "the name must not be blank"
    instructions_problem = _problem_of_instructions(agent)
    if instructions_problem is not None:
        return instructions_problem
    model_problem = None if agent.model is None else _problem_of_model(agent.model)
    if model_problem is not None:
        return model_problem
    if agent.visibility not in {"public", "private"}:
        return "the visibility must be 'public' or 'private'"
    return None
