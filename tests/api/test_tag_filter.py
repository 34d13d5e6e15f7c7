"""Tags: texts in the list `tags` of the metadata, found by `tag=`, for rows and for overrides in files."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Api, Kind
from tests.support.override_files import Folder, define
from versioning.conf import get_editor


def found(api: Api, kind: Kind, tag: str) -> list[str]:
    answer = api.get(kind.path, status="all", tag=tag)
    assert answer.status == 200, answer.body
    return sorted(item["id"] for item in answer.body[kind.list_key])


def tag(api: Api, kind: Kind, tags: Any, resource_id: str = "writer") -> None:
    assert api.patch(kind.url(resource_id), {"metadata": {"tags": tags}}).status == 200


@pytest.mark.database
def test_several_tags_must_all_match(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "red", metadata={"tags": ["red"]})
    kind.make(cast.alice, "both", metadata={"tags": ["blue", "red", "blue"]})
    kind.make(cast.alice, "none")
    wanted = {"red": ["both", "red"], "red,blue": ["both"], " blue ,red,red,": ["both"], "red,green": []}
    assert {names: found(cast.alice, kind, names) for names in wanted} == wanted


def test_invalid_tags_are_stored_and_never_found(cast: Cast, kind: Kind) -> None:
    odd = [1, None, True, "a,b", " c", "", "d" * 65, "e\u200b", ["f"], "Straße", "e" * 64]
    metadata = kind.make(cast.alice, metadata={"tags": odd})["metadata"]
    assert metadata == {"tags": odd}
    names = ("1", "None", "a", "b", "a,b", "c", "d" * 65, "d", "e", "e\u200b", "f", "strasse", "straße")
    assert {name: found(cast.alice, kind, name) for name in names} == {name: [] for name in names}
    assert found(cast.alice, kind, f"Straße,{'e' * 64}") == ["writer"]
    tag(cast.alice, kind, "Straße")
    assert found(cast.alice, kind, "Straße") == []


def test_a_filter_of_more_tags_than_allowed_finds_nothing(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, metadata={"tags": [str(number) for number in range(60)]})
    assert found(cast.alice, kind, ",".join(map(str, range(50)))) == ["writer"]
    assert found(cast.alice, kind, ",".join(map(str, range(1_500)))) == []


@pytest.mark.database
def test_the_tag_filter_reflects_every_change_immediately(cast: Cast, kind: Kind) -> None:
    before = kind.make(cast.alice)
    tag(cast.edgar, kind, ["red", "blue"])
    assert found(cast.edgar, kind, "red,blue") == ["writer"]
    assert [one["id"] for one in kind.versions(cast.alice)] == [before["latestVersionId"]]
    tag(cast.edgar, kind, ["blue", "green"])
    assert (found(cast.edgar, kind, "red"), found(cast.edgar, kind, "blue,green")) == ([], ["writer"])
    assert cast.edgar.post(kind.url("writer", "clone") + "?status=draft", {"newId": "copy"}).status == 201
    assert found(cast.edgar, kind, "green") == ["copy", "writer"]
    assert cast.alice.patch(kind.url("copy"), {"metadata": None}).status == 200
    assert cast.alice.delete(kind.url("writer")).status == 200
    assert found(cast.alice, kind, "green") == []
    kind.make(cast.alice)
    assert found(cast.alice, kind, "green") == []


def test_a_refused_change_leaves_the_tags_unchanged(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, metadata={"tags": ["red"]})
    body = {"metadata": {"tags": ["blue"]}}
    assert cast.vera.patch(kind.url("writer"), body).status in {403, 404}
    assert cast.edgar.patch(kind.url("writer"), {**body, "autoPublish": True}).status == 403
    assert cast.alice.patch(kind.url("writer"), body, if_match='"other"').status == 412
    assert (found(cast.alice, kind, "red"), found(cast.alice, kind, "blue")) == (["writer"], [])


def test_a_tag_filter_finds_only_readable_resources(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "live", autoPublish=True, metadata={"tags": ["red"]})
    kind.make(cast.alice, "fresh", autoPublish=False, metadata={"tags": ["red"]})
    kind.make(cast.charlie, "theirs", workspaceId="elsewhere", metadata={"tags": ["red"]})
    seen = {name: found(getattr(cast, name), kind, "red") for name in ("edgar", "vera", "charlie")}
    assert seen == {"edgar": ["fresh", "live"], "vera": ["live"], "charlie": ["theirs"]}


def test_overrides_in_files_have_tags_too(cast: Cast, folder: Folder, settings: Any) -> None:
    define(settings, folder.root)
    folder.put({"instructions": "by hand"})
    get_editor().agent.update("answers", {}, metadata={"tags": ["red"]}, publish=False)
    assert found(cast.root, AGENTS, "red") == ["answers"]
    assert found(cast.root, AGENTS, "blue") == []


@pytest.mark.database
def test_a_tag_is_found_in_either_normal_form(cast: Cast, kind: Kind) -> None:
    for name, spelling in (("composed", "Caf\u00e9"), ("decomposed", "Cafe\u0301")):
        kind.make(cast.alice, name, metadata={"tags": [spelling]})
    for typed in ("Caf\u00e9", "Cafe\u0301"):
        assert found(cast.alice, kind, typed) == ["composed", "decomposed"]
