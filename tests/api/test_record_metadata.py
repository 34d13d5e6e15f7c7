"""Metadata: it belongs to the record, is merged member by member, and makes no version."""

from __future__ import annotations

import json
from typing import Any

from tests.support.api import Answer, Api, Kind

LIMIT = 32 * 1024


def edit(api: Api, kind: Kind, metadata: Any) -> Answer:
    return api.patch(kind.url("writer"), {"metadata": metadata})


def metadata(api: Api, kind: Kind) -> Any:
    return api.get(kind.url("writer")).body["metadata"]


def test_metadata_is_merged_and_a_null_member_removes_its_key(alice: Api, kind: Kind) -> None:
    made = kind.make(alice, metadata={"kept": 1, "changed": "old", "removed": True, "absent": None})
    assert made["metadata"] == {"kept": 1, "changed": "old", "removed": True}
    answer = edit(alice, kind, {"changed": "new", "removed": None, "added": [1], "unknown": None})
    assert answer.status == 200
    assert answer.body["metadata"] == {"kept": 1, "changed": "new", "added": [1]}
    assert metadata(alice, kind) == {"kept": 1, "changed": "new", "added": [1]}


def test_an_empty_object_changes_nothing_and_null_clears_everything(alice: Api, kind: Kind) -> None:
    kind.make(alice, metadata={"a": 1})
    assert edit(alice, kind, {}).body["metadata"] == {"a": 1}
    assert edit(alice, kind, None).body["metadata"] == {}
    assert metadata(alice, kind) == {}


def test_metadata_makes_no_version_and_takes_effect_immediately(alice: Api, kind: Kind) -> None:
    before = kind.make(alice, autoPublish=True)
    kind.save(alice, text="draft")
    answer = edit(alice, kind, {"a": 1})
    assert answer.body["activeVersionId"] == before["activeVersionId"]
    assert [version["versionNumber"] for version in kind.versions(alice)] == [2, 1]
    assert alice.get(kind.url("writer"), status="published").body["metadata"] == {"a": 1}
    assert alice.get(kind.url("writer"), status="draft").body["metadata"] == {"a": 1}
    assert answer.body["updatedAt"] >= before["updatedAt"]


def test_metadata_is_no_part_of_a_version(alice: Api, kind: Kind) -> None:
    kind.make(alice, metadata={"a": 1})
    [version] = kind.versions(alice)
    assert "metadata" not in version and "metadata" not in version["changedFields"]
    assert alice.post(kind.url("writer", "versions", version["id"], "restore")).status == 201
    assert metadata(alice, kind) == {"a": 1}


VALUES = [
    {"nested": {"b": [1, {"c": None}], "a": "x"}},
    {"true": True, "one": 1, "text": "1", "zero": 0, "false": False, "empty": ""},
    {"": 1, "a.b": 2, "$": 3, 'quote"': 4, "ключ": 5},
    {"small": 0.1, "negative": -1.5, "integer": 9007199254740993},
]


def test_metadata_is_returned_exactly_as_sent(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    for value in VALUES:
        edit(alice, kind, None)
        edit(alice, kind, value)
        assert json.dumps(metadata(alice, kind), sort_keys=True) == json.dumps(value, sort_keys=True)


def test_metadata_is_an_object_of_32_kib_at_most(alice: Api, kind: Kind) -> None:
    kind.make(alice, metadata={"a": 1})
    letters = {letter: len(letter.encode()) for letter in ("x", "é", "🦊")}
    for value in [[], "text", *({"k": letter * (LIMIT // size)} for letter, size in letters.items())]:
        answer = alice.patch(kind.url("writer"), {kind.text: "two", "metadata": value})
        assert (answer.status, answer.fields) == (400, ["metadata"])
        created = alice.post(kind.path, kind.body(id="another", metadata=value))
        assert (created.status, created.fields) == (400, ["metadata"])
        assert metadata(alice, kind) == {"a": 1} and len(kind.versions(alice)) == 1
    for letter, size in letters.items():
        edit(alice, kind, None)
        edit(alice, kind, {"k": letter * ((LIMIT - 16) // size)})
        assert len(metadata(alice, kind)["k"]) == (LIMIT - 16) // size


def test_the_limit_is_of_the_merged_metadata(alice: Api, kind: Kind) -> None:
    half = "x" * (LIMIT // 2)
    kind.make(alice, metadata={"one": half})
    answer = edit(alice, kind, {"two": half})
    assert (answer.status, answer.fields) == (400, ["metadata"])
    assert edit(alice, kind, {"two": half, "one": None}).status == 200
    assert list(metadata(alice, kind)) == ["two"]
