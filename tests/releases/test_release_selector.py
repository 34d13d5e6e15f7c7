"""`release=<id>`: what would be served if the release were published now, blocks and sub-agents included."""

from __future__ import annotations

from typing import Any

from tests.conftest import Cast
from tests.releases.conftest import Pair, item, make, publish
from tests.support.api import AGENTS, PROMPT_BLOCKS
from tests.support.runs import agent, noticed, ran
from tests.support.served import reference
from versioning.conf import get_framework


def test_agents_are_served_as_if_the_release_were_published(cast: Cast, pair: Pair) -> None:
    release = make(cast.paula, *pair.items())
    seen = cast.edgar.get("/agents/writer", release=release["id"]).body
    assert (seen["instructions"], seen["resolvedVersionId"]) == ("new\n\nnew", pair.new["writer"])
    assert seen["selector"] == {"release": release["id"]}
    assert [block["versionId"] for block in seen["blocks"] if block["id"]] == [pair.new["tone"]]
    parts = cast.edgar.get("/agents/writer", release=release["id"], form="parts").body
    assert parts["promptBlocks"]["tone"]["versionId"] == pair.new["tone"]
    record = cast.edgar.get(PROMPT_BLOCKS.url("tone"), release=release["id"]).body
    assert (record["content"], record["activeVersionId"]) == ("new", pair.old["tone"])
    assert cast.edgar.get("/agents/writer").body["instructions"] == "old\n\nold"
    publish(cast.paula, release)
    assert cast.vera.get("/agents/writer").body["instructions"] == seen["instructions"]


def test_resources_outside_the_release_are_served_live(cast: Cast, pair: Pair) -> None:
    release = make(cast.paula, *pair.items()[1:])
    seen = cast.edgar.get("/agents/writer", release=release["id"]).body
    assert (seen["instructions"], seen["resolvedVersionId"]) == ("old\n\nnew", pair.old["writer"])


def test_the_current_items_of_a_release_are_served_after_changes(cast: Cast, pair: Pair) -> None:
    release = make(cast.paula, *pair.items())["id"]
    assert cast.edgar.get("/agents/writer", release=release).body["instructions"] == "new\n\nnew"
    PROMPT_BLOCKS.save(cast.edgar, "tone", "newest")
    assert cast.edgar.get("/agents/writer", release=release).body["instructions"] == "new\n\nnew"
    cast.edgar.patch(f"/releases/{release}", {"items": pair.items()[:1]})
    assert cast.edgar.get("/agents/writer", release=release).body["instructions"] == "new\n\nold"
    cast.edgar.delete(f"/releases/{release}")
    assert cast.edgar.get("/agents/writer", release=release).status == 404


def test_blocks_that_the_release_unpublishes_are_omitted(cast: Cast, pair: Pair) -> None:
    release = make(cast.paula, item(PROMPT_BLOCKS, "tone", action="unpublish"))["id"]
    seen = cast.edgar.get("/agents/writer", release=release).body
    assert (seen["instructions"], [one["code"] for one in seen["warnings"]]) == ("old", ["block_unpublished"])
    away = make(cast.paula, item(AGENTS, "writer", action="unpublish"))["id"]
    assert cast.edgar.get("/agents/writer", release=away).code == "unpublished"


def test_a_release_cannot_be_combined_with_another_selector(cast: Cast, pair: Pair) -> None:
    release = make(cast.paula, *pair.items())["id"]
    answer = cast.edgar.get("/agents/writer", release=release, status="published")
    assert (answer.status, answer.fields) == (400, ["release", "status"])


def test_a_run_uses_sub_agents_of_the_release(cast: Cast) -> None:
    agent(cast.alice, "writer", "writer old")
    agent(cast.alice, "lead", "lead old", agents={"writer": {}})
    AGENTS.make(cast.alice, "newcomer", "newcomer", model={"provider": "echo", "name": "echo"})
    for agent_id, more in {"writer": {}, "lead": {"agents": {"newcomer": {}, "writer": {}}}}.items():
        cast.alice.patch(AGENTS.url(agent_id), {"instructions": f"{agent_id} new", **more})
    release = make(cast.paula, *(item(AGENTS, one) for one in ("lead", "writer", "newcomer")))["id"]
    versions = {
        one["resource"]["id"]: one["versionId"]
        for one in cast.edgar.get(f"/releases/{release}").body["items"]
    }
    by_query = ran(cast.edgar, "lead", query={"release": release})
    by_body = ran(cast.edgar, "lead", versions={"self": {"release": release}})
    assert by_query["resolvedVersions"] == by_body["resolvedVersions"] == versions
    explicit = ran(
        cast.edgar,
        "lead",
        query={"release": release},
        versions={"agents": {"writer": {"status": "published"}}},
    )
    assert explicit["resolvedVersions"]["writer"] != versions["writer"]
    one = ran(cast.edgar, "lead", versions={"agents": {"writer": {"release": release}}})
    assert one["resolvedVersions"]["writer"] == versions["writer"]
    assert one["resolvedVersions"]["lead"] != versions["lead"]
    viewer = ran(cast.vera, "lead", versions={"agents": {"writer": {"release": release}}})
    assert noticed(viewer) == [("version_unresolved", "versions.agents.writer")]


def test_the_selector_applies_to_export_clone_and_python(cast: Cast, pair: Pair, settings: Any) -> None:
    release = make(cast.paula, *pair.items())["id"]
    exported = cast.edgar.request("POST", PROMPT_BLOCKS.url("tone", "export"), query={"release": release})
    assert exported.body["config"]["content"] == "new"
    cloned = cast.edgar.request(
        "POST", PROMPT_BLOCKS.url("tone", "clone"), {"newId": "copy"}, query={"release": release}
    )
    assert cloned.body["content"] == "new"
    assert "new\n\nnew" in str(get_framework().get_agent_by_id("writer", release=release).instructions)


def test_blocks_of_a_new_agent_are_shown_as_soon_as_the_release_holds_them(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", "never live")
    AGENTS.make(cast.alice, "writer", [reference("tone")])
    release = make(cast.paula, item(AGENTS, "writer"), item(PROMPT_BLOCKS, "tone"))["id"]
    assert cast.edgar.get("/agents/writer", release=release).body["instructions"] == "never live"
