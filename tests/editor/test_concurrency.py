"""Several people and programs save at the same moment, on a server with two worker processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.api import AGENTS, Answer, Kind
from tests.support.remote import RemoteApi, at_once, connected
from tests.support.service import Service, running_service

pytestmark = [pytest.mark.processes, pytest.mark.database]

EDITORS = 8
SAVES_EACH = 5
CREATORS = 8

Record = dict[str, Any]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server with two worker processes."""
    with running_service(tmp_path_factory.mktemp("concurrency"), "--workers", "2") as running:
        yield running


@pytest.fixture
def api(service: Service) -> Iterator[RemoteApi]:
    """An idle connection, for checking the results of the other connections."""
    with connected(service) as connection:
        yield connection


@dataclass(frozen=True)
class Save:
    """A text that an editor sent, and the answer."""

    text: str
    answer: Answer

    @property
    def version_id(self) -> str:
        """The version that the answer says was made."""
        return str(self.answer.body["latestVersionId"])


def editor(kind: Kind, resource_id: str, name: int, **body: Any) -> Callable[[RemoteApi], list[Save]]:
    """Return an editor who saves several different texts in sequence."""

    def save_all(api: RemoteApi) -> list[Save]:
        texts = [f"text {turn} of editor {name}" for turn in range(SAVES_EACH)]
        address = kind.url(resource_id)
        return [Save(text, api.patch(address, {kind.text: text, **body})) for text in texts]

    return save_all


def saves_of_all(service: Service, kind: Kind, resource_id: str, **body: Any) -> list[Save]:
    editors = [editor(kind, resource_id, name, **body) for name in range(EDITORS)]
    return [save for saves in at_once(service, editors) for save in saves]


def history(api: RemoteApi, kind: Kind, resource_id: str) -> list[Record]:
    """Return every version, oldest first."""
    page = api.get(kind.url(resource_id, "versions"), **{"perPage": 1000, "orderBy[direction]": "ASC"}).body
    assert page["total"] == len(page["versions"])
    return list(page["versions"])


def numbers(versions: list[Record]) -> list[int]:
    return [version["versionNumber"] for version in versions]


def test_concurrent_saves_take_consecutive_numbers_and_each_publishes_its_own_version(
    service: Service, api: RemoteApi, kind: Kind
) -> None:
    kind.make(api, "live")
    saves = saves_of_all(service, kind, "live", autoPublish=True)
    assert Counter(save.answer.status for save in saves) == {200: EDITORS * SAVES_EACH}

    versions = {version["id"]: version for version in history(api, kind, "live")}
    assert sorted(numbers(list(versions.values()))) == list(range(1, EDITORS * SAVES_EACH + 2))
    for save in saves:
        answer = save.answer.body
        assert answer["activeVersionId"] == answer["resolvedVersionId"] == save.version_id
        assert answer[kind.text] == versions[save.version_id][kind.text] == save.text

    newest = max(versions.values(), key=lambda version: version["versionNumber"])
    assert [version["id"] for version in versions.values() if version["state"] == "published"] == [
        newest["id"]
    ]


def test_exactly_one_of_concurrent_creations_with_one_id_succeeds(
    service: Service, api: RemoteApi, kind: Kind
) -> None:
    def creator(name: int) -> Callable[[RemoteApi], Save]:
        text = f"made by {name}"
        return lambda api: Save(text, api.post(kind.path, kind.body(text, id="wanted")))

    made = at_once(service, [creator(name) for name in range(CREATORS)])
    assert Counter(save.answer.status for save in made) == {201: 1, 409: CREATORS - 1}
    assert {save.answer.code for save in made if save.answer.status == 409} == {"id_taken"}

    [winner] = [save for save in made if save.answer.status == 201]
    [version] = history(api, kind, "wanted")
    assert (version["id"], version[kind.text]) == (winner.version_id, winner.text)
    assert len(list_of(api, kind, search="wanted")) == 1
    assert_no_orphans(service, kind)


def test_concurrent_edits_of_different_fields_are_all_saved(
    service: Service, api: RemoteApi, kind: Kind
) -> None:
    record = kind.make(api, "shared")
    edits: list[Record] = [
        {"name": "A new name"},
        {"description": "A new description"},
        {kind.text: "A new text"},
        {"requestContextSchema": {"type": "object"}},
        {"metadata": {"team": "blue"}},
        {"metadata": {"cost": 7}},
    ]

    def sender(edit: Record) -> Callable[[RemoteApi], Answer]:
        return lambda api: api.patch(kind.url("shared"), edit)

    answers = at_once(service, [sender(edit) for edit in edits])
    assert [answer.status for answer in answers] == [200] * len(edits)

    after = api.get(kind.url("shared"), status="draft").body
    expected = {**edits[0], **edits[1], **edits[2], **edits[3], "metadata": {"team": "blue", "cost": 7}}
    assert {field: after[field] for field in expected} == expected
    assert after["latestVersionId"] != record["latestVersionId"]
    assert numbers(history(api, kind, "shared")) == [1, 2, 3, 4, 5]


def test_exactly_one_of_concurrent_saves_from_one_base_succeeds(
    service: Service, api: RemoteApi, kind: Kind
) -> None:
    kind.make(api, "guarded")
    tag = api.get(kind.url("guarded"), status="draft").etag

    def sender(name: int) -> Callable[[RemoteApi], Answer]:
        return lambda api: api.patch(kind.url("guarded"), {kind.text: f"by {name}"}, if_match=tag)

    answers = at_once(service, [sender(name) for name in range(EDITORS)])
    assert Counter(answer.status for answer in answers) == {200: 1, 412: EDITORS - 1}

    [winner] = [answer.body["latestVersionId"] for answer in answers if answer.status == 200]
    told = {answer.body["current"]["latestVersionId"] for answer in answers if answer.status == 412}
    assert told == {winner}
    assert numbers(history(api, kind, "guarded")) == [1, 2]


def test_concurrent_publications_of_different_versions_leave_one_active(
    service: Service, api: RemoteApi, kind: Kind
) -> None:
    kind.make(api, "fought-over")
    for turn in range(EDITORS - 1):
        kind.save(api, "fought-over", f"text {turn}")
    ids = [version["id"] for version in history(api, kind, "fought-over")]

    def publisher(version_id: str) -> Callable[[RemoteApi], Answer]:
        return lambda api: api.post(kind.url("fought-over", "versions", version_id, "activate"))

    answers = at_once(service, [publisher(version_id) for version_id in ids])
    assert [(answer.status, answer.body["activeVersionId"]) for answer in answers] == [
        (200, version_id) for version_id in ids
    ]
    published = [version for version in history(api, kind, "fought-over") if version["state"] == "published"]
    assert [version["id"] for version in published] == [
        api.get(kind.url("fought-over")).body["activeVersionId"]
    ]


def test_saves_fail_after_a_concurrent_deletion_which_leaves_nothing_behind(
    service: Service, api: RemoteApi, kind: Kind
) -> None:
    kind.make(api, "doomed")

    def deleter(api: RemoteApi) -> list[Save]:
        return [Save("", api.delete(kind.url("doomed")))]

    *edits, [deletion] = at_once(
        service, [*(editor(kind, "doomed", name) for name in range(EDITORS)), deleter]
    )
    assert deletion.answer.status == 200
    statuses = [[save.answer.status for save in saves] for saves in edits]
    assert {status for each in statuses for status in each} <= {200, 404}
    assert all(each == sorted(each) for each in statuses), "a save succeeded after one that found nothing"
    assert api.get(kind.url("doomed")).status == 404
    assert_no_orphans(service, kind)


def list_of(api: RemoteApi, kind: Kind, **query: str) -> list[Record]:
    return list(api.get(kind.path, status="all", **query).body[kind.list_key])


def assert_no_orphans(service: Service, kind: Kind) -> None:
    """Assert that no version is without its resource, and that no pointer names a missing version."""
    name = "Agent" if kind is AGENTS else "PromptBlock"
    question = (
        f"from versioning.models import {name} as R; V = R.version_model.objects; "
        "print(V.exclude(resource_id__in=R.objects.values('pk')).count(), "
        "R.objects.exclude(latest_version_id__in=V.values('pk')).count())"
    )
    assert service.manage("shell", "--no-imports", "-c", question) == "0 0"
