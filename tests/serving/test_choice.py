"""The choice of versions: a toy selects versions for a share of the users, on published paths only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from editor_client.parts import evaluate
from editor_client.shared.arms import bucket, choose_arm

from tests.conftest import Cast
from tests.support import toy_choice, toy_events
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api
from tests.support.runs import ECHO, ran, team
from tests.support.served import ask, encoded, published_agent, published_block, reference, served, text
from tests.support.toy_choice import ToyChooser, start, stop, users_in
from versioning.conf import get_editor
from versioning.domain.agents import AGENT, PROMPT_BLOCK
from versioning.domain.errors import Invalid
from versioning.domain.events import Audience, EventSubject, EventType
from versioning.models import ApiKey
from versioning.serving import choice

pytestmark = pytest.mark.usefixtures("committed_db")

VECTORS = json.loads((Path(__file__).parent / "vectors" / "arms.json").read_text(encoding="utf-8"))
BY_NAME = [text("Hello, {{ userId || 'you' }}."), reference("tone")]


@pytest.fixture
def chooser(monkeypatch: pytest.MonkeyPatch) -> Iterator[ToyChooser]:
    """The toy, registered during the test."""
    subject = EventSubject(
        name="toy", audience=Audience.READERS, types=[EventType(name=toy_choice.CHANGED.partition(".")[2])]
    )
    toy_events.declare(monkeypatch, subject)
    toy = ToyChooser()
    choice.register(toy)
    yield toy
    choice.unregister(toy)


@pytest.fixture
def other(cast: Cast) -> str:
    """An agent without a rule of the toy, showing a block without one."""
    ApiKey.objects.update(last_used_at=timezone.now() + timedelta(days=1))
    published_block(cast.alice, "plain", "Plain.")
    return published_agent(cast.alice, "other", [text("{{ userId }}"), reference("plain")])


@pytest.fixture
def rule(cast: Cast, chooser: ToyChooser, other: str) -> dict[str, Any]:
    """The rule for a public agent: a fifth of the users gets its draft, another fifth its active version."""
    live = published_agent(cast.alice, instructions="one", visibility="public", model=ECHO)
    draft = str(AGENTS.save(cast.alice)["latestVersionId"])
    return start(AGENT, "writer", draft, live)


def statements(read: Callable[[], Any]) -> int:
    """Return how many statements a read takes, not counting the one for the position of the log."""
    with CaptureQueriesContext(connection) as found:
        read()
    return len(found)


def in_arms(rule: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return contexts of the first arm, and of none."""
    found = users_in(rule)
    return found[rule["arms"][0]["resolvedVersionId"]], found[None]


def test_the_rule_matches_the_vectors() -> None:
    for vector in VECTORS:
        rule = {"seed": "s", "bucketBy": "user.id", "arms": [{"start": vector["bucket"], "weight": 1}]}
        if vector["bucket"] is None:
            rule["arms"] = [{"start": 0, "weight": 10_000}]
        assert (choose_arm(rule, vector["context"]) is None) == (vector["bucket"] is None), vector
    assert [bucket("s", key) for key in ("ada", "é", "42")] == [7486, 9492, 1329]


def test_readers_get_the_version_of_their_arm(cast: Cast, rule: dict[str, Any]) -> None:
    live = cast.alice.get("/stored/agents/writer").body["activeVersionId"]
    for version, contexts in users_in(rule).items():
        for context in contexts[:3]:
            for api in (cast.alice, cast.vera, cast.charlie):
                agent = served(api, context=context)
                assert (agent["resolvedVersionId"], agent["activeVersionId"]) == (version or live, live)
                assert agent["fallback"] is None
            listed = cast.charlie.get("/agents", requestContext=encoded(context)).body["writer"]
            assert listed == served(cast.charlie, context=context)
            run = ran(cast.vera, requestContext=context)
            assert run["resolvedVersions"] == {"writer": version or live}


def test_a_choice_does_not_override_selectors_locks_or_records(cast: Cast, rule: dict[str, Any]) -> None:
    [context, *_], _ = in_arms(rule)
    live = cast.alice.get("/stored/agents/writer").body["activeVersionId"]
    assert served(cast.alice, context=context)["instructions"] == "two"
    for query in ({"versionId": live}, {"label": "production"}):
        assert served(cast.alice, context=context, **query)["instructions"] == "one"
    record = cast.vera.get("/stored/agents/writer", requestContext=encoded(context)).body
    assert record["instructions"] == "one"
    lock = cast.alice.post("/locks", {"resources": [{"kind": "agent", "id": "writer"}]}).body
    run = ran(cast.alice, requestContext=context, versions=lock)
    assert run["resolvedVersions"] == {"writer": live}


def test_the_choice_applies_to_blocks(cast: Cast, chooser: ToyChooser) -> None:
    published_block(cast.alice, "tone", "Be brief.")
    draft = PROMPT_BLOCKS.save(cast.alice, "tone", "Be kind.")["latestVersionId"]
    rule = start(PROMPT_BLOCK, "tone", draft)
    published_agent(cast.alice, "writer", BY_NAME)
    chosen, usual = in_arms(rule)
    for contexts, end in ((chosen, "Be kind."), (usual, "Be brief.")):
        for context in contexts[:3]:
            whole = f"Hello, {context.get('userId', 'you')}.\n\n{end}"
            assert served(cast.vera, context=context)["instructions"] == whole
            listed = cast.vera.get("/agents", requestContext=encoded(context)).body
            assert listed["writer"]["instructions"] == whole
            assert get_editor().agent.serve("writer", context=context).instructions == whole
    assert served(cast.alice, context=chosen[0], status="draft")["instructions"].endswith("Be kind.")


def test_the_choice_applies_to_sub_agents(cast: Cast, chooser: ToyChooser) -> None:
    lead, writer = team(cast.alice)
    draft = AGENTS.save(cast.alice, "writer", "chosen")["latestVersionId"]
    [context, *_], [usual, *_] = in_arms(start(AGENT, "writer", draft))
    for _ in range(2):
        assert ran(cast.vera, "lead", requestContext=usual)["resolvedVersions"]["writer"] == writer
        found = ran(cast.vera, "lead", requestContext=context)["resolvedVersions"]
        assert found == {"lead": lead, "writer": draft}


def test_the_choice_applies_to_overrides(cast: Cast, chooser: ToyChooser, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    agents = get_editor().agent
    agents.update("answers", instructions="live")
    draft = agents.update("answers", instructions="chosen", publish=False).version.version_id
    rule = start(AGENT, "answers", draft)
    for contexts, instructions in zip(in_arms(rule), ("chosen", "live"), strict=True):
        assert agents.serve("answers", context=contexts[0]).instructions == instructions
        assert served(cast.alice, "answers", contexts[0])["instructions"] == instructions
        agree(cast.alice, contexts, "answers")


def test_no_version_is_chosen_for_an_unpublished_agent(cast: Cast, rule: dict[str, Any]) -> None:
    [context, *_], _ = in_arms(rule)
    assert cast.alice.post("/stored/agents/writer/unpublish").status == 200
    assert ask(cast.vera, context=context).status == 404
    assert ask(cast.alice, context=context).code == "unpublished"


def test_a_chosen_version_that_the_gate_refuses_or_that_is_missing_is_not_served(
    cast: Cast, rule: dict[str, Any]
) -> None:
    PROMPT_BLOCKS.make(cast.alice, "unpublished", autoPublish=False)
    refused = AGENTS.save(cast.alice, "writer", [reference("unpublished")])["latestVersionId"]
    with pytest.raises(Invalid):
        start(AGENT, "writer", refused)
    contexts, _ = in_arms(rule)
    assert served(cast.alice, context=contexts[0])["instructions"] == "two"
    foreign = cast.alice.get("/stored/agents/other").body["activeVersionId"]
    for gone in (foreign, "00000000-0000-4000-8000-000000000000", "git-0123"):
        contexts, _ = in_arms(start(AGENT, "writer", gone, checked=False))
        assert served(cast.alice, context=contexts[0])["instructions"] == "one"
        agree(cast.alice, contexts)


# Cached


def test_reads_of_other_agents_cost_no_more_than_without_a_choice(
    cast: Cast, chooser: ToyChooser, other: str, rule: dict[str, Any]
) -> None:
    """First reads, repeated ones, with and without a context, and after changes of other resources."""

    def costs() -> list[int]:
        found = []
        for _ in range(2):
            AGENTS.save(cast.alice, "other", [text("{{ userId }}"), reference("plain")])
            get_editor().cache.clear()
            for query in ({}, {"form": "parts"}, {"requestContext": encoded({"userId": "ada"})}):
                found += [statements(partial(cast.edgar.get, "/agents/other", **query)) for _ in range(2)]
            AGENTS.save(cast.alice, "writer", "three")
            found.append(statements(lambda: cast.edgar.get("/agents/other")))
        return found

    costs()
    with_it = costs()
    choice.unregister(chooser)
    without_it = costs()
    choice.register(chooser)
    assert with_it == without_it
    firsts, repeated, after_a_change_elsewhere = with_it[0:6:2], with_it[1:6:2], with_it[6]
    assert (min(firsts) > 0, repeated, after_a_change_elsewhere) == (True, [0, 0, 0], 0)


def test_all_arms_are_cached_together(cast: Cast, rule: dict[str, Any]) -> None:
    published_block(cast.alice, "tone", "Be brief.")
    of_block = start(
        PROMPT_BLOCK, "tone", PROMPT_BLOCKS.save(cast.alice, "tone", "Be kind.")["latestVersionId"]
    )
    published_agent(cast.alice, "greeter", BY_NAME)
    greeter = start(AGENT, "greeter", AGENTS.save(cast.alice, "greeter", BY_NAME[:1])["latestVersionId"])
    first = statements(partial(served, cast.edgar, "greeter", {"userId": "ada"}))
    assert first > 0
    seen = set()
    for user in toy_choice.USERS:
        context = {"userId": user}
        arm = choose_arm(greeter, context) is None, choose_arm(of_block, context) is None
        arm = arm if arm[0] else (False, True)  # that version shows no block
        assert statements(partial(served, cast.edgar, "greeter", context)) == 0
        seen.add(arm)
        shown = ["Be brief." if arm[1] else "Be kind."] if arm[0] else []
        whole = "\n\n".join([f"Hello, {user}.", *shown])
        assert served(cast.edgar, "greeter", context)["instructions"] == whole
    assert len(seen) == 3


def test_the_next_read_reflects_a_change_of_the_rule(cast: Cast, rule: dict[str, Any]) -> None:
    [context, *_], [_, usual, *_] = in_arms(rule)
    draft = rule["arms"][0]["resolvedVersionId"]

    def texts() -> list[str]:
        return [served(cast.edgar, context=one)["instructions"] for one in (context, usual, context, usual)]

    assert texts() == ["two", "one"] * 2
    start(AGENT, "writer", draft, weight=10_000)
    assert texts() == ["two"] * 4
    stop(AGENT, "writer")
    assert texts() == ["one"] * 4
    start(AGENT, "writer", draft)
    assert texts() == ["two", "one"] * 2
    AGENTS.publish(cast.alice, "writer", AGENTS.save(cast.alice, "writer", "three")["latestVersionId"])
    assert texts() == ["two", "three"] * 2


# In parts


def agree(api: Api, contexts: list[dict[str, Any]], agent_id: str = "writer") -> None:
    """Evaluate an agent as clients do, and as the server does."""
    parts = ask(api, agent_id, form="parts").body
    for context in contexts:
        answer = ask(api, agent_id, context)
        with override_settings(EDITOR_CACHE_BYTES=0):
            uncached = ask(api, agent_id, context)
        assert json.dumps(evaluate(parts, context)) == json.dumps(uncached.body) == json.dumps(answer.body)
        assert answer.etag == uncached.etag


def test_clients_choose_as_the_server_does(cast: Cast, rule: dict[str, Any]) -> None:
    published_block(cast.alice, "tone", "Be brief.")
    published_block(cast.alice, "extra", "More.")
    kind = PROMPT_BLOCKS.save(cast.alice, "tone", "{{ userId }}: be kind.")["latestVersionId"]
    start(PROMPT_BLOCK, "tone", kind, weight=5_000)
    schema = {"type": "object", "required": ["plan"]}
    first = published_agent(cast.alice, "greeter", BY_NAME, requestContextSchema=schema)
    arms = [
        AGENTS.save(cast.alice, "greeter", [*BY_NAME, reference("extra")], name="Second")["latestVersionId"],
        AGENTS.save(cast.alice, "greeter", [text("Third."), reference("gone")])["latestVersionId"],
    ]
    start(AGENT, "greeter", *arms, first, checked=False)
    users = [
        {},
        {"userId": ""},
        {"userId": 42},
        {"userId": 1.0},
        *({"userId": one} for one in toy_choice.USERS),
    ]
    for api in (cast.alice, cast.vera):
        agree(api, users, "greeter")
        agree(api, users, "other")
    parts = ask(cast.vera, "greeter", form="parts").body
    assert [arm["omittedBlocks"] for arm in parts["rollout"]["arms"]] == [{}, {"gone": "missing"}, {}]
    assert list(parts["blockRollouts"]) == ["tone"]
    draft = ask(cast.alice, "greeter", form="parts", status="draft").body
    assert (draft["rollout"], draft["blockRollouts"]) == (None, {})


def test_parts_are_refused_for_choices_that_clients_cannot_evaluate(
    cast: Cast, chooser: ToyChooser, rule: dict[str, Any]
) -> None:
    chooser.has_parts = False
    get_editor().cache.clear()
    refused = ask(cast.alice, form="parts")
    assert (refused.status, refused.code) == (409, "parts_unavailable")
    assert ask(cast.alice, form="parts", status="draft").status == 200
    agree(cast.alice, [{}, {"userId": "ada"}], "other")
