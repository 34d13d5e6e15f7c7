"""Locks over HTTP, and running agents by them."""

from __future__ import annotations

from typing import Any

from tests.support.api import Answer, Api
from tests.support.runs import ran

Json = dict[str, Any]


def lock(api: Api, *resources: tuple[str, str], selector: Json | None = None) -> Answer:
    """Request a lock of resources, each a kind and an id."""
    body: Json = {"resources": [{"kind": kind, "id": one} for kind, one in resources]}
    return api.post("/locks", body if selector is None else {**body, "selector": selector})


def locked(api: Api, *agents: str, selector: Json | None = None) -> Json:
    answer = lock(api, *(("agent", one) for one in agents), selector=selector)
    assert answer.status == 200, answer.body
    return dict(answer.body)


def by_lock(api: Api, made: Json | None, agent_id: str = "lead", **more: Any) -> Json:
    """Send hello to an agent by a lock and return its answer."""
    return ran(api, agent_id, **more) if made is None else ran(api, agent_id, versions=made, **more)


def prompts_of(answer: Json) -> tuple[str, list[Any]]:
    """Return the answers of the echo models: the prompt of the called agent, and those of its sub-agents."""
    return answer["text"], [result["result"] for result in answer["toolResults"]]


SECRET = "not for the readers of a test"
"""A text that no refusal may show."""


def refused(answer: Answer, names: list[str]) -> None:
    """Assert that a lock is broken, and which parts are named."""
    assert (answer.status, answer.code) == (424, "lock_broken"), answer.body
    assert answer.body["names"] == names
    assert all(repr(name) in answer.body["error"] for name in names)
    assert SECRET not in str(answer.body)
