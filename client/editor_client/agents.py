"""Agents as applications use them: reading and running them. Described as in `stored`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, TypeVar, Unpack

from editor_client.arguments import Run, Selector
from editor_client.calls import (
    Call,
    Local,
    Query,
    Request,
    Resource,
    cached_read,
    context_query,
    encoded,
    id_segment,
    query,
    reading,
)
from editor_client.errors import ServerError, ValidationFailed
from editor_client.naming import with_json_names
from editor_client.parts import evaluate
from editor_client.result import CachedResult, members
from editor_client.served import AgentParts, Generated, ServedAgent

R = TypeVar("R", bound=CachedResult)

Messages = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""Text, a message, or a list of `{"role", "content"}`."""


class Agent:
    """An agent, stored or defined in code, in the version that the selector names."""

    def __init__(self, agent_id: str, **selector: Unpack[Selector]) -> None:
        self.id = agent_id
        self.about = Resource("agents", agent_id)
        self.path = f"/agents/{id_segment(agent_id)}"
        self.selector = query(**selector)

    def details(
        self,
        *,
        request_context: Mapping[str, Any] | None = None,
        fallback: Mapping[str, Any] | None = None,
    ) -> Call[ServedAgent]:
        """Read the agent with everything resolved; `request_context` fills templates and rules.

        `fallback` has the fields of an agent as it is to be used, such as `{"instructions": "…"}`. It is
        returned, with `stale=True` and `source="fallback"`, if nothing is cached and no server answers.
        """
        # An application makes the same few reads all the time, so that describing one is remembered.
        # With a context there may be as many as there are users.
        describe = _details if request_context is None else _details.__wrapped__
        call: Call[ServedAgent] = describe(self.id, self.selector, request_context)
        return call if fallback is None else replace(call, fallback=_fallback(self.id, fallback))

    def parts(self) -> Call[AgentParts]:
        """Read the agent unevaluated, for `editor_client.parts.evaluate`.

        Raises `Conflict` (`parts_unavailable`) for an agent whose versions only the server can choose.
        """
        return _parts(self.id, self.selector)

    def generate(self, messages: Messages, **run: Unpack[Run]) -> Call[Generated]:
        """Run the agent on the messages and return its answer."""
        return Call(
            request=self._run("generate", messages, run),
            read=reading(Generated),
            about=self.about,
            runs=True,
        )

    def stream(self, messages: Messages, **run: Unpack[Run]) -> Request:
        """Run the agent on the messages; the answer is a stream of events."""
        return self._run("stream", messages, run)

    def _run(self, verb: str, messages: Messages, run: Run) -> Request:
        body = encoded({"messages": messages, **with_json_names(run)})
        return Request(method="POST", path=f"{self.path}/{verb}", query=self.selector, body=body)


@lru_cache(maxsize=4096)
def _details(agent_id: str, selector: Query, request_context: Mapping[str, Any] | None) -> Call[ServedAgent]:
    in_context = (*selector, *context_query(request_context))
    call = _read(ServedAgent, agent_id, selector, in_context)
    parts = _parts(agent_id, selector)
    return replace(
        call,
        local=Local(
            parts,
            evaluate=partial(_evaluated, request_context),
            evaluate_offline=partial(_evaluated, request_context, offline=True),
        ),
    )


def _parts(agent_id: str, selector: Query) -> Call[AgentParts]:
    return _read(AgentParts, agent_id, selector, (*selector, ("form", "parts")))


def _read(result: type[R], agent_id: str, selector: Query, asked: Query) -> Call[R]:
    path, about = f"/agents/{id_segment(agent_id)}", Resource("agents", agent_id)
    version_id = dict(selector).get("versionId")
    return cached_read(result, about, path, asked, ("id", agent_id), ("resolved_version_id", version_id))


def _evaluated(
    request_context: Mapping[str, Any] | None, parts: AgentParts, *, offline: bool = False
) -> ServedAgent:
    return ServedAgent.of(evaluate(parts.raw, request_context, offline=offline))


def _fallback(agent_id: str, fields: Mapping[str, Any]) -> ServedAgent:
    """Return an agent that the application itself describes; raises `ValidationFailed` if it is none."""
    described = with_json_names(fields)
    known = [member.json_name for member in members(ServedAgent)]
    for name in described:
        if name not in known:
            raise ValidationFailed.field(f"fallback.{name}", f"is no field of an agent: {', '.join(known)}")
    try:
        return ServedAgent.of({**described, "id": agent_id, "source": "fallback"}, stale=True)
    except ServerError as error:
        raise ValidationFailed.field("fallback", error.message) from None
