"""Who sees which event: a table of actions and of viewers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.people import give_role, key_of, person
from versioning.conf import get_editor
from versioning.domain.access import Role
from versioning.models import ApiKey, caller_for, events

DRAFTS = {"alice", "paula", "edgar", "root"}
MEMBERS = DRAFTS | {"vera", "ci"}
ALL = MEMBERS | {"charlie"}
ADMINS = {"alice", "root"}

Action = Callable[[Api, Kind, str], Any]


def viewers(cast: Cast) -> dict[str, Api]:
    """Return the viewers by name; `ci` is a key of alice's with the rights of a viewer."""
    names = ("alice", "paula", "edgar", "vera", "charlie", "root")
    ci = key_of("alice", workspace="acme", role="viewer")
    return {"ci": ci, **{name: getattr(cast, name) for name in names}}


def seen(api: Api, **query: Any) -> list[dict[str, Any]]:
    answer = api.get("/events", limit=1000, **query)
    assert answer.status == 200, answer.body
    return list(answer.body["events"])


def who_sees_each(cast: Cast, positions: Sequence[int]) -> list[set[str]]:
    seen_by = {
        name: {one["position"] for one in seen(api, after=positions[0] - 1)}
        for name, api in viewers(cast).items()
    }
    return [{name for name, found in seen_by.items() if one in found} for one in positions]


def make(**more: Any) -> Action:
    return lambda api, kind, name: kind.make(api, name, **more)


def save(**more: Any) -> Action:
    return lambda api, kind, name: api.patch(kind.url(name), more)


def publish(api: Api, kind: Kind, name: str) -> None:
    kind.publish(api, name, kind.versions(api, name)[0]["id"])


def unpublish(api: Api, kind: Kind, name: str) -> None:
    api.post(kind.url(name, "unpublish"))


def label(*, released: bool) -> Action:
    def put(api: Api, kind: Kind, name: str) -> None:
        body = {"versionId": kind.versions(api, name)[-1]["id"], "released": released}
        assert api.put(kind.url(name, "labels", "canary"), body).status == 200

    return put


def unlabel(api: Api, kind: Kind, name: str) -> None:
    assert api.delete(kind.url(name, "labels", "canary")).status == 200


def delete_draft(api: Api, kind: Kind, name: str) -> None:
    newest = kind.versions(api, name)[0]["id"]
    assert api.delete(kind.url(name, "versions", newest)).status == 200


def delete(api: Api, kind: Kind, name: str = "writer") -> None:
    assert api.delete(kind.url(name)).status == 200


LIVE = make(autoPublish=True)
OPEN = make(autoPublish=True, visibility="public")
DRAFTED = save(name="new", autoPublish=False)
CLOSED = save(visibility="private")

Table = dict[str, tuple[list[Action], str, set[str]]]

OF_BOTH: Table = {
    "made": ([make()], "created", DRAFTS),
    "saved": ([LIVE, DRAFTED], "versionCreated", DRAFTS),
    "published": ([make(), publish], "published", MEMBERS),
    "published before it was unpublished": ([LIVE, unpublish], "published", DRAFTS),
    "unpublished": ([LIVE, unpublish], "unpublished", MEMBERS),
    "published again": ([LIVE, save(name="new", autoPublish=True), unpublish], "published", MEMBERS),
    "metadata of what is live": ([LIVE, save(metadata={"a": 1})], "updated", MEMBERS),
    "metadata of a draft": ([make(), save(metadata={"a": 1})], "updated", DRAFTS),
    "a label": ([LIVE, label(released=False)], "labelMoved", DRAFTS),
    "a label removed": ([LIVE, label(released=False), unlabel], "labelRemoved", DRAFTS),
    "a released label": ([LIVE, label(released=True)], "labelMoved", MEMBERS),
    "a released label of a draft": ([make(), label(released=True)], "labelMoved", MEMBERS),
    "a label withdrawn": ([make(), label(released=True), label(released=False)], "labelMoved", MEMBERS),
    "a released label removed": ([make(), label(released=True), unlabel], "labelRemoved", MEMBERS),
    "a version deleted": (
        [LIVE, save(name="new", autoPublish=False), delete_draft],
        "versionDeleted",
        DRAFTS,
    ),
    "deleted while live": ([LIVE, delete], "deleted", MEMBERS),
    "deleted as a draft": ([make(), delete], "deleted", DRAFTS),
    "deleted while it was released": ([make(), label(released=True), delete], "deleted", MEMBERS),
    "all of what is deleted": ([LIVE, delete], "published", DRAFTS),
}

OF_AGENTS: Table = {
    "made public": ([OPEN], "created", DRAFTS),
    "published to everyone": ([OPEN], "published", ALL),
    "unpublished for everyone": ([OPEN, unpublish], "unpublished", ALL),
    "released to everyone": ([make(visibility="public"), label(released=True)], "labelMoved", ALL),
    "opened": ([LIVE, save(visibility="public")], "updated", ALL),
    "closed": ([OPEN, CLOSED], "updated", ALL),
    "closed while it is a draft": (
        [make(visibility="public"), CLOSED],
        "updated",
        DRAFTS,
    ),
    "closed while it is released": (
        [make(visibility="public"), label(released=True), CLOSED],
        "updated",
        ALL,
    ),
    "published before it was closed": ([OPEN, CLOSED], "published", MEMBERS),
    "deleted for everyone": ([OPEN, delete], "deleted", ALL),
    "saved of what is public": ([OPEN, DRAFTED], "versionCreated", DRAFTS),
}


def check_each(cast: Cast, kind: Kind, table: Table) -> None:
    """Perform each action of the table on a separate resource, and compare who sees its last event."""
    positions = {}
    for case, (actions, what, _) in table.items():
        for action in actions:
            action(cast.alice, kind, case)
        positions[case] = max(
            entry.position
            for entry in events.entries(0)
            if entry.type.endswith(f".{what}") and entry.resource_id == case
        )
    found = who_sees_each(cast, list(positions.values()))
    expected = {case: readers for case, (_, _, readers) in table.items()}
    assert dict(zip(table, found, strict=True)) == expected


def test_events_about_a_resource_reach_the_listed_viewers(cast: Cast, kind: Kind) -> None:
    check_each(cast, kind, OF_BOTH)


def test_events_about_a_public_agent_reach_the_listed_viewers(cast: Cast) -> None:
    check_each(cast, AGENTS, OF_AGENTS)


def test_admins_see_events_about_the_workspace(cast: Cast) -> None:
    alice = caller_for(User.objects.get(username="alice"))
    start = events.position()
    workspaces = get_editor().workspace
    get_editor().invitation.invite("acme", "nora", Role.VIEWER, by=alice)
    give_role("vera", "acme", "editor")
    give_role("vera", "acme", "viewer")
    key, _ = get_editor().key.issue(workspace_id="acme", name="CI", role=Role.VIEWER, by=alice)
    get_editor().key.revoke(key.prefix, by=alice)
    workspaces.rename("acme", "ACME", by=alice)
    workspaces.remove("acme", "paula", by=alice)
    made = range(start + 1, events.position() + 1)
    assert len(made) == 7
    assert who_sees_each(cast, made) == [ADMINS] * 7
    secret = str([vars(event) for event in events.entries(0)])
    assert cast.alice.key not in secret and "ei_" not in secret


def test_the_creation_of_an_unlimited_key_is_shown_to_superusers_only(cast: Cast) -> None:
    ApiKey.objects.issue(person("lena"))
    assert who_sees_each(cast, [events.position()]) == [{"root"}]
    event = seen(cast.root, type="key.created")[0]
    assert event["workspaceId"] is None


def test_a_limited_key_of_a_superuser_sees_only_the_events_of_its_limit(cast: Cast) -> None:
    AGENTS.make(cast.alice, autoPublish=True)
    limited = key_of("root", workspace="elsewhere", role="admin")
    viewer = key_of("root", role="viewer")
    assert [event["resource"] for event in seen(limited)] == [None]  # the key itself
    assert {event["type"] for event in seen(viewer)} == {"agent.published"}


def test_former_members_see_no_events_of_the_workspace(cast: Cast) -> None:
    AGENTS.make(cast.alice, autoPublish=True)
    assert seen(cast.edgar) != []
    get_editor().workspace.remove("acme", "edgar")
    assert seen(cast.edgar) == []


# Earlier lives


def test_events_of_a_deleted_resource_are_shown_to_members_of_its_workspace_only(
    cast: Cast, kind: Kind
) -> None:
    public = {"visibility": "public"} if kind is AGENTS else {}
    kind.make(cast.alice, autoPublish=True, **public)
    kind.save(cast.alice, autoPublish=True)
    delete(cast.alice, kind)
    before = [event["type"].partition(".")[2] for event in seen(cast.charlie)]
    assert before == (["published", "deleted"] if public else [])
    vera = seen(cast.vera)
    kind.make(cast.charlie, workspaceId="elsewhere", autoPublish=True)
    assert {event["workspaceId"] for event in seen(cast.charlie)} == {"elsewhere"}
    assert seen(cast.vera) == vera
    assert {event["workspaceId"] for event in seen(cast.alice)} == {"acme"}


# Blocks that agents show


def shows(*ids: str) -> list[dict[str, str]]:
    return [{"type": "prompt_block_ref", "id": one} for one in ids]


CHANGES: dict[str, Callable[[Api], Any]] = {
    "published": lambda api: PROMPT_BLOCKS.save(api, "tone", autoPublish=True),
    "unpublished": lambda api: api.post(PROMPT_BLOCKS.url("tone", "unpublish")),
    "deleted": lambda api: api.delete(PROMPT_BLOCKS.url("tone")),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_a_block_is_an_event_for_readers_of_agents_that_show_it(cast: Cast, what: str) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", autoPublish=True)
    PROMPT_BLOCKS.make(cast.alice, "other", autoPublish=True)
    AGENTS.make(cast.alice, "open", shows("tone"), visibility="public", autoPublish=True)
    AGENTS.make(cast.alice, "closed", shows("tone"), autoPublish=True)
    AGENTS.make(cast.alice, "draft", shows("tone"), visibility="public")
    AGENTS.make(cast.alice, "unlike", shows("other"), visibility="public", autoPublish=True)
    start = events.position()
    assert CHANGES[what](cast.alice)
    [told] = seen(cast.charlie, after=start)
    assert (told["type"], told["resource"]) == ("agent.updated", {"kind": "agent", "id": "open"})
    assert told["detail"] == {"fields": ["instructions"]}
    assert told["actor"] == {"id": None, "via": "api", "keyPrefix": None}
    assert "tone" not in str(told)
    for reader in (cast.vera, cast.root):
        [own] = [event for event in seen(reader, after=start) if event["position"] == told["position"]]
        assert (own["type"], own["resource"]["id"]) == (f"promptBlock.{what}", "tone")


def test_an_invisible_change_of_a_block_is_no_event_for_readers_of_agents(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", autoPublish=True)
    AGENTS.make(cast.alice, "open", shows("tone"), visibility="public", autoPublish=True)
    start = events.position()
    PROMPT_BLOCKS.save(cast.alice, "tone", text="a draft")
    cast.alice.patch(PROMPT_BLOCKS.url("tone"), {"metadata": {"a": 1}})
    assert seen(cast.charlie, after=start) == []


def test_a_change_of_a_block_is_an_event_in_other_workspaces_that_were_granted_it(cast: Cast) -> None:
    person("dual", acme="publisher", elsewhere="publisher")
    dual, reader = key_of("dual"), person("reader", elsewhere="viewer")
    PROMPT_BLOCKS.make(cast.alice, "tone", autoPublish=True)
    AGENTS.make(dual, "theirs", shows("tone"), workspaceId="elsewhere", autoPublish=True)
    start = events.position()
    PROMPT_BLOCKS.save(cast.alice, "tone", autoPublish=True)
    for stranger in (cast.charlie, key_of(reader.username)):
        [told] = seen(stranger, after=start, kind="agent")
        assert (told["resource"]["id"], told["workspaceId"]) == ("theirs", "elsewhere")
    assert {event["type"].partition(".")[0] for event in seen(dual, after=start)} == {"promptBlock"}
    assert seen(cast.alice, after=start, kind="agent") == []


# Agents that code defines


def test_events_about_an_override_reach_all_readers_of_the_agent(cast: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    for agent_id in ("answers", "hidden") * 2:
        body = {"instructions": "over the code", "autoPublish": True}
        assert cast.root.patch(AGENTS.url(agent_id), body).status == 200
        assert cast.root.delete(AGENTS.url(agent_id)).status == 200
    told = [(event["type"], event["resource"]["id"]) for event in seen(cast.charlie)]
    assert told == [("agent.published", "answers"), ("agent.deleted", "answers")] * 2


# How many statements a page costs


def test_a_page_costs_a_constant_number_of_statements_for_all_callers(cast: Cast) -> None:
    def cost(api: Api) -> int:
        with CaptureQueriesContext(connection) as statements:
            seen(api)
        return len(statements)

    everybody = [cast.alice, cast.vera, cast.charlie, cast.root]
    AGENTS.make(cast.alice, "a", visibility="public", autoPublish=True)
    for api in everybody:
        seen(api)  # notes the use of the key
    few = [cost(api) for api in everybody]
    for number in range(8):
        AGENTS.make(cast.alice, f"b{number}", visibility="public", autoPublish=True)
    assert [cost(api) for api in everybody] == few
    assert max(few) <= 6


def test_events_of_a_label_do_not_reveal_drafts_that_it_pointed_to_or_will(cast: Cast, kind: Kind) -> None:
    more = {"visibility": "public"} if kind is AGENTS else {}
    kind.make(cast.alice, autoPublish=True, **more)
    for text in ("two", "three"):
        kind.save(cast.alice, text=text)
    three, two, one = (version["id"] for version in kind.versions(cast.alice))
    for version, released in ((three, False), (one, True), (two, False)):
        body = {"versionId": version, "released": released}
        assert cast.alice.put(kind.url("writer", "labels", "canary"), body).status == 200
    for told in (seen(cast.charlie), seen(cast.vera)):
        named = {event[name] for event in told for name in ("versionId", "previousVersionId")}
        assert not {three, two} & named
    assert [event["detail"]["released"] for event in told if event["label"]] == [True, False]
    moves = [event["versionId"] for event in seen(cast.alice) if event["label"]]
    assert moves == [three, one, one, one, two]
