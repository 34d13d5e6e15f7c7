"""Agents as applications use them: reading, running, locking and previewing them, and the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache, partial
from typing import Any, Literal, Self, TypedDict, TypeVar, Unpack

from editor_client.calls import (
    Answer,
    Call,
    Local,
    Object,
    Query,
    Request,
    Resource,
    Selector,
    cached_read,
    context_query,
    encode_json,
    id_segment,
    query,
    reading,
)
from editor_client.errors import ServerError, ValidationFailed, malformed
from editor_client.methods import D_co, Driver, Handle, iterator, method
from editor_client.parts import evaluate
from editor_client.reads.streams import Run
from editor_client.result import CachedResult, Notice, Result, members, with_json_names


class ShownBlock(Result):
    """The result for one block of the instructions."""

    shown: bool
    type: str | None = None
    id: str | None = None
    version_id: str | None = None
    reason: str | None = None
    """Why it was omitted: `rules`, `blank`, `missing` or `unpublished`."""
    rollout: Mapping[str, Any] | None = None
    """The request's arm of a rollout of the block, as `id`, `arm` and `reason`."""


class Preview(Result):
    """The preview of assembled instructions."""

    result: str
    blocks: tuple[ShownBlock, ...]
    warnings: tuple[Notice, ...] = ()


class ServedAgent(CachedResult):
    """An agent as applications use it: version, conditions and instructions are resolved."""

    id: str
    name: str | None = None
    description: str | None = None
    instructions: str | None = None
    tools: Mapping[str, Any] = field(default_factory=dict)
    agents: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] | None = None
    provider: str | None = None
    model_id: str | None = None
    default_options: Mapping[str, Any] = field(default_factory=dict)
    source: Literal["code", "stored", "fallback"] | None = None
    """`fallback`: the application's own description, because there was no answer and nothing was cached."""
    status: Literal["published", "draft"] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    resolved_version_id: str | None = None
    """None for an agent as defined in code."""
    active_version_id: str | None = None
    rollout: Mapping[str, Any] | None = None
    """The request's arm of a rollout, as `id`, `arm` and `reason`; None without one."""
    selector: Mapping[str, Any] | None = None
    fallback: Mapping[str, Any] | None = None
    warnings: tuple[Notice, ...] = ()
    blocks: tuple[ShownBlock, ...] = ()

    @property
    def shown_block_ids(self) -> tuple[str, ...]:
        """The prompt blocks in the instructions, shown in this context or not."""
        return tuple(dict.fromkeys(block.id for block in self.blocks if block.id is not None))


class AgentParts(CachedResult):
    """An agent before evaluation: `editor_client.parts.evaluate` makes it a served one."""

    id: str
    source: Literal["code", "stored"] | None = None
    status: Literal["published", "draft"] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    resolved_version_id: str | None
    """None for an agent as defined in code."""
    active_version_id: str | None = None
    selector: Mapping[str, Any] | None = None
    fallback: Mapping[str, Any] | None = None
    config: Mapping[str, Any]
    prompt_blocks: Mapping[str, Any]
    """The blocks that it refers to, by id; None for an omitted one."""
    omitted_blocks: Mapping[str, Any] = field(default_factory=dict)
    """The reasons for omitted blocks."""
    rollout: Mapping[str, Any] | None = None
    block_rollouts: Mapping[str, Any] = field(default_factory=dict)
    request_context_schema: Mapping[str, Any] | None = None

    @property
    def shown_block_ids(self) -> tuple[str, ...]:
        """The prompt blocks that are shown in some context."""
        return tuple(self.prompt_blocks)


class ModelProvider(Result):
    """A provider that agents may name in their model."""

    name: str
    kind: str
    """A built-in provider, or `code` for one that the server's project defines."""
    ready: bool
    missing: str | Mapping[str, Any] | None = None
    """The first variable that is not set; `{"extra": …}` for a package that is not installed; or None."""


class ProviderList(Result):
    """The providers that agents may name, by name."""

    providers: tuple[ModelProvider, ...]


class Generated(Result):
    """The answer of an agent, with details of the run."""

    text: str
    finish_reason: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    tool_results: list[dict[str, Any]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    run_id: str | None = None
    resolved_versions: Mapping[str, str | None] = field(default_factory=dict)
    rollouts: Mapping[str, Any] = field(default_factory=dict)
    """The run's arms of rollouts, by `agents` and `promptBlocks` and then by id."""
    warnings: tuple[Notice, ...] = ()


R = TypeVar("R", bound=CachedResult)

Messages = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""Text, a message, or a list of `{"role", "content"}`."""


class RunArguments(TypedDict, total=False):
    """The arguments of a run, in addition to the messages."""

    versions: Object | None
    request_context: Object | None
    max_steps: int | None
    model_settings: Object | None
    instructions: str | None


class Agent(Handle[D_co]):
    """An agent as applications use it, stored or defined in code, in the selected version."""

    def __init__(self, client: D_co, agent_id: str, **selector: Unpack[Selector]) -> None:
        super().__init__(client, agent_id, f"/agents/{id_segment(agent_id)}")
        self._selector = query(**selector)

    @method
    def details(
        self,
        *,
        request_context: Mapping[str, Any] | None = None,
        fallback: Mapping[str, Any] | None = None,
    ) -> Call[ServedAgent]:
        """Read the agent with everything resolved; `request_context` fills templates and rules.

        `fallback` has the fields of a replacement agent, such as `{"instructions": "…"}`. It is returned,
        with `stale=True` and `source="fallback"`, if nothing is cached and no server answers.
        """
        call = self._details(request_context)
        return call if fallback is None else replace(call, fallback=_fallback(self.id, fallback))

    @method
    def parts(self) -> Call[AgentParts]:
        """Read the agent unevaluated, for `editor_client.parts.evaluate`.

        Raises `Conflict` (`parts_unavailable`) for an agent whose versions only the server can choose.
        """
        return _parts(self.id, self._selector)

    @method
    def generate(self, messages: Messages, **run: Unpack[RunArguments]) -> Call[Generated]:
        """Run the agent on the messages and return its answer."""
        return Call(request=self._run("generate", messages, run), read=reading(Generated), runs=True)

    @iterator
    def stream(self, messages: Messages, **run: Unpack[RunArguments]) -> Run:
        """Run the agent and yield its events.

        The run begins when the first event is requested and ends when the iterator is closed. Raises
        `ServerError` if the run fails and `Unreachable` if the stream breaks off.
        """
        return Run(self._run("stream", messages, run))

    def _details(self, request_context: Mapping[str, Any] | None = None) -> Call[ServedAgent]:
        # Applications repeat the same few reads, so their descriptions are cached. With a context there may
        # be as many as there are users.
        describe = _details if request_context is None else _details.__wrapped__
        call: Call[ServedAgent] = describe(self.id, self._selector, request_context)
        return call

    def _run(self, verb: str, messages: Messages, run: RunArguments) -> Request:
        body = encode_json({"messages": messages, **with_json_names(run)})
        return Request("POST", f"{self._path}/{verb}", self._selector, body)


class AgentMethods(Driver):
    """The methods of a client for agents as applications use them."""

    @method
    def list_agents(
        self, *, partial: bool | None = None, request_context: Mapping[str, Any] | None = None
    ) -> Call[dict[str, ServedAgent]]:
        """Return every published agent that the key may read, by id; `partial` omits the texts."""
        params = (*query(partial=partial), *context_query(request_context))
        return Call.to("GET", "/agents", _agents_by_id, query=params)

    def get_agent(self, agent_id: str, **selector: Unpack[Selector]) -> Agent[Self]:
        """Return an agent as applications use it; no request is sent yet."""
        return Agent(self, agent_id, **selector)

    @method
    def list_providers(self) -> Call[ProviderList]:
        """Return the providers that agents may name in their model, each with what it lacks; never a key."""
        return Call.to("GET", "/providers", reading(ProviderList))

    @method
    def lock(
        self, agents: Sequence[str] = (), *, prompt_blocks: Sequence[str] = (), **selector: Unpack[Selector]
    ) -> Call[dict[str, Any]]:
        """Return a lock of agents and prompt blocks, for the `versions` of runs: plain JSON for a file.

        The selector names the version of each; by default the published ones.
        """
        ids_by_kind = (("agent", agents), ("promptBlock", prompt_blocks))
        body: dict[str, Any] = {
            "resources": [
                {"kind": kind, "id": resource_id} for kind, ids in ids_by_kind for resource_id in ids
            ]
        }
        chosen = {name: value for name, value in with_json_names(selector).items() if value is not None}
        return Call.to("POST", "/locks", _lock, body=body | ({"selector": chosen} if chosen else {}))

    @method
    def preview_instructions(
        self, blocks: Sequence[Mapping[str, Any]], *, context: Mapping[str, Any] | None = None
    ) -> Call[Preview]:
        """Assemble blocks without saving them."""
        body = {"blocks": blocks} if context is None else {"blocks": blocks, "context": context}
        return Call.to("POST", "/stored/agents/preview-instructions", reading(Preview), body=body)


@lru_cache(maxsize=4096)
def _details(agent_id: str, selector: Query, request_context: Mapping[str, Any] | None) -> Call[ServedAgent]:
    in_context = (*selector, *context_query(request_context))
    call = _read(ServedAgent, agent_id, selector, in_context)
    parts = _parts(agent_id, selector)
    return replace(
        call,
        local=Local(
            parts,
            evaluate=partial(_evaluate_parts, request_context),
            evaluate_offline=partial(_evaluate_parts, request_context, offline=True),
        ),
    )


def _parts(agent_id: str, selector: Query) -> Call[AgentParts]:
    return _read(AgentParts, agent_id, selector, (*selector, ("form", "parts")))


def _read(result: type[R], agent_id: str, selector: Query, params: Query) -> Call[R]:
    path, about = f"/agents/{id_segment(agent_id)}", Resource("agents", agent_id)
    version_id = dict(selector).get("versionId")
    return cached_read(result, about, path, params, ("id", agent_id), ("resolved_version_id", version_id))


def _evaluate_parts(
    request_context: Mapping[str, Any] | None, parts: AgentParts, *, offline: bool = False
) -> ServedAgent:
    return ServedAgent.of(evaluate(parts.raw, request_context, offline=offline), etag=parts.etag)


def _fallback(agent_id: str, fields: Mapping[str, Any]) -> ServedAgent:
    """Return the application's own description of an agent; raises `ValidationFailed` if it is invalid."""
    described = with_json_names(fields)
    field_names = [member.json_name for member in members(ServedAgent)]
    for name in described:
        if name not in field_names:
            raise ValidationFailed.field(
                f"fallback.{name}", (f"is not a field of an agent: {', '.join(field_names)}")
            )
    try:
        return ServedAgent.of({**described, "id": agent_id, "source": "fallback"}, stale=True)
    except ServerError as error:
        raise ValidationFailed.field("fallback", error.message) from None


def _agents_by_id(answer: Answer) -> dict[str, ServedAgent]:
    agents = answer.json()
    if not isinstance(agents, dict):
        raise malformed("it is not an object of agents by id", answer.status)
    return {agent_id: ServedAgent.of(agent) for agent_id, agent in agents.items()}


def _lock(answer: Answer) -> dict[str, Any]:
    lock = answer.json()
    if not isinstance(lock, dict) or "signature" not in lock:
        raise malformed("it is not a lock", answer.status)
    return lock
