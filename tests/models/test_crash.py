"""The server is killed in the middle of a burst of saves: every acknowledged save is stored afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.api import Kind
from tests.support.remote import RemoteApi, connected
from tests.support.service import Service, running_service
from tests.support.writing import DELICATE, Job, Record, history, writing

pytestmark = [pytest.mark.processes, pytest.mark.database]

SAVES_BEFORE_THE_CRASH = 40


def crash_while(service: Service, job: Job) -> list[Record]:
    """Kill the server while the writers are at work, start it again, and return the acknowledged answers."""
    with writing(service, job) as acknowledged:
        acknowledged.wait_for(SAVES_BEFORE_THE_CRASH)
        service.kill()
    service.start()
    return acknowledged.records


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server with two worker processes; every test kills it and leaves it running again."""
    with running_service(tmp_path_factory.mktemp("crash"), "--workers", "2") as running:
        yield running


def texts(kind: Kind, versions: list[Record]) -> dict[str, str]:
    return {version["id"]: version[kind.text] for version in versions}


@pytest.mark.parametrize("publish", [False, True], ids=["drafts", "published"])
def test_every_acknowledged_save_survives_a_crash(service: Service, kind: Kind, *, publish: bool) -> None:
    resource_id = f"burst-{publish}"
    with connected(service) as api:
        kind.make(api, resource_id)

    def save(api: RemoteApi, writer: int, turn: int) -> Record:
        text = f"{DELICATE}{writer}/{turn}"
        record = kind.save(api, resource_id, text, autoPublish=publish)
        assert record[kind.text] == text
        return record

    acknowledged = crash_while(service, save)

    with connected(service) as api:
        versions = history(api, kind, resource_id)
        record = api.get(kind.url(resource_id), status="draft").body
    saved = texts(kind, versions)
    for answer in acknowledged:
        assert saved[answer["latestVersionId"]] == answer[kind.text]
    assert [version["versionNumber"] for version in versions] == list(range(1, len(versions) + 1))
    assert record["latestVersionId"] == versions[-1]["id"]
    # Saved and published in one step: a crash leaves both or neither.
    assert record["activeVersionId"] == (versions[-1]["id"] if publish else None)


def test_the_next_save_after_a_crash_takes_the_next_number(service: Service, kind: Kind) -> None:
    with connected(service) as api:
        kind.make(api, "next")
    crash_while(service, lambda api, writer, turn: kind.save(api, "next", f"{writer}/{turn}"))

    with connected(service) as api:
        before = history(api, kind, "next")
        saved = kind.save(api, "next", "after the crash")
        after = history(api, kind, "next")
    assert after[:-1] == [{**version, "state": "historical"} for version in before]
    assert (after[-1]["id"], after[-1]["versionNumber"]) == (saved["latestVersionId"], len(before) + 1)


def test_every_acknowledged_creation_survives_a_crash_and_none_is_incomplete(
    service: Service, kind: Kind
) -> None:
    def create(api: RemoteApi, writer: int, turn: int) -> Record:
        return kind.make(api, f"new/{writer}-{turn}", f"{DELICATE}{writer}/{turn}", autoPublish=True)

    acknowledged = crash_while(service, create)

    with connected(service) as api:
        listed = api.get(kind.path, status="all", search="new/", perPage=1000).body
        found = {record["id"]: record for record in listed[kind.list_key]}
        assert listed["total"] == len(found)
        for answer in acknowledged:
            assert found[answer["id"]][kind.text] == answer[kind.text]
        for record in found.values():
            [version] = history(api, kind, record["id"])
            assert record["activeVersionId"] == record["latestVersionId"] == version["id"]
            assert version["versionNumber"] == 1
