"""Records of agents and prompt blocks: creating and reading them."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Api, Kind
from tests.support.remote import connected
from tests.support.service import Service

pytestmark = pytest.mark.both_kinds

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

RECORD_MEMBERS = {
    "id",
    "workspaceId",
    "status",
    "activeVersionId",
    "latestVersionId",
    "resolvedVersionId",
    "hasDraft",
    "authorId",
    "metadata",
    "createdAt",
    "updatedAt",
    "isFavorited",
    "favoriteCount",
}


def test_a_record_holds_author_workspace_and_version_ids(alice: Api, kind: Kind) -> None:
    made = kind.make(alice, metadata={"team": "one"})
    found = alice.get(kind.url("writer")).body
    assert {name: made[name] for name in found} == found
    expected_members = RECORD_MEMBERS | {"name", kind.text}
    if kind is AGENTS:
        expected_members |= {"visibility"}
    assert set(found) == expected_members
    assert (found["id"], found["workspaceId"], found["authorId"]) == ("writer", "acme", "alice")
    assert (found["status"], found["activeVersionId"], found["hasDraft"]) == ("draft", None, True)
    assert UUID.fullmatch(found["latestVersionId"])
    assert found["resolvedVersionId"] == found["latestVersionId"]
    assert (found["name"], found[kind.text], found["metadata"]) == ("Writer", "one", {"team": "one"})
    assert found.get("visibility") == ("private" if kind is AGENTS else None)


def test_dates_are_iso_8601_in_utc_with_milliseconds(alice: Api, kind: Kind) -> None:
    made = kind.make(alice)
    label = alice.put(kind.url("writer", "labels", "stable"), {"versionId": made["latestVersionId"]}).body
    [version] = kind.versions(alice)
    dates = [made["createdAt"], made["updatedAt"], version["createdAt"], label["updatedAt"]]
    assert [date for date in dates if not TIME.fullmatch(date)] == []
    assert made["createdAt"] <= made["updatedAt"] <= label["updatedAt"]


def test_a_save_moves_the_time_of_the_update_and_not_that_of_the_creation(alice: Api, kind: Kind) -> None:
    made = kind.make(alice)
    saved = kind.save(alice)
    assert saved["createdAt"] == made["createdAt"] and saved["updatedAt"] >= made["updatedAt"]


def test_creating_answers_201_with_the_url_of_the_resource(alice: Api, kind: Kind) -> None:
    for resource_id in ("writer", "team/ünïcode & co"):
        answer = alice.post(kind.path, kind.body(id=resource_id))
        assert (answer.status, answer.headers["Location"]) == (201, f"/api{kind.url(resource_id)}")
        found = alice.get(answer.headers["Location"].removeprefix("/api"), status="draft")
        assert (found.status, found.body["id"]) == (200, resource_id)


def test_the_default_id_is_derived_from_the_name(alice: Api, kind: Kind) -> None:
    name = "  The  2nd Writer!"
    answer = alice.post(kind.path, {**kind.body(), "name": name})
    assert (answer.status, answer.body["id"], answer.body["name"]) == (201, "the-2nd-writer", name)
    for name in ("東京", "versions"):
        answer = alice.post(kind.path, {**kind.body(), "name": name})
        assert (answer.status, answer.code, answer.fields) == (400, "validation_failed", ["id"])


def test_an_id_with_a_slash_works_in_every_route_below_it(alice: Api, kind: Kind) -> None:
    first = kind.make(alice, "team/a b/ü")["latestVersionId"]
    second = kind.save(alice, "team/a b/ü")["latestVersionId"]
    for base in (kind.url("team/a b/ü"), f"{kind.path}/team/a%20b/%C3%BC"):
        kind.publish(alice, "team/a b/ü", second)
        assert alice.get(base).body["activeVersionId"] == second
        assert alice.get(f"{base}/versions").body["total"] == 2
        assert alice.get(f"{base}/versions/{first}").body["versionNumber"] == 1
        assert alice.get(f"{base}/dependents").body == {"dependents": [], "hiddenCount": 0}
        assert alice.put(f"{base}/labels/stable", {"versionId": first}).body["versionId"] == first
        assert alice.delete(f"{base}/labels/stable").status == 200
        assert alice.post(f"{base}/export").body[kind.id_key] == "team/a b/ü"
        assert alice.post(f"{base}/unpublish").body["id"] == "team/a b/ü"
    assert alice.delete(f"{kind.path}/team/a%20b/%C3%BC").status == 200


@pytest.mark.processes
def test_a_real_server_takes_a_slash_in_an_id_encoded_or_plain(live_service: Service, kind: Kind) -> None:
    with connected(live_service) as api:
        made = kind.make(api, "team/ü%25/日 本")["latestVersionId"]
        for base in (kind.url("team/ü%25/日 本"), f"{kind.path}/team/{quote('ü%25/日 本')}"):
            assert api.patch(base, {"name": base}).body["name"] == base
            assert api.get(base, status="draft").body["id"] == "team/ü%25/日 本"
            assert api.get(f"{base}/versions/{made}").body[kind.id_key] == "team/ü%25/日 本"
        assert api.delete(kind.url("team/ü%25/日 本")).status == 200


TEXTS = [
    "  \ttwo\r\nlines\n\n ",
    "e\u0301 is not \u00e9",
    "\u200b\u200d\u2060\ufeff\u00ad",
    "\u202eright to left\u202c \u2028 \u2029 \u0085",
    "👩‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿 \U0010fffd",
    "\ufffe\uffff\ufdd0",
    "\x01\x07\x1b[31m\x7f\x9f",
    '{{ path || "x" }} <script>&amp;</script> \\u0041 \\" %s ${x}',
    "\u0130\u0131\u017f\u212a ß STRASSE",
]


def test_text_is_returned_byte_for_byte(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    for text in TEXTS:
        x = f"x{text}x"
        fields = {kind.text: x, "name": x, "description": text, "metadata": {"k": text, x: 1}}
        assert alice.patch(kind.url("writer"), {"metadata": None}).status == 200
        assert alice.patch(kind.url("writer"), fields).status == 200
        found = alice.get(kind.url("writer")).body
        assert {name: found[name] for name in fields} == fields
        assert kind.versions(alice)[0][kind.text] == x


def test_a_null_on_creation_is_a_field_that_is_not_set(alice: Api, kind: Kind) -> None:
    made = kind.make(alice, description=None, requestContextSchema=None, metadata=None, changeMessage=None)
    assert "description" not in made and "requestContextSchema" not in made and made["metadata"] == {}
    [version] = kind.versions(alice)
    assert sorted(version["changedFields"]) == sorted(["name", kind.text])


def test_missing_required_fields_are_named(alice: Api, kind: Kind) -> None:
    answer = alice.post(kind.path, {})
    assert (answer.status, answer.code) == (400, "validation_failed")
    assert answer.fields == sorted(["name", kind.text])


def test_instructions_may_not_be_blank(alice: Api) -> None:
    for blank in ("", " \n\t", [], [{"type": "text", "content": " "}]):
        answer = alice.post(AGENTS.path, {"name": "Writer", "instructions": blank})
        assert (answer.status, answer.fields) == (400, ["instructions"])


def test_a_taken_id_is_409_and_leaves_the_original_untouched(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    before, versions = cast.alice.get(kind.url("writer")), kind.versions(cast.alice)
    for caller in (cast.alice, cast.edgar, cast.charlie):
        answer = caller.post(kind.path, kind.body("usurper", id="writer"))
        assert (answer.status, answer.code) == (409, "id_taken")
    after = cast.alice.get(kind.url("writer"))
    assert (after.body, after.etag, kind.versions(cast.alice)) == (before.body, before.etag, versions)
    assert cast.alice.get(kind.path, status="all").body["total"] == 1


def test_a_failed_creation_does_not_reserve_the_id(alice: Api) -> None:
    body = AGENTS.body(id="writer", autoPublish=True)
    missing = [{"type": "prompt_block_ref", "id": "missing"}]
    refused = alice.post(AGENTS.path, {**body, "instructions": missing})
    assert (refused.status, refused.fields) == (400, ["instructions.0.id"])
    assert alice.get(AGENTS.url("writer"), status="draft").status == 404
    assert alice.post(AGENTS.path, body).status == 201
    assert [version["versionNumber"] for version in AGENTS.versions(alice)] == [1]


def test_an_unknown_query_parameter_is_named(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    for name in ("Status", "version", "resolve"):
        answer = alice.get(kind.url("writer"), **{name: "published"})
        assert (answer.status, answer.fields) == (400, [name])
