"""A client that evaluates locally gives the same answers as the server, with and without rollouts."""

from __future__ import annotations

import random
from typing import Any

import pytest
from editor_client.parts import evaluate
from editor_client.shared.arms import choose_arm

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.rollouts import arm, started
from tests.support.runs import ECHO, ran
from tests.support.served import FOR_GOLD, published_agent, published_block, reference, served, text

pytestmark = pytest.mark.usefixtures("committed_db")

CONTEXTS = 200
KEYS = (
    *("ada", "é", "e\u0301", " ben ", "", " ", "42", "日本", "😀", "a\nb", "null", "x" * 300),
    *(42, 42.0, 0, -7, 1.5, 2**53, -(2**53) + 1, 1e300, True, None, [], {}, ["ada"], {"id": "ada"}),
)


def contexts(number: int) -> list[dict[str, Any]]:
    """Return contexts with keys of every sort, mostly whole numbers and texts."""
    chance = random.Random(7)
    found: list[dict[str, Any]] = [{}, {"userId": None}]
    for _ in range(number - len(found)):
        key = chance.choice([chance.choice(KEYS), chance.randrange(10**6), f"user{chance.randrange(10**6)}"])
        more = {"tier": "gold"} if chance.random() < 0.5 else {"name": chance.choice(["Ann", "", None, 3])}
        found.append({"userId": key, **more})
    return found


@pytest.fixture
def parts(cast: Cast) -> dict[str, Any]:
    """The parts of an agent with a rollout, of whose three prompt blocks two have their own rollouts."""
    for name, before, after in (
        ("tone", "Be kind.", "Be brief."),
        ("sign", "Yours, {{ name || 'us' }}", "Bye"),
    ):
        published_block(cast.alice, name, before)
        later = PROMPT_BLOCKS.save(cast.alice, name, after)["latestVersionId"]
        started(cast.paula, PROMPT_BLOCKS, arm(later, weight=5_000), resource_id=name)
    published_block(cast.alice, "plain", "Plain.", rules=FOR_GOLD)
    shown = [text("Hi {{ name || 'you' }}."), reference("tone"), reference("plain")]
    published_agent(cast.alice, "writer", shown, model=ECHO)
    variants = [{"value": ECHO}, {"value": {**ECHO, "temperature": 0.1}, "rules": FOR_GOLD}]
    first, second = (
        AGENTS.save(cast.alice, "writer", words, model=variants)["latestVersionId"]
        for words in (
            [text("Short."), reference("sign")],
            [text("Long."), reference("tone"), reference("sign")],
        )
    )
    started(cast.paula, AGENTS, arm(first, "short", 3_000), arm(second, "long", 5_000))
    return dict(cast.vera.get("/agents/writer", form="parts").body)


def test_client_and_server_give_the_same_answers_in_every_context(cast: Cast, parts: dict[str, Any]) -> None:
    seen = set()
    for context in contexts(CONTEXTS):
        found = served(cast.vera, context=context)
        assert evaluate(parts, context) == found, context
        seen.add(
            (
                found["rollout"]["arm"],
                *(block["rollout"] and block["rollout"]["arm"] for block in found["blocks"]),
            )
        )
    assert {own for own, *_ in seen} == {None, "short", "long"}
    assert len(seen) >= 6, seen


def test_a_run_is_in_the_same_arms_as_a_local_evaluation(cast: Cast, parts: dict[str, Any]) -> None:
    published_agent(cast.alice, "lead", "Lead.", model=ECHO, agents={"writer": {}})
    for context in contexts(30):
        answer = ran(cast.vera, "lead", requestContext=context)
        own, outcomes = choose_arm(parts["rollout"], context), answer["rollouts"]
        assert outcomes["agents"]["writer"]["arm"] == (own and own["name"])
        assert answer["resolvedVersions"]["writer"] == (own or parts)["resolvedVersionId"]
        for block, outcome in outcomes["promptBlocks"].items():
            chosen = choose_arm(parts["blockRollouts"][block], context)
            assert outcome["arm"] == (chosen and chosen["name"])
