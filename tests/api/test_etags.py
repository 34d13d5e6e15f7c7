"""Entity tags: one for all selectors, another after any change, and when a read is answered with 304."""

from __future__ import annotations

import re
from itertools import product

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api, Kind
from tests.support.calls import make_history, undone
from tests.support.changes import CHANGES, add_version, publish, restore, save_metadata
from tests.support.people import give_role

STRONG_TAG = re.compile(r'"[!#-~]+"')

READS = ["", "?status=published", "?status=draft", "?versionId={historical}", "?label=first"]


def record(kind: Kind, api: Api) -> Answer:
    answer = api.get(kind.url("writer"), status="draft")
    assert answer.status == 200
    return answer


def etag(kind: Kind, api: Api) -> str:
    return record(kind, api).etag


def read_again(api: Api, path: str, given: str) -> Answer:
    """Read unless the entity tag is still the given one."""
    return api.request("GET", path, if_none_match=given)


def test_a_record_has_one_etag_for_all_selectors(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice)
    answers = [alice.get(kind.url("writer") + query.format(**vars(history))) for query in READS]
    assert len({answer.body["resolvedVersionId"] for answer in answers}) == 4
    [shared] = {answer.etag for answer in answers}
    assert STRONG_TAG.fullmatch(shared)


def test_answers_to_changes_carry_the_etag_of_the_record(alice: Api, kind: Kind) -> None:
    made = alice.post(kind.path, kind.body(id="writer"))
    assert made.etag == etag(kind, alice)
    saved = alice.patch(kind.url("writer"), {kind.text: "two"})
    assert saved.etag == etag(kind, alice)
    label = alice.put(kind.url("writer", "labels", "stable"), {"versionId": saved.body["resolvedVersionId"]})
    assert label.etag == etag(kind, alice)
    assert alice.post(kind.url("writer", "unpublish")).etag == etag(kind, alice)
    copy = alice.request("POST", kind.url("writer", "clone"), {"newId": "copy"}, query={"status": "draft"})
    assert copy.etag == alice.get(kind.url("copy")).etag


def test_the_etag_changes_with_anything_about_the_resource(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice)
    before = etag(kind, alice)
    for change in CHANGES:
        with undone():
            assert change(kind, alice, history).status in {200, 201}
            after = etag(kind, alice)
            assert after != before, change
            address = kind.url("writer") + "?status=draft"
            assert read_again(alice, address, before).status == 200, change
            assert read_again(alice, address, after).status == 304, change


def test_the_etag_changes_with_the_visibility(alice: Api) -> None:
    made = alice.post(AGENTS.path, AGENTS.body(id="writer"))
    assert alice.patch(AGENTS.url("writer"), {"visibility": "public"}).etag != made.etag


def test_the_etag_stays_the_same_while_nothing_changes(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice, metadata={"a": 1})
    before = etag(kind, alice)
    kind.publish(alice, "writer", history.published)
    assert save_metadata(kind, alice, history).status == 200
    assert alice.patch(kind.url("writer"), {kind.text: "draft words"}).etag == before
    kind.make(alice, "other")
    assert etag(kind, alice) == before


@pytest.mark.database
def test_an_etag_is_never_reused(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice)
    seen = {etag(kind, alice)}
    for version_id in (history.draft, history.published, history.draft):
        kind.publish(alice, "writer", version_id)
        seen.add(etag(kind, alice))
    for value in (1, None, 1, None):
        alice.patch(kind.url("writer"), {"metadata": {"a": value}})
        seen.add(etag(kind, alice))
    assert len(seen) == 8


@pytest.mark.database
def test_a_resource_recreated_under_the_same_id_has_another_etag(alice: Api, kind: Kind) -> None:
    body = kind.body(id="writer")
    before = alice.post(kind.path, body)
    assert alice.delete(kind.url("writer")).status == 200
    after = alice.post(kind.path, body)
    assert after.etag != before.etag
    assert alice.patch(kind.url("writer"), {kind.text: "two"}, if_match=before.etag).status == 412
    assert read_again(alice, kind.url("writer"), before.etag).status == 200


def test_identical_resources_have_different_etags(alice: Api, kind: Kind) -> None:
    assert alice.post(kind.path, kind.body(id="a")).etag != alice.post(kind.path, kind.body(id="b")).etag


def test_a_read_with_the_current_etag_is_304_without_a_body(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice)
    current = etag(kind, alice)
    for query, given in product(READS, (current, f'"other", {current}', f"W/{current}")):
        answer = read_again(alice, kind.url("writer") + query.format(**vars(history)), given)
        assert (answer.status, answer.body, answer.etag) == (304, None, current)
        assert answer.headers.get("Content-Length", "0") == "0"


def test_if_none_match_star_matches_any_existing_resource(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    answer = read_again(alice, kind.url("writer"), "*")
    assert (answer.status, answer.body) == (304, None)
    assert read_again(alice, kind.url("nobody"), "*").status == 404


def test_a_viewer_who_becomes_an_editor_gets_no_304(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    before = cast.vera.get(kind.url("writer"))
    assert before.body["hasDraft"] is None
    give_role("vera", "acme", "editor")
    answer = read_again(cast.vera, kind.url("writer"), before.etag)
    assert (answer.status, answer.body["hasDraft"]) == (200, True)


def test_a_version_has_its_own_etag(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice)
    paths = [kind.url("writer", "versions", version_id) for version_id in (history.historical, history.draft)]
    tags = [alice.get(path).etag for path in paths]
    assert len({*tags, etag(kind, alice)}) == 3
    assert [read_again(alice, path, given).status for path, given in zip(paths, tags, strict=True)] == [
        304,
        304,
    ]
    assert publish(kind, alice, history).status == 200
    assert read_again(alice, paths[1], tags[1]).body["state"] == "published"


def test_answers_that_create_a_version_carry_its_etag(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice)
    for make in (restore, add_version):
        made = make(kind, alice, history)
        path = kind.url("writer", "versions", made.body["id"])
        assert (made.status, read_again(alice, path, made.etag).status) == (201, 304)


def test_the_etag_of_a_served_agent_is_specific_to_that_answer(alice: Api) -> None:
    history = make_history(AGENTS, alice)
    published, draft = alice.get("/agents/writer"), alice.get("/agents/writer", status="draft")
    assert len({published.etag, draft.etag, etag(AGENTS, alice)}) == 3
    assert read_again(alice, "/agents/writer", published.etag).status == 304
    assert read_again(alice, "/agents/writer", draft.etag).status == 200
    AGENTS.save(alice, text="another draft")
    assert alice.get("/agents/writer").etag == published.etag
    assert read_again(alice, "/agents/writer?status=draft", draft.etag).status == 200
    assert publish(AGENTS, alice, history).status == 200
    assert read_again(alice, "/agents/writer", published.etag).body["instructions"] == "draft words"
