"""Gates ask about what agents show and run of other workspaces, however applications get the agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api
from tests.support.calls import undone
from tests.support.gates import evidence, make_gate, make_scored_dataset, states
from tests.support.people import key_of, person
from tests.support.rollouts import arm
from tests.support.rollouts import start as start_rollout

RATE = [{"rule": "passRate", "min": 0.5}]
ECHO = {"provider": "echo", "name": "echo"}


@pytest.fixture
def dataset(cast: Cast) -> str:
    return make_scored_dataset(cast.alice)


@pytest.fixture
def both(cast: Cast) -> Api:
    """A publisher of both workspaces."""
    person("bea", acme="publisher", elsewhere="publisher")
    return key_of("bea")


def _hidden(answer: Answer) -> tuple[Any, int]:
    return states(answer), answer.body["hiddenGates"]


def _under_a_label(api: Api, version_id: str) -> int:
    body = {"versionId": version_id, "released": True}
    return api.put(AGENTS.url("writer", "labels", "beta"), body).status


def _as_an_arm(api: Api, version_id: str) -> int:
    return start_rollout(api, AGENTS, arm(version_id, weight=0)).status


@pytest.mark.parametrize("serve", [_under_a_label, _as_an_arm])
def test_a_foreign_block_asks_the_gates_of_agents_that_show_it_beside_what_is_active(
    cast: Cast, both: Api, dataset: str, serve: Callable[[Api, str], int]
) -> None:
    """Who publishes the block is no member of the workspace of the agent."""
    block = PROMPT_BLOCKS.make(both, "tone", "kind", workspaceId="elsewhere", autoPublish=True)
    shows = AGENTS.make(both, "writer", [{"type": "prompt_block_ref", "id": "tone"}], workspaceId="acme")
    AGENTS.publish(both, "writer", shows["latestVersionId"])
    plain = AGENTS.save(cast.edgar)["latestVersionId"]
    AGENTS.publish(cast.paula, "writer", plain)
    assert serve(both, shows["latestVersionId"]) in {200, 201}
    make_gate(cast.alice, dataset, rules=RATE)
    draft = PROMPT_BLOCKS.save(cast.charlie, "tone", "curt")["latestVersionId"]
    url = PROMPT_BLOCKS.url("tone", "versions", draft, "activate")
    assert _hidden(cast.charlie.post(url)) == ([], 1)
    assert _hidden(cast.charlie.post(PROMPT_BLOCKS.url("tone", "unpublish"))) == ([], 1)
    assert (
        cast.charlie.post(PROMPT_BLOCKS.url("tone", "versions", block["latestVersionId"], "activate")).status
        == 200
    )


def _again(api: Api, version_id: str) -> Answer:
    return api.post(AGENTS.url("writer", "versions", version_id, "activate"))


def _as_a_copy(api: Api, version_id: str) -> Answer:
    copy = api.post(AGENTS.url("writer", "versions", version_id, "restore")).body["id"]
    return _again(api, copy)


def _under_a_label_too(api: Api, version_id: str) -> Answer:
    return api.put(AGENTS.url("writer", "labels", "beta"), {"versionId": version_id, "released": True})


@pytest.mark.parametrize("serve", [_again, _as_a_copy, _under_a_label_too])
def test_a_namesake_of_a_foreign_block_is_asked_about_when_the_agent_is_published_again(
    cast: Cast, both: Api, dataset: str, serve: Callable[[Api, str], Answer]
) -> None:
    """Both have been live at one time, and the agent did not show the block: it was not granted this one."""
    PROMPT_BLOCKS.make(both, "tone", "kind", workspaceId="elsewhere", autoPublish=True)
    shows = AGENTS.make(both, "writer", [{"type": "prompt_block_ref", "id": "tone"}], workspaceId="acme")
    AGENTS.publish(both, "writer", shows["latestVersionId"])
    assert both.delete(PROMPT_BLOCKS.url("tone")).status == 200
    PROMPT_BLOCKS.make(both, "tone", "curt", workspaceId="elsewhere", autoPublish=True)
    gate = make_gate(cast.alice, dataset, rules=RATE)["id"]
    assert states(serve(both, shows["latestVersionId"])) == [("writer", "missing", None)]
    assert "curt" not in cast.vera.get("/agents/writer").body["instructions"]
    cast.alice.patch(f"/gates/{gate}", {"enabled": False})
    assert serve(both, shows["latestVersionId"]).status == 200
    assert cast.vera.get("/agents/writer").body["instructions"] == "curt"
    cast.alice.patch(f"/gates/{gate}", {"enabled": True})
    plain = AGENTS.save(cast.edgar)["latestVersionId"]
    evidence(cast.edgar, dataset, plain)
    AGENTS.publish(cast.paula, "writer", plain)
    assert serve(both, shows["latestVersionId"]).status == 200, "shown before"


@pytest.mark.parametrize("at_once", [True, False])
def test_a_public_sub_agent_of_strangers_asks_the_gates_of_agents_that_name_it(
    cast: Cast, dataset: str, *, at_once: bool
) -> None:
    """A published agent names what does not exist, and somebody elsewhere makes it for everybody to run."""
    lead = AGENTS.make(cast.edgar, "lead", "Lead.", model=ECHO, agents={"helper": {}})["latestVersionId"]
    make_gate(cast.alice, dataset, agent="lead", rules=RATE)
    evidence(cast.edgar, dataset, lead, targetId="lead")
    AGENTS.publish(cast.paula, "lead", lead)
    body = AGENTS.body("Strange.", id="helper", visibility="public", autoPublish=at_once, model=ECHO)
    answer = cast.charlie.post(AGENTS.path, body)
    if not at_once:
        draft = answer.body["latestVersionId"]
        answer = cast.charlie.post(AGENTS.url("helper", "versions", draft, "activate"))
    assert _hidden(answer) == ([], 1)
    said = cast.vera.post("/agents/lead/generate", {"messages": "Hi"}).body
    assert said["resolvedVersions"] == {"lead": lead}


def test_what_was_live_last_is_what_everybody_got(cast: Cast, both: Api, dataset: str) -> None:
    """With blocks of another workspace, which only those may read who published it."""
    PROMPT_BLOCKS.make(both, "tone", "kind", workspaceId="elsewhere", autoPublish=True)
    shows = AGENTS.make(both, "writer", [{"type": "prompt_block_ref", "id": "tone"}], workspaceId="acme")
    AGENTS.publish(both, "writer", shows["latestVersionId"])
    make_gate(cast.alice, dataset)
    evidence(both, dataset)
    draft = AGENTS.save(cast.edgar)["latestVersionId"]
    evidence(cast.edgar, dataset, draft)
    url = AGENTS.url("writer", "versions", draft, "activate")
    assert cast.paula.post(AGENTS.url("writer", "unpublish")).status in {200, 404}
    assert cast.paula.post(url).status == 200


@pytest.mark.parametrize("before", ["public", "private"])
def test_a_change_of_visibility_asks_the_gates_of_agents_that_name_the_agent(
    cast: Cast, dataset: str, before: str
) -> None:
    """Whether others may run a sub-agent is a part of what their agents say."""
    person("cora", elsewhere="admin")
    elsewhere = key_of("cora")
    body = {"workspaceId": "elsewhere", "visibility": before, "model": ECHO, "autoPublish": True}
    AGENTS.make(elsewhere, "helper", "Help.", **body)
    lead = AGENTS.make(cast.edgar, "lead", "Lead.", model=ECHO, agents={"helper": {}})["latestVersionId"]
    make_gate(cast.alice, dataset, agent="lead", rules=RATE)
    evidence(cast.edgar, dataset, lead, targetId="lead")
    AGENTS.publish(cast.paula, "lead", lead)
    after = {"public": "private", "private": "public"}[before]
    change = {"visibility": after, "metadata": {"seen": True}}
    refused = elsewhere.patch(AGENTS.url("helper"), change)
    assert _hidden(refused) == ([], 1)
    helper = elsewhere.get(AGENTS.url("helper")).body
    assert (helper["visibility"], helper["metadata"]) == (before, {})
    reason = {"bypassEvaluation": {"reason": "Needed."}}
    assert elsewhere.patch(AGENTS.url("helper"), change | reason).status == 403
    assert (
        cast.alice.patch(
            f"/gates/{cast.alice.get('/gates').body['gates'][0]['id']}", {"enabled": False}
        ).status
        == 200
    )
    assert elsewhere.patch(AGENTS.url("helper"), change).body["visibility"] == after


def test_a_sub_agent_that_another_publisher_may_run_was_not_live_before(
    cast: Cast, both: Api, dataset: str
) -> None:
    """The same versions were live at the same time, and the agent did not run the other one."""
    AGENTS.make(both, "helper", "Help.", workspaceId="elsewhere", model=ECHO, autoPublish=True)
    lead = AGENTS.make(cast.edgar, "lead", "Lead.", model=ECHO, agents={"helper": {}})["latestVersionId"]
    make_gate(cast.alice, dataset, agent="lead", rules=RATE)
    evidence(cast.edgar, dataset, lead, targetId="lead")
    AGENTS.publish(cast.paula, "lead", lead)
    cast.paula.post(AGENTS.url("lead", "unpublish"))
    activate = AGENTS.url("lead", "versions", lead, "activate")
    assert states(both.post(activate)) == [("lead", "missing", None)]
    assert cast.paula.post(activate).status == 200


def test_a_sub_agent_that_becomes_public_with_another_text_asks_about_both(cast: Cast, dataset: str) -> None:
    """What the request publishes is judged as others would run it after the whole request."""
    person("cora", elsewhere="admin")
    elsewhere = key_of("cora")
    body = {"workspaceId": "elsewhere", "visibility": "public", "model": ECHO, "autoPublish": True}
    AGENTS.make(elsewhere, "helper", "Help.", **body)
    lead = AGENTS.make(cast.edgar, "lead", "Lead.", model=ECHO, agents={"helper": {}})["latestVersionId"]
    gate = make_gate(cast.alice, dataset, agent="lead", rules=RATE)
    evidence(cast.edgar, dataset, lead, targetId="lead")
    AGENTS.publish(cast.paula, "lead", lead)
    _switch(cast, gate, on=False)
    assert elsewhere.patch(AGENTS.url("helper"), {"visibility": "private"}).status == 200
    _switch(cast, gate, on=True)
    with undone():
        assert elsewhere.patch(AGENTS.url("helper"), {"visibility": "public"}).status == 200
    change = {"visibility": "public", "instructions": "Harm.", "autoPublish": True}
    assert _hidden(elsewhere.patch(AGENTS.url("helper"), change)) == ([], 1)
    assert elsewhere.get(AGENTS.url("helper")).body["visibility"] == "private"


def _switch(cast: Cast, gate: dict[str, Any], *, on: bool) -> None:
    assert cast.alice.patch(f"/gates/{gate['id']}", {"enabled": on}).status == 200
