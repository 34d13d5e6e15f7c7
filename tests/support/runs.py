"""Running agents over HTTP, and the agents to run."""

from __future__ import annotations

from typing import Any

from tests.support.api import AGENTS, Answer, Api

ECHO = {"provider": "echo", "name": "echo"}
OPENAI = {"provider": "openai", "name": "small"}


def run_path(agent_id: str, verb: str = "generate") -> str:
    """Return the path for running an agent."""
    return AGENTS.url(agent_id, verb).removeprefix("/stored")


def run(
    api: Api,
    agent_id: str = "writer",
    *,
    verb: str = "generate",
    query: dict[str, Any] | None = None,
    **body: Any,
) -> Answer:
    """Say hello to an agent, unless the body says something else."""
    return api.request("POST", run_path(agent_id, verb), {"messages": "hello", **body}, query=query)


def ran(api: Api, agent_id: str = "writer", **more: Any) -> dict[str, Any]:
    """Say hello to an agent and return its answer."""
    answer = run(api, agent_id, **more)
    assert answer.status == 200, answer.body
    return dict(answer.body)


def agent(api: Api, agent_id: str = "writer", instructions: Any = "one", **more: Any) -> str:
    """Make a published agent on the echo model and return its version's id."""
    fields = {"model": ECHO, "autoPublish": True, **more}
    return str(AGENTS.make(api, agent_id, instructions, **fields)["resolvedVersionId"])


def draft(api: Api, agent_id: str = "writer", instructions: str = "two", **more: Any) -> str:
    """Save a draft of an agent and return its version's id."""
    return str(AGENTS.save(api, agent_id, instructions, **more)["resolvedVersionId"])


def team(api: Api, **lead: Any) -> tuple[str, str]:
    """Make `lead`, which delegates to `writer`, both published; return the ids of their versions."""
    writer_id = agent(api, "writer", "one")
    return agent(api, "lead", "lead", agents={"writer": {}}, **lead), writer_id


def noticed(answer: dict[str, Any]) -> list[tuple[str, str | None]]:
    assert all(warning["message"] for warning in answer["warnings"])
    return [(warning["code"], warning["field"]) for warning in answer["warnings"]]
