"""Saving from a stale base: refused on every guarded route, with what is there now."""

from __future__ import annotations

from typing import Any

from tests.conftest import Cast
from tests.support.api import Api, Kind
from tests.support.calls import make_history, undone
from tests.support.changes import CHANGES, GUARDED, delete


def etag(kind: Kind, api: Api) -> str:
    answer = api.get(kind.url("writer"))
    assert answer.status == 200
    return answer.etag


def everything(kind: Kind, api: Api) -> tuple[Any, ...]:
    addresses = (kind.url("writer"), kind.url("writer", "labels"), kind.url("writer", "versions"))
    return tuple(api.get(address).body for address in addresses)


def test_a_change_from_a_stale_base_is_refused_and_changes_nothing(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    stale = etag(kind, cast.alice)
    newest = kind.save(cast.edgar, text="of edgar", description="of edgar")["latestVersionId"]
    before = everything(kind, cast.alice)
    for change in GUARDED:
        answer = change(kind, cast.alice, history, if_match=stale)
        assert (answer.status, answer.code) == (412, "edit_conflict"), change
        assert answer.body["error"]
        current = {**answer.body["current"], "changedFields": sorted(answer.body["current"]["changedFields"])}
        assert current.pop("savedAt")
        assert current == {
            "latestVersionId": newest,
            "activeVersionId": history.published,
            "savedBy": "edgar",
            "changedFields": sorted([kind.text, "description"]),
        }, change
    assert everything(kind, cast.alice) == before


def test_a_refused_change_is_answered_with_the_time_of_the_last_save(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    answer = alice.patch(kind.url("writer"), {kind.text: "two"}, if_match='"stale"')
    assert answer.body["current"]["savedAt"] == kind.versions(alice)[0]["createdAt"]
    assert answer.body["current"]["activeVersionId"] is None


def test_a_change_from_the_current_base_is_made(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice)
    current = etag(kind, alice)
    for change in GUARDED:
        with undone():
            assert change(kind, alice, history, if_match=current).status in {200, 201}, change


def test_if_match_star_matches_any_existing_resource(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice)
    for change in GUARDED:
        with undone():
            assert change(kind, alice, history, if_match="*").status in {200, 201}, change


def test_one_matching_tag_of_an_if_match_list_is_enough(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    given = f'"other", {etag(kind, alice)}'
    assert alice.patch(kind.url("writer"), {kind.text: "two"}, if_match=given).status == 200


def test_any_change_in_between_makes_the_base_stale(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice)
    stale = etag(kind, alice)
    for between in CHANGES:
        with undone():
            assert between(kind, alice, history).status in {200, 201}
            answer = alice.patch(kind.url("writer"), {"name": "From the stale base"}, if_match=stale)
            assert answer.status == 412, between
            assert answer.body["current"]["latestVersionId"] == kind.versions(alice)[0]["id"], between


def test_if_match_star_does_not_match_a_missing_resource(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice)
    assert delete(kind, alice, history).status == 200
    assert alice.patch(kind.url("writer"), {kind.text: "two"}, if_match="*").status == 404
