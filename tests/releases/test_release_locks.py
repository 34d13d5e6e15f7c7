"""Locks of what a release would publish: for callers who may read drafts, until it is published."""

from __future__ import annotations

from tests.conftest import Cast
from tests.releases.conftest import Pair, item, make, publish
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.locks import by_lock, lock, locked
from tests.support.runs import ECHO, agent, run


def test_a_lock_holds_the_versions_that_the_release_would_publish(cast: Cast, pair: Pair) -> None:
    cast.alice.patch(AGENTS.url("writer"), {"model": ECHO})
    agent(cast.alice, "lead", "Lead.", agents={"writer": {}})
    release = make(cast.paula, item(AGENTS, "writer"), item(PROMPT_BLOCKS, "tone"))
    selector = {"release": release["id"]}
    made = locked(cast.edgar, "lead", selector=selector)
    writer, tone = (one["versionId"] for one in release["items"])
    assert made["agents"]["writer"]["versionId"] == writer
    assert made["promptBlocks"]["tone"]["versionId"] == tone
    block = lock(cast.edgar, ("promptBlock", "tone"), selector=selector).body
    assert block["promptBlocks"] == made["promptBlocks"]
    before = by_lock(cast.edgar, made)
    assert before["toolResults"][0]["result"] == "new\n\nnew\n\nhello"
    assert lock(cast.vera, ("agent", "lead"), selector=selector).status in {403, 404}
    broken = run(cast.vera, "lead", versions=made)
    assert (broken.status, broken.body["names"]) == (424, ["writer"])
    assert publish(cast.paula, release).status == 200
    assert by_lock(cast.vera, made)["toolResults"] == by_lock(cast.edgar, made)["toolResults"]
    AGENTS.save(cast.alice, "writer", "newest", autoPublish=True)
    PROMPT_BLOCKS.save(cast.alice, "tone", "newest", autoPublish=True)
    assert by_lock(cast.edgar, made)["toolResults"][0]["result"] == "new\n\nnew\n\nhello"


def test_resources_that_the_release_unpublishes_are_not_in_the_lock(cast: Cast, pair: Pair) -> None:
    cast.alice.patch(AGENTS.url("writer"), {"model": ECHO, "autoPublish": True})
    agent(cast.alice, "lead", "Lead.", agents={"writer": {}})
    gone = make(
        cast.paula,
        *(
            item(kind, one, action="unpublish")
            for kind, one in (
                (AGENTS, "writer"),
                (PROMPT_BLOCKS, "tone"),
            )
        ),
    )
    made = locked(cast.edgar, "lead", selector={"release": gone["id"]})
    assert (made["agents"].keys(), made["promptBlocks"]) == ({"lead"}, {})
