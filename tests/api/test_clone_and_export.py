"""Copies: a clone is a new draft of one version; an export is deterministic text and stores nothing."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api, Kind
from tests.support.calls import make_history
from tests.support.configurations import FULL_AGENT, FULL_BLOCK, reordered

SELECTED = [
    ({}, "published words"),
    ({"status": "published"}, "published words"),
    ({"status": "draft"}, "draft words"),
    ({"versionId": "{historical}"}, "historical words"),
    ({"label": "first"}, "labelled words"),
    ({"label": "production"}, "published words"),
    ({"label": "latest"}, "draft words"),
]


def clone(api: Api, kind: Kind, source: str = "writer", **body: Any) -> Answer:
    """Clone the published version."""
    return api.post(kind.url(source, "clone"), {"newId": "copy", **body})


def export(api: Api, kind: Kind, fields: dict[str, Any] | None = None, **selector: str) -> dict[str, Any]:
    answer = api.request("POST", kind.url("writer", "export"), fields, query=selector)
    assert answer.status == 200, answer.body
    return dict(answer.body)


def full(kind: Kind) -> dict[str, Any]:
    return FULL_AGENT if kind is AGENTS else FULL_BLOCK


def test_a_clone_is_an_independent_unpublished_resource(alice: Api, kind: Kind) -> None:
    kind.make(alice, autoPublish=True, **full(kind))
    before = alice.get(kind.url("writer"))
    answer = clone(alice, kind, newId="team/copy")
    assert (answer.status, answer.headers["Location"]) == (201, f"/api{kind.url('team/copy')}")
    made = answer.body
    assert (made["id"], made["workspaceId"], made["authorId"]) == ("team/copy", "acme", "alice")
    assert (made["status"], made["activeVersionId"], made["hasDraft"]) == ("draft", None, True)
    assert {name: made[name] for name in full(kind)} == full(kind)
    [version] = kind.versions(alice, "team/copy")
    assert version["versionNumber"] == 1 and version["id"] != before.body["latestVersionId"]
    assert alice.get(kind.url("writer")).etag == before.etag
    renamed = clone(alice, kind, newName="The copy").body
    assert {name: renamed[name] for name in full(kind)} == {**full(kind), "name": "The copy"}


def test_clones_and_exports_use_the_selected_version(alice: Api, kind: Kind) -> None:
    history = make_history(kind, alice)
    for number, (selector, text) in enumerate(SELECTED):
        query = {key: value.format(**vars(history)) for key, value in selector.items()}
        new_id = f"copy-{number}"
        answer = alice.request("POST", kind.url("writer", "clone"), {"newId": new_id}, query=query)
        assert (answer.status, answer.body[kind.text]) == (201, text), query
        assert alice.get(kind.url(new_id)).body[kind.text] == text
        # Neither its history nor its labels come along.
        assert [version["versionNumber"] for version in kind.versions(alice, new_id)] == [1]
        labels = alice.get(kind.url(new_id, "labels")).body["labels"]
        assert [label["name"] for label in labels] == ["latest"]
        config = export(alice, kind, **query)["config"]
        assert (config["name"], config[kind.text]) == ("Writer", text), query


def test_editing_a_clone_does_not_change_the_original(alice: Api, kind: Kind) -> None:
    kind.make(alice, autoPublish=True)
    clone(alice, kind)
    kind.save(alice, "copy", "of the copy", autoPublish=True)
    assert alice.get(kind.url("writer"), status="draft").body[kind.text] == "one"
    assert alice.delete(kind.url("writer")).status == 200
    assert alice.get(kind.url("copy")).body[kind.text] == "of the copy"


def test_a_clone_with_a_taken_id_is_refused(alice: Api, kind: Kind) -> None:
    kind.make(alice, autoPublish=True)
    kind.make(alice, "copy", text="mine")
    for new_id in ("copy", "writer"):
        answer = clone(alice, kind, newId=new_id)
        assert (answer.status, answer.code) == (409, "id_taken")
    assert alice.get(kind.url("copy")).body[kind.text] == "mine"


def test_the_refusal_of_a_clone_names_the_field(alice: Api, kind: Kind) -> None:
    kind.make(alice, autoPublish=True)
    for body, field in (
        ({}, "newId"),
        ({"newId": None}, "newId"),
        ({"newId": "a//b"}, "newId"),
        ({"newId": "copy", "newName": ""}, "newName"),
        ({"newId": "copy", "instructions": "x"}, "instructions"),
    ):
        answer = alice.post(kind.url("writer", "clone"), body)
        assert (answer.status, answer.fields) == (400, [field]), body


def test_an_export_names_its_file_by_the_encoded_id(alice: Api) -> None:
    for kind, folder in ((AGENTS, "agents"), (PROMPT_BLOCKS, "prompt-blocks")):
        kind.make(alice, "team/a (b)*'ü")
        answer = alice.post(kind.url("team/a (b)*'ü", "export")).body
        assert set(answer) == {kind.id_key, "fileName", "content", "config"}
        assert answer[kind.id_key] == "team/a (b)*'ü"
        assert answer["fileName"] == f"{folder}/team%2Fa%20(b)*'%C3%BC.json"


def test_an_export_is_sorted_indented_unescaped_text_with_a_final_newline(alice: Api, kind: Kind) -> None:
    schema = b'{"b": [1.0, {}], "a": {"z": null, "Z": 12345678901234567890}}'
    kind.make(alice, text="ü\u2028\n")
    alice.patch(kind.url("writer"), b'{"requestContextSchema": ' + schema + b"}")
    content = export(alice, kind, status="draft")["content"]
    name, text = '  "name": "Writer"', f'  "{kind.text}": "ü\u2028\\n"'
    lines = (
        '  "requestContextSchema": {\n    "a": {\n      "Z": 12345678901234567890,\n      "z": null\n    },\n'
        '    "b": [\n      1.0,\n      {}\n    ]\n  }'
    )
    assert content == "{\n" + ",\n".join(sorted([name, text, lines])) + "\n}\n"


def test_an_export_has_the_same_bytes_for_any_order_of_keys(alice: Api, kind: Kind) -> None:
    kind.make(alice, **full(kind))
    stored = export(alice, kind)
    for seed in range(5):
        given = export(alice, kind, reordered(full(kind), Random(seed)))
        assert given["content"] == stored["content"] and given["config"] == full(kind)
    assert json.loads(stored["content"]) == stored["config"] == full(kind)


def test_an_export_of_given_fields_holds_those_that_a_snapshot_has_and_nothing_else(
    alice: Api, kind: Kind
) -> None:
    made = kind.make(alice, description="stored")
    others = {"id": "x", "metadata": {"a": 1}, "autoPublish": True, "nonsense": 1, "authorId": "x"}
    given = export(alice, kind, {**made, **others, kind.text: "given"})
    assert given["config"] == {"name": "Writer", "description": "stored", kind.text: "given"}
    assert json.loads(given["content"]) == given["config"]
    just_one = export(alice, kind, {"description": "given", "nonsense": 1})
    assert just_one["config"] == {"description": "given"}
    nothing = export(alice, kind, {"nonsense": 1})
    assert (nothing["config"], nothing["content"]) == ({}, "{}\n")


def test_an_export_stores_nothing(alice: Api, kind: Kind) -> None:
    kind.make(alice, autoPublish=True)
    before, versions = alice.get(kind.url("writer")), kind.versions(alice)
    export(alice, kind)
    export(alice, kind, {kind.text: "given", "metadata": {"a": 1}})
    after = alice.get(kind.url("writer"))
    assert (after.body, after.etag, kind.versions(alice)) == (before.body, before.etag, versions)
