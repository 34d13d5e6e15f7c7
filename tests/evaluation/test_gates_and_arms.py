"""Rollouts of several blocks: a request can get an arm of each, and gates ask about that as well."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from capabilities.evaluation.gates import affected
from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer
from tests.support.calls import undone
from tests.support.gates import GATES, evidence, finish, make_gate, make_scored_dataset, states
from tests.support.rollouts import arm
from tests.support.rollouts import start as start_rollout

RATE = [{"rule": "passRate", "min": 0.5}]
BLOCKS = ("tone", "facts")
MISSING = [("writer", "missing", None)]


@pytest.fixture
def dataset(cast: Cast) -> str:
    return make_scored_dataset(cast.alice)


@pytest.fixture
def drafts(cast: Cast, dataset: str) -> dict[str, str]:
    """The drafts of two blocks, of which a live agent shows what is published, and that has a gate."""
    found = {}
    for block_id in BLOCKS:
        PROMPT_BLOCKS.make(cast.paula, block_id, "old", autoPublish=True)
        found[block_id] = PROMPT_BLOCKS.save(cast.edgar, block_id, "new")["latestVersionId"]
    parts = [{"type": "prompt_block_ref", "id": block_id} for block_id in BLOCKS]
    AGENTS.make(cast.paula, "writer", parts, autoPublish=True)
    make_gate(cast.paula, dataset, rules=RATE)
    for block_id in BLOCKS:
        _evaluate(cast, block_id, found[block_id])
    assert _roll_out(cast, "tone", found["tone"]).status == 201
    return found


def _evaluate(cast: Cast, block_id: str, version_id: str) -> None:
    subject = {"resource": {"kind": "promptBlock", "id": block_id}, "versionId": version_id}
    for experiment in cast.edgar.post(f"{GATES}/run", subject).body["experiments"]:
        finish(experiment)


def _roll_out(cast: Cast, block_id: str, version_id: str) -> Answer:
    return start_rollout(cast.paula, PROMPT_BLOCKS, arm(version_id, weight=1), resource_id=block_id)


def _publish(cast: Cast, block_id: str, version_id: str) -> Answer:
    return cast.paula.post(PROMPT_BLOCKS.url(block_id, "versions", version_id, "activate"))


@pytest.mark.parametrize("change", [_roll_out, _publish])
def test_a_second_block_is_judged_with_the_arm_of_the_first(
    cast: Cast, drafts: dict[str, str], change: Callable[[Cast, str, str], Answer]
) -> None:
    """Each of them was evaluated with what is active of the other, and together they were not."""
    assert states(change(cast, "facts", drafts["facts"])) == MISSING
    _evaluate(cast, "facts", drafts["facts"])
    assert change(cast, "facts", drafts["facts"]).status in {200, 201}


def test_an_agent_is_judged_with_all_arms_of_what_it_shows(
    cast: Cast, dataset: str, drafts: dict[str, str]
) -> None:
    """Also with both arms together; what one agent was evaluated with counts for no other."""
    _evaluate(cast, "facts", drafts["facts"])
    assert _roll_out(cast, "facts", drafts["facts"]).status == 201
    parts = [{"type": "prompt_block_ref", "id": block_id} for block_id in reversed(BLOCKS)]
    draft = AGENTS.save(cast.edgar, "writer", parts)["latestVersionId"]
    evidence(cast.edgar, dataset, draft)
    subject = {"resource": {"kind": "agent", "id": "writer"}, "versionId": draft}
    started = cast.edgar.post(f"{GATES}/run", subject).body["experiments"]
    assert len(started) == 3
    url = AGENTS.url("writer", "versions", draft, "activate")
    for left_out in started:
        with undone():
            for experiment in {*started} - {left_out}:
                finish(experiment)
            assert {state for _, state, _ in states(cast.paula.post(url))} == {"running"}
    for experiment in started:
        finish(experiment)
    assert cast.paula.post(url).status == 200


def test_too_many_combinations_are_refused(
    cast: Cast, drafts: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _evaluate(cast, "facts", drafts["facts"])
    monkeypatch.setattr(affected, "MAX_COMBINATIONS", 1)
    assert MISSING[0] in states(_roll_out(cast, "facts", drafts["facts"]))
