"""Endless delegation is stopped; and the names of delegation tools."""

from __future__ import annotations

import pytest

from tests.runtime.memory import MemoryStore
from tests.support.factories import CodeAgentFactory
from versioning.runtime import Agent, DelegationStopped, Framework
from versioning.runtime.delegation import MAX_DEPTH, tool_name


def test_circular_delegation_is_stopped_and_the_run_continues(store: MemoryStore) -> None:
    store.put("ping", "ping", active=1, agents={"pong": {}})
    store.put("pong", "pong", active=1, agents={"ping": {}})
    result = Framework(editor=store).generate("ping", "hello")
    stopped = "Delegation stopped: 'ping' waits for this answer already (ping → pong → ping)."
    assert result.text == f"ping\n\nhello\n\npong\n\nhello\n\n{stopped}"
    assert [(notice.code, notice.message) for notice in result.warnings] == [("delegation_stopped", stopped)]


def test_too_deep_delegation_is_stopped_and_the_run_continues(store: MemoryStore) -> None:
    for level in range(MAX_DEPTH + 2):
        store.put(f"level{level}", f"text {level}", active=1, agents={f"level{level + 1}": {}})
    result = Framework(editor=store).generate("level0", "hello")
    assert f"text {MAX_DEPTH - 1}\n\nhello" in result.text
    assert f"text {MAX_DEPTH}\n\nhello" not in result.text
    assert "delegation_stopped" in [notice.code for notice in result.warnings]


def test_too_many_model_requests_are_an_error_that_names_the_chain(lead: Agent) -> None:
    Framework(agents=[lead], request_limit=1)
    with pytest.raises(DelegationStopped, match=r"1 model requests.*lead → writer") as refusal:
        lead.generate("hello")
    assert refusal.value.chain == ("lead", "writer")


def test_exactly_the_allowed_number_of_model_requests_is_made() -> None:
    for limit in (2, 3):  # its model is called twice, and that of its sub-agent once
        writer = CodeAgentFactory(id="writer")
        lead = CodeAgentFactory(id="lead", agents=[writer])
        Framework(agents=[lead], request_limit=limit)
        if limit == 3:
            assert lead.generate("hello").text
        else:
            with pytest.raises(DelegationStopped, match="2 model requests"):
                lead.generate("hello")


def test_a_delegation_has_a_name_that_providers_accept() -> None:
    for agent_id, name in (
        ("writer", "agent-writer"),
        ("a-b_C9", "agent-a-b_C9"),
        ("team/support", "agent-team_support-5d6b9d55"),
        ("日本", None),
        ("x" * 200, None),
    ):
        made = tool_name(agent_id)
        assert len(made) <= 64 and made.replace("-", "").replace("_", "").isascii()
        assert name is None or made.startswith(name[:18])
    assert len({tool_name(one) for one in ("a/b", "a_b", "a.b", "x" * 80, "x" * 81)}) == 5
