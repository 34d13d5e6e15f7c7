"""Schedules over HTTP: validation, rights, and lists."""

from __future__ import annotations

import pytest

from tests.conftest import Cast
from tests.schedules.conftest import ahead, ask, scheduled
from tests.support.api import Api, Kind
from tests.support.people import key_of
from tests.support.reviews import reference
from versioning.models import ApiKey

NOWHERE = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def draft(cast: Cast, kind: Kind) -> str:
    """A version of an unpublished resource."""
    return str(kind.make(cast.edgar)["latestVersionId"])


def test_a_schedule_has_the_requested_members(cast: Cast, kind: Kind, draft: str) -> None:
    answer = ask(cast.paula, kind, draft, localTime="2027-12-24T09:00", timeZone="Europe/Berlin")
    assert answer.status == 201
    made = answer.body
    assert answer.headers["Location"] == f"/api/schedules/{made['id']}"
    assert made.pop("id") and made.pop("createdAt")
    assert made == {
        "workspaceId": "acme",
        "resource": reference(kind),
        "releaseId": None,
        "action": "publish",
        "versionId": draft,
        "versionNumber": 1,
        "then": None,
        "runAt": "2027-12-24T08:00:00.000Z",
        "localTime": "2027-12-24T09:00",
        "timeZone": "Europe/Berlin",
        "ambiguous": False,
        "pairedWith": None,
        "expects": None,
        "force": False,
        "state": "scheduled",
        "code": None,
        "error": None,
        "problems": [],
        "createdBy": "paula",
        "createdByKey": ApiKey.objects.get(owner__username="paula").prefix,
        "executedAt": None,
    }


def test_an_ambiguous_time_is_marked(cast: Cast, kind: Kind, draft: str) -> None:
    made = scheduled(cast.paula, kind, draft, localTime="2027-10-31T02:30", timeZone="Europe/Berlin")
    assert (made["ambiguous"], made["runAt"]) == (True, "2027-10-31T00:30:00.000Z")


def test_a_problem_is_named_and_nothing_is_scheduled(cast: Cast, kind: Kind, draft: str) -> None:
    for changes, field in [
        ({"runAt": "2020-01-01T00:00:00Z"}, "runAt"),
        ({"runAt": "2027-01-01T00:00:30Z"}, "runAt"),
        ({"runAt": "2099-01-01T00:00:00Z"}, "runAt"),
        ({"runAt": 5}, "runAt"),
        ({"localTime": "2027-03-28T02:30", "timeZone": "Europe/Berlin"}, "localTime"),
        ({"localTime": "2027-03-28T12:30"}, "timeZone"),
        ({"localTime": "2027-03-28T12:30", "timeZone": "Mars/Base"}, "timeZone"),
        ({"runAt": ahead(), "timeZone": "Europe/Berlin"}, "runAt"),
        ({"versionId": NOWHERE}, "versionId"),
        ({"versionId": "none"}, "versionId"),
        ({"versionId": None}, "versionId"),
        ({"action": "unpublish"}, "versionId"),
        ({"action": "delete"}, "action"),
        ({"until": ahead(48)}, "then"),
        ({"then": {"versionId": NOWHERE}}, "until"),
        ({"until": ahead(1), "then": {"versionId": NOWHERE}}, "until"),
        ({"until": ahead(48), "then": {"versionId": NOWHERE}}, "then.versionId"),
        ({"expects": NOWHERE}, "expects"),
        ({"resource": {"kind": "skill", "id": "writer"}}, "resource.kind"),
        ({"releaseId": NOWHERE}, "resource"),
        ({"colour": "red"}, "colour"),
    ]:
        answer = (
            ask(cast.paula, kind, draft, **changes)
            if changes.get("versionId", 1)
            else ask(cast.paula, kind, None)
        )
        assert (answer.status, answer.fields) == (400, [field])
        assert cast.paula.get("/schedules").body["total"] == 0


def test_a_new_time_preserves_the_order_of_a_pair(cast: Cast, kind: Kind, draft: str) -> None:
    begin = scheduled(cast.paula, kind, draft, until=ahead(48), then={"versionId": draft})
    addresses = [f"/schedules/{begin[name]}" for name in ("id", "pairedWith")]
    late, early = (
        cast.paula.patch(one, {"runAt": ahead(when)}) for one, when in zip(addresses, (49, 23), strict=True)
    )
    assert [(one.status, one.fields) for one in (late, early)] == [(400, ["runAt"])] * 2
    moved = cast.paula.patch(addresses[0], {"localTime": "2027-07-01T09:00", "timeZone": "Asia/Tokyo"})
    assert (moved.status, moved.fields) == (400, ["localTime"])
    moved = cast.paula.patch(addresses[1], {"localTime": "2027-07-01T09:00", "timeZone": "Asia/Tokyo"})
    assert (moved.body["runAt"], moved.body["timeZone"]) == ("2027-07-01T00:00:00.000Z", "Asia/Tokyo")
    types = [event["type"] for event in cast.edgar.get("/events", type="schedule.*").body["events"]]
    assert types == ["schedule.created", "schedule.created", "schedule.changed"]


def test_lists_are_narrowed_and_omit_unreadable_schedules(cast: Cast, kind: Kind, draft: str) -> None:
    made = scheduled(cast.paula, kind, draft)
    other = kind.make(cast.edgar, "other")["latestVersionId"]
    scheduled(cast.paula, kind, other, resource_id="other")
    slug = reference(kind)["kind"]

    def total(api: Api, **narrowed: str) -> int:
        return int(api.get("/schedules", **narrowed).body["total"])

    assert [total(api) for api in (cast.edgar, cast.vera, cast.charlie, cast.root)] == [2, 0, 0, 2]
    assert total(cast.edgar, kind=slug, id="writer") == 1
    assert total(cast.edgar, state="done") == total(cast.edgar, workspaceId="elsewhere") == 0
    assert total(cast.charlie, workspaceId="acme") == 0
    assert total(cast.edgar, releaseId=NOWHERE) == total(cast.edgar, releaseId="r1") == 0
    assert cast.edgar.get("/schedules", state="late").status == 400
    cast.paula.delete(f"/schedules/{made['id']}")
    assert total(cast.edgar, state="cancelled") == 1


def test_a_viewer_learns_of_a_schedule_once_the_resource_is_published(
    cast: Cast, kind: Kind, draft: str
) -> None:
    made = scheduled(cast.paula, kind, draft)
    address = f"/schedules/{made['id']}"

    def statuses(api: Api) -> set[int]:
        found = api.get(address), api.patch(address, {"runAt": ahead(3)}), api.delete(address)
        return {one.status for one in found}

    viewers = (cast.vera, key_of("paula", workspace="acme", role="viewer"))
    assert [statuses(api) for api in viewers] == [{404}, {404}]
    kind.publish(cast.paula, "writer", draft)
    assert [statuses(api) for api in viewers] == [{403}, {403}]
    found = cast.paula.get(address).body
    assert [one["code"] for one in found.pop("problems")] == ["edit_conflict"]
    assert found | {"problems": []} == made
