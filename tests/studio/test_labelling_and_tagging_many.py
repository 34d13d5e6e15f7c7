"""Labels and tags for resources selected in a list, or for all in it: separate changes, one report."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.serving.test_query_counts import insert_resources
from tests.studio.test_publishing_many import boxes, tags, value
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.studio import KINDS, PageResponse, Visitor
from versioning.editor import bulk
from versioning.editor.bulk import MAX_CHOSEN

LABEL, TAG, PUBLISH = "/studio/label/", "/studio/tag/", "/studio/publish/"


def send(window: Visitor, address: str, chosen: list[str], **more: Any) -> PageResponse:
    """Select resources, fill in the confirmation page, and send it."""
    asked = window.post(address, chosen=chosen)  # type: ignore[arg-type]
    assert asked.status == 200, asked.text
    return window.post(address, chosen=boxes(asked), confirmed="yes", **tags(asked), **more)  # type: ignore[arg-type]


def labels(cast: Cast, kind: Kind, resource_id: str) -> dict[str, str]:
    found = cast.alice.get(kind.url(resource_id, "labels")).body["labels"]
    return {one["name"]: one["versionId"] for one in found if one["kind"] != "computed"}


def metadata(cast: Cast, kind: Kind, resource_id: str) -> Any:
    return cast.alice.get(kind.url(resource_id), status="draft").body["metadata"]


def made(cast: Cast, kind: Kind, *ids: str, **more: Any) -> list[str]:
    return [value(kind, one, kind.make(cast.edgar, one, **more)["latestVersionId"]) for one in ids]


def everything(kind: Kind, query: str = "") -> dict[str, str]:
    return {"matching": f"{KINDS[kind].slug}?{query}"}


def test_a_label_is_set_on_the_newest_versions_that_were_shown(cast: Cast, kind: Kind) -> None:
    chosen = made(cast, kind, "a", "team/b")
    moved = kind.make(cast.paula, "c", autoPublish=True)["latestVersionId"]
    assert cast.paula.put(kind.url("c", "labels", "tested"), {"versionId": moved}).status == 200
    draft = kind.save(cast.edgar, "c")["latestVersionId"]
    seen = send(Visitor("paula"), LABEL, [*chosen, value(kind, "c", draft)], label="tested")
    assert "3 now have the label" in seen.text
    ids = {one.split(":")[1]: one.split(":")[2] for one in chosen} | {"c": draft}
    assert {name: labels(cast, kind, name) for name in ids} == {
        name: {"tested": version} for name, version in ids.items()
    }
    again = send(Visitor("paula"), LABEL, chosen, label="tested")
    assert "2 already had the label" in again.text


def test_a_label_can_be_set_on_live_versions(cast: Cast, kind: Kind) -> None:
    live = kind.make(cast.paula, "a", autoPublish=True)["activeVersionId"]
    draft = kind.save(cast.edgar, "a")["latestVersionId"]
    chosen = [value(kind, "a", draft), *made(cast, kind, "never")]
    seen = send(Visitor("paula"), LABEL, chosen, label="stable", which="live")
    assert "1 labelled, 1 not" in seen.text and "Has no live version." in seen.text
    assert (labels(cast, kind, "a"), labels(cast, kind, "never")) == ({"stable": live}, {})


def test_an_invalid_label_is_refused_before_any_change(cast: Cast, kind: Kind) -> None:
    chosen = made(cast, kind, "a", "b")
    for name in ("", "Not Good", "latest", "x" * 65):
        seen = send(Visitor("paula"), LABEL, chosen, label=name)
        assert (seen.status, boxes(seen)) == (400, chosen), name
        assert 'aria-invalid="true"' in seen.markup
    assert (labels(cast, kind, "a"), labels(cast, kind, "b")) == ({}, {})


def test_tags_are_added_and_removed_without_changing_other_metadata(cast: Cast, kind: Kind) -> None:
    chosen = made(cast, kind, "a", metadata={"team": 1, "tags": ["red", "old"]}) + made(cast, kind, "b")
    seen = send(Visitor("edgar"), TAG, chosen, add="blue, red", remove="old")
    assert "2 now have other tags" in seen.text
    assert metadata(cast, kind, "a") == {"team": 1, "tags": ["red", "blue"]}
    assert metadata(cast, kind, "b") == {"tags": ["blue", "red"]}
    seen = send(Visitor("edgar"), TAG, chosen, remove="red,blue")
    assert (metadata(cast, kind, "a"), metadata(cast, kind, "b")) == ({"team": 1}, {})
    assert "2 already had these tags" in send(Visitor("edgar"), TAG, chosen, remove="red").text


def test_invalid_tags_are_refused_before_any_change(cast: Cast, kind: Kind) -> None:
    chosen = made(cast, kind, "a")
    for add in ("", " , ", "x" * 65, "a\u200bb"):
        assert send(Visitor("edgar"), TAG, chosen, add=add).status == 400
    crowded = made(cast, kind, "b", metadata={"tags": [str(number) for number in range(49)]})
    seen = send(Visitor("edgar"), TAG, crowded + chosen, add="x,y")
    assert "1 tagged, 1 not" in seen.text
    assert metadata(cast, kind, "a") == {"tags": ["x", "y"]}


def test_a_concurrently_added_tag_is_preserved(
    cast: Cast, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = made(cast, kind, "a")
    read = bulk.tags.read_tags

    def read_before_somebody_else_writes(before: Any) -> list[str]:
        found = read(before)
        monkeypatch.setattr(bulk.tags, "read_tags", read)
        assert cast.alice.patch(kind.url("a"), {"metadata": {"tags": ["theirs"]}}).status == 200
        return found

    edgar = Visitor("edgar")
    asked = edgar.post(TAG, chosen=chosen)  # type: ignore[arg-type]
    monkeypatch.setattr(bulk.tags, "read_tags", read_before_somebody_else_writes)
    seen = edgar.post(TAG, chosen=chosen, confirmed="yes", add="mine", **tags(asked))  # type: ignore[arg-type]
    assert "1 now has other tags" in seen.text
    assert metadata(cast, kind, "a") == {"tags": ["theirs", "mine"]}


def test_rights_are_checked_for_each_resource(cast: Cast, kind: Kind) -> None:
    ours = made(cast, kind, "ours")
    theirs = [value(kind, "theirs", kind.make(cast.charlie, "theirs", autoPublish=True)["latestVersionId"])]
    for name, address, more in (
        ("vera", TAG, {"add": "x"}),
        ("vera", LABEL, {"label": "x"}),
        ("edgar", LABEL, {"label": "x"}),
        ("charlie", TAG, {"add": "x"}),
        ("charlie", LABEL, {"label": "x"}),
    ):
        seen = Visitor(name).post(address, chosen=ours, confirmed="yes", **more)  # type: ignore[arg-type]
        assert ("1 tagged" in seen.text, "1 labelled" in seen.text) == (False, False), (name, address)
    seen = Visitor("paula").post(TAG, chosen=ours + theirs, confirmed="yes", add="x")  # type: ignore[arg-type]
    assert "1 tagged, 1 not" in seen.text and "Writer theirs" not in seen.text
    assert metadata(cast, kind, "ours") == {"tags": ["x"]}
    assert (labels(cast, kind, "ours"), labels_of_theirs(cast, kind)) == ({}, [])


def labels_of_theirs(cast: Cast, kind: Kind) -> list[Any]:
    found = cast.charlie.get(kind.url("theirs", "labels")).body["labels"]
    assert cast.charlie.get(kind.url("theirs")).body["metadata"] == {}
    return [one for one in found if one["kind"] != "computed"]


def test_selecting_a_whole_list_omits_resources_that_the_person_may_not_change(
    cast: Cast, kind: Kind
) -> None:
    made(cast, kind, "a", "b", metadata={"tags": ["red"]})
    made(cast, kind, "c")
    kind.make(cast.charlie, "theirs", autoPublish=True, metadata={"tags": ["red"]})
    asked = Visitor("edgar").post(TAG, **everything(kind, "tag=red&order=id"))
    assert [one.split(":")[1] for one in boxes(asked)] == ["a", "b"]
    assert Visitor("vera").post(TAG, **everything(kind)).status == 302
    if kind is AGENTS:
        kind.make(cast.charlie, "open", visibility="public", autoPublish=True)
        asked = Visitor("edgar").post(TAG, **everything(kind))
        assert "open" not in [one.split(":")[1] for one in boxes(asked)]


def test_in_a_very_long_list_only_the_first_are_selected_and_the_page_says_so(cast: Cast, kind: Kind) -> None:
    insert_resources(kind, [f"n{number:03}" for number in range(MAX_CHOSEN + 3)])
    edgar = Visitor("edgar")
    page = edgar.get(KINDS[kind].address("changelist"), order="id")
    assert f"The first {MAX_CHOSEN} of {MAX_CHOSEN + 3} that match" in page.text
    found = boxes(edgar.post(TAG, **everything(kind, "order=id")))
    assert len(found) == MAX_CHOSEN and found[-1].split(":")[1] == f"n{MAX_CHOSEN - 1}"


def test_an_invalid_reference_to_a_list_is_refused(cast: Cast) -> None:
    for value_sent in ("", "agent", "nothing?x", f"{KINDS[PROMPT_BLOCKS].slug}?state=gone"):
        seen = Visitor("edgar").post(TAG, matching=value_sent)
        assert (seen.status, "matching" in seen.text) == (
            (302, False) if value_sent == "agent" else (400, True)
        )
