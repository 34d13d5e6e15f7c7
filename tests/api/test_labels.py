"""Labels: names for versions, two of them computed, the others set, moved and removed by people."""

from __future__ import annotations

import re
from typing import Any

from tests.conftest import Cast
from tests.support.api import Answer, Api, Kind
from tests.support.calls import make_history

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

ALLOWED = ["a", "9z", "v1.0", "release_2026-11", "a.-_b", "x" * 64, "1.0", "a--b", "production-eu", "latest2"]
RESERVED = ["latest", "production", "draft", "published"]
REFUSED = ["A", "-a", "a-", ".a", "a.", "_a", "a_", "7", "2026", "a b", "ü", "x" * 65, "a:b", "%2B", "a%0A"]
COMPUTED = ["latest", "production"]


def set_label(kind: Kind, api: Api, name: str, version_id: str) -> Answer:
    """Set or move a label of `writer`; the name is put into the URL unchanged."""
    return api.put(kind.url("writer", "labels", name), {"versionId": version_id})


def labels(kind: Kind, api: Api) -> dict[str, dict[str, Any]]:
    answer = api.get(kind.url("writer", "labels"))
    assert answer.status == 200 and set(answer.body) == {"labels"}
    return {label["name"]: label for label in answer.body["labels"]}


def pointing(kind: Kind, api: Api) -> dict[str, int]:
    return {name: label["versionNumber"] for name, label in labels(kind, api).items()}


def make_two(kind: Kind, api: Api) -> tuple[str, str]:
    return kind.make(api)["resolvedVersionId"], kind.save(api)["resolvedVersionId"]


def test_setting_a_label_returns_the_label(cast: Cast, kind: Kind) -> None:
    first, _ = make_two(kind, cast.alice)
    answer = set_label(kind, cast.paula, "stable", first)
    assert answer.status == 200
    expected = {
        "name": "stable",
        "versionId": first,
        "versionNumber": 1,
        "kind": "custom",
        "released": False,
        "updatedAt": answer.body["updatedAt"],
        "updatedBy": "paula",
    }
    assert answer.body == expected and TIME.fullmatch(answer.body["updatedAt"])
    assert labels(kind, cast.alice)["stable"] == expected


def test_a_label_has_an_allowed_name(alice: Api, kind: Kind) -> None:
    first, _ = make_two(kind, alice)
    assert {name: set_label(kind, alice, name, first).status for name in ALLOWED} == dict.fromkeys(
        ALLOWED, 200
    )
    for name in ALLOWED:
        assert alice.get(kind.url("writer"), label=name).body["resolvedVersionId"] == first
    assert set(labels(kind, alice)) == {"latest", *ALLOWED}


def test_an_invalid_label_name_is_refused(alice: Api, kind: Kind) -> None:
    first, _ = make_two(kind, alice)
    names = [*REFUSED, *RESERVED]
    answers = {name: set_label(kind, alice, name, first) for name in names}
    found = {name: (answer.status, answer.code) for name, answer in answers.items()}
    assert found == dict.fromkeys(names, (400, "validation_failed"))
    assert all(answer.body["issues"] for answer in answers.values())
    assert set(labels(kind, alice)) == {"latest"}


def test_a_label_needs_the_id_of_a_version_and_nothing_else(alice: Api, kind: Kind) -> None:
    first, _ = make_two(kind, alice)
    for body, field in (
        ({}, "versionId"),
        ({"versionId": None}, "versionId"),
        ({"versionId": 1}, "versionId"),
        ({"versionId": first, "updatedBy": "charlie"}, "updatedBy"),
    ):
        answer = alice.put(kind.url("writer", "labels", "stable"), body)
        assert (answer.status, answer.fields) == (400, [field]), body


def test_a_label_on_a_version_that_does_not_exist_is_404(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    for version_id in ("00000000-0000-4000-8000-000000000000", "x", "latest"):
        assert set_label(kind, alice, "stable", version_id).status == 404
    assert set(labels(kind, alice)) == {"latest"}


def test_two_labels_are_computed_and_cannot_be_removed(alice: Api, kind: Kind) -> None:
    first, second = make_two(kind, alice)
    assert pointing(kind, alice) == {"latest": 2}
    kind.publish(alice, "writer", first)
    found = labels(kind, alice)
    assert {name: found[name]["versionId"] for name in COMPUTED} == {"latest": second, "production": first}
    assert {label["kind"] for label in found.values()} == {"computed"}
    assert all(TIME.fullmatch(label["updatedAt"]) for label in found.values())
    kind.publish(alice, "writer", second)
    assert pointing(kind, alice) == {"latest": 2, "production": 2}
    kind.save(alice, text="three")
    assert pointing(kind, alice) == {"latest": 3, "production": 2}
    assert [alice.delete(kind.url("writer", "labels", name)).status for name in COMPUTED] == [400, 400]
    assert pointing(kind, alice) == {"latest": 3, "production": 2}
    assert alice.post(kind.url("writer", "unpublish")).status == 200
    assert pointing(kind, alice) == {"latest": 3}


def test_a_label_selects_its_version(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice)
    selected = {
        "first": history.labelled,
        "stable": history.published,
        "production": history.published,
        "latest": history.draft,
    }
    for name, version_id in selected.items():
        found = alice.get(kind.url("writer"), label=name).body
        assert (found["resolvedVersionId"], found["latestVersionId"]) == (version_id, history.draft)
    assert alice.get(kind.url("writer"), label="first").body[kind.text] == "labelled words"


def test_an_unknown_label_selects_nothing(alice: Api, kind: Kind) -> None:
    first, _ = make_two(kind, alice)
    set_label(kind, alice, "stable", first)
    for name in ("unknown", "production", "draft", "published", "STABLE", "stable ", "ü"):
        answer = alice.get(kind.url("writer"), label=name)
        assert (answer.status, answer.code) == (404, "not_found"), name


def test_a_label_belongs_to_one_resource(alice: Api, kind: Kind) -> None:
    first, _ = make_two(kind, alice)
    kind.make(alice, "other")
    set_label(kind, alice, "stable", first)
    assert alice.get(kind.url("other"), label="stable").status == 404
    assert alice.put(kind.url("other", "labels", "stable"), {"versionId": first}).status == 404


def test_a_moved_label_selects_its_new_version_immediately(cast: Cast, kind: Kind) -> None:
    first, second = make_two(kind, cast.alice)
    set_label(kind, cast.alice, "stable", first)
    answer = set_label(kind, cast.paula, "stable", second)
    assert (answer.status, answer.body["versionId"], answer.body["updatedBy"]) == (200, second, "paula")
    assert pointing(kind, cast.alice) == {"latest": 2, "stable": 2}
    assert cast.alice.get(kind.url("writer"), label="stable").body[kind.text] == "two"
    assert set_label(kind, cast.alice, "stable", second).body == answer.body  # it is there already


def test_a_version_carries_several_labels(alice: Api, kind: Kind) -> None:
    first, _ = make_two(kind, alice)
    for name in ("stable", "canary"):
        set_label(kind, alice, name, first)
    assert pointing(kind, alice) == {"latest": 2, "canary": 1, "stable": 1}
    assert sorted(kind.versions(alice)[1]["labels"]) == ["canary", "stable"]


def test_saving_publishing_and_restoring_move_no_label(alice: Api, kind: Kind) -> None:
    first, second = make_two(kind, alice)
    set_label(kind, alice, "stable", first)
    kind.publish(alice, "writer", second)
    assert alice.post(kind.url("writer", "versions", first, "restore")).status == 201
    live = kind.save(alice, text="four", autoPublish=True)["activeVersionId"]
    assert labels(kind, alice)["stable"]["versionId"] == first
    # A label does not change what is served either.
    set_label(kind, alice, "stable", second)
    found = alice.get(kind.url("writer")).body
    assert (found["resolvedVersionId"], found["activeVersionId"]) == (live, live)


def test_removing_a_label_leaves_the_version(alice: Api, kind: Kind) -> None:
    first, _ = make_two(kind, alice)
    set_label(kind, alice, "stable", first)
    answer = alice.delete(kind.url("writer", "labels", "stable"))
    assert (answer.status, answer.body["success"], set(answer.body)) == (200, True, {"success", "message"})
    assert alice.get(kind.url("writer"), label="stable").status == 404
    assert alice.delete(kind.url("writer", "labels", "stable")).status == 404
    assert [(item["id"], item["labels"]) for item in kind.versions(alice)][1] == (first, [])


def test_a_version_can_be_deleted_once_its_label_was_removed_or_moved(alice: Api, kind: Kind) -> None:
    first, second = make_two(kind, alice)
    third = kind.save(alice, text="three")["resolvedVersionId"]
    set_label(kind, alice, "stable", first)
    assert alice.delete(kind.url("writer", "versions", first)).status == 400
    set_label(kind, alice, "stable", second)
    assert alice.delete(kind.url("writer", "versions", first)).status == 200
    assert alice.delete(kind.url("writer", "versions", second)).status == 400
    assert alice.delete(kind.url("writer", "labels", "stable")).status == 200
    assert alice.delete(kind.url("writer", "versions", second)).status == 200
    assert [item["id"] for item in kind.versions(alice)] == [third]
