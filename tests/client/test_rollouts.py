"""Rollouts, usage and feedback by the methods of both clients."""

from __future__ import annotations

from typing import Any

import pytest
from editor_client import Conflict

pytestmark = pytest.mark.processes


def test_a_rollout_is_started_widened_read_and_stopped(client: Any, new_id: str) -> None:
    live = client.create_stored_agent(id=new_id, name="Writer", instructions="one")
    stored = client.get_stored_agent(new_id)
    draft = stored.update(instructions="two").latest_version_id
    arms = [{"name": "new", "version_id": draft, "weight": 10_000}]
    made = client.create_rollout("agent", new_id, bucket_by="userId", arms=arms)
    rollout = client.get_rollout(made.id)
    assert [(arm.name, arm.version_id, arm.weight) for arm in rollout.details().arms] == [
        ("new", draft, 10_000)
    ]
    with pytest.raises(Conflict) as refused:
        client.create_rollout("agent", new_id, bucket_by="userId", arms=arms)
    assert refused.value.code == "rollout_running"
    agent = client.get_agent(new_id)
    read = agent.details(request_context={"userId": "ada"})
    assert (read.instructions, read.rollout["arm"]) == ("two", "new")
    plain = agent.details()
    assert (plain.instructions, plain.rollout["reason"]) == ("one", "noKey")

    about = ("agent", new_id, read.resolved_version_id)
    client.send_usage(*about, arm="new", runs=3, input_tokens=10)
    [used] = client.summarize_usage("agent", new_id).usage
    assert (used.version_id, used.arm, used.runs, used.input_tokens) == (draft, "new", 3, 10)
    said = client.send_feedback(
        "stars", 5, kind="agent", resource_id=new_id, version_id=draft, arm="new", external_id=new_id
    )
    assert client.list_feedback(kind="agent", id=new_id).feedback[0].id == said.id
    [summary] = client.summarize_feedback("agent", new_id).summary
    assert (summary.count, summary.mean) == (1, 5)

    assert rollout.update({"new": 5_000}).arms[0].weight == 5_000
    assert rollout.stop(reason="Enough.").reason == "Enough."
    with pytest.raises(Conflict):
        rollout.update({"new": 1})
    assert agent.details(request_context={"userId": "ada"}).instructions == "one"
    again = client.create_rollout("agent", new_id, bucket_by="userId", arms=arms)
    assert client.get_rollout(again.id).complete("new").state == "completed"
    assert stored.details().active_version_id == draft != live.active_version_id
    assert [one.id for one in client.iter_rollouts(kind="agent", id=new_id)] == [again.id, made.id]
