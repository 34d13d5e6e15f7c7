"""What one worker process changes, the others answer with at once.

The server of these tests says in every answer which process gave it, and a connection stays with
the process that accepted it: so there is one connection to each process, and both are asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Kind
from tests.support.remote import RemoteApi, connected
from tests.support.service import Service, running_service
from tests.support.worker_settings import HEADER

ATTEMPTS = 500
TURNS = 5
READERS = 6
CHANGES = 60
SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "tests.support.worker_settings",
    # `auto` binds no worker where the tests were given only a part of the machine.
    "EDITOR_PIN_WORKERS": "on",
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server with two worker processes, whose answers name them."""
    with running_service(tmp_path_factory.mktemp("workers"), "--workers", "2", **SETTINGS) as running:
        yield running


def connection_to_each(service: Service, stack: ExitStack, key: str | None = None) -> tuple[RemoteApi, ...]:
    """Open connections until both worker processes have accepted one, and return one to each."""
    found: dict[str, RemoteApi] = {}
    for _ in range(ATTEMPTS):
        api = stack.enter_context(connected(service, key))
        found.setdefault(api.get("/healthz").headers[HEADER], api)
        if len(found) == 2:
            return tuple(found.values())
    pytest.fail(f"{ATTEMPTS} connections, and all went to one process")


@pytest.fixture(scope="module")
def both(service: Service) -> Iterator[tuple[RemoteApi, ...]]:
    """A connection to each worker process, always the same two."""
    with ExitStack() as stack:
        yield connection_to_each(service, stack)


def test_nobody_reads_what_was_before_a_change_that_is_acknowledged(
    service: Service, both: tuple[RemoteApi, ...]
) -> None:
    AGENTS.make(both[0], "hot", autoPublish=True)
    acknowledged, is_over = 0, Event()

    def read_on() -> int:
        reads = 0
        with connected(service) as api:
            while not is_over.is_set():
                least = acknowledged
                found = int(api.get("/agents/hot").body["description"] or 0)
                assert found >= least
                reads += 1
        return reads

    with ThreadPoolExecutor(READERS) as threads:
        readers = [threads.submit(read_on) for _ in range(READERS)]
        try:
            for number in range(1, CHANGES + 1):
                change = {"description": str(number), "autoPublish": True}
                assert both[number % 2].patch(AGENTS.url("hot"), change).status == 200
                acknowledged = number
                assert {api.get("/agents/hot").body["description"] for api in both} == {str(number)}
        finally:
            is_over.set()
        assert all(reader.result() > CHANGES for reader in readers)


@pytest.fixture(params=[(0, 1), (1, 0)], ids=["forth", "back"])
def pair(request: pytest.FixtureRequest, both: tuple[RemoteApi, ...]) -> tuple[RemoteApi, RemoteApi]:
    """One process in which something is changed, and another in which it is read."""
    here, there = request.param
    return both[here], both[there]


@pytest.fixture
def here(pair: tuple[RemoteApi, RemoteApi]) -> RemoteApi:
    """The process in which something is changed."""
    return pair[0]


@pytest.fixture
def there(pair: tuple[RemoteApi, RemoteApi]) -> RemoteApi:
    """The process in which it is read."""
    return pair[1]


@pytest.fixture
def resource_id(request: pytest.FixtureRequest) -> str:
    """An id for each test, since they share a server."""
    return "".join(letter if letter.isalnum() else "-" for letter in request.node.name)


def edited(kind: Kind, api: RemoteApi, resource_id: str, text: str) -> str:
    """Save an edit and return the id of its version."""
    return str(kind.save(api, resource_id, text)["latestVersionId"])


def test_the_two_connections_stay_with_two_processes(both: tuple[RemoteApi, ...]) -> None:
    seen = [{api.get("/healthz").headers[HEADER] for _ in range(20)} for api in both]
    assert [len(processes) for processes in seen] == [1, 1]
    assert seen[0] != seen[1]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Only Linux says where a process may run.")
def test_each_process_keeps_to_a_processor_of_its_own(both: tuple[RemoteApi, ...]) -> None:
    kept = [os.sched_getaffinity(int(api.get("/healthz").headers[HEADER])) for api in both]
    allowed = os.sched_getaffinity(0)
    assert [len(processors) for processors in kept] == [1, 1]
    assert len(set.union(*kept)) == min(2, len(allowed)) and set.union(*kept) <= allowed


def test_a_publish_is_seen_by_the_next_read(
    kind: Kind, here: RemoteApi, there: RemoteApi, resource_id: str
) -> None:
    kind.make(here, resource_id, autoPublish=True)
    for turn in range(TURNS):
        assert there.get(kind.url(resource_id)).status == 200
        version_id = edited(kind, here, resource_id, f"text {turn}")
        kind.publish(here, resource_id, version_id)
        record = there.get(kind.url(resource_id)).body
        assert (record["activeVersionId"], record[kind.text]) == (version_id, f"text {turn}")


def test_a_publish_is_served_by_the_next_read(here: RemoteApi, there: RemoteApi, resource_id: str) -> None:
    AGENTS.make(here, resource_id, autoPublish=True)
    for turn in range(TURNS):
        AGENTS.save(here, resource_id, f"text {turn}", autoPublish=True)
        assert there.get(f"/agents/{resource_id}").body["instructions"] == f"text {turn}"
        assert there.get("/agents").body[resource_id]["instructions"] == f"text {turn}"


def test_a_published_block_is_served_in_the_agents_that_use_it(
    here: RemoteApi, there: RemoteApi, resource_id: str
) -> None:
    PROMPT_BLOCKS.make(here, resource_id, "Be brief.", autoPublish=True)
    instructions = [{"type": "prompt_block_ref", "id": resource_id}]
    AGENTS.make(here, resource_id, instructions=instructions, autoPublish=True)
    for turn in range(TURNS):
        assert there.get(f"/agents/{resource_id}").status == 200
        PROMPT_BLOCKS.save(here, resource_id, f"text {turn}", autoPublish=True)
        assert there.get(f"/agents/{resource_id}").body["instructions"] == f"text {turn}"


def test_a_draft_is_seen_by_the_next_read_and_served_by_none(
    kind: Kind, here: RemoteApi, there: RemoteApi, resource_id: str
) -> None:
    kind.make(here, resource_id, "published", autoPublish=True)
    for turn in range(TURNS):
        version_id = edited(kind, here, resource_id, f"text {turn}")
        draft = there.get(kind.url(resource_id), status="draft").body
        assert (draft["resolvedVersionId"], draft[kind.text]) == (version_id, f"text {turn}")
        assert there.get(kind.url(resource_id)).body[kind.text] == "published"


def test_an_unpublish_is_seen_by_the_next_read(
    kind: Kind, here: RemoteApi, there: RemoteApi, resource_id: str
) -> None:
    version_id = kind.make(here, resource_id, autoPublish=True)["activeVersionId"]
    for _ in range(TURNS):
        assert there.get(kind.url(resource_id)).body["status"] == "published"
        assert here.post(kind.url(resource_id, "unpublish")).status == 200
        record = there.get(kind.url(resource_id)).body
        assert (record["status"], record["activeVersionId"]) == ("draft", None)
        kind.publish(here, resource_id, version_id)


def test_an_unpublished_agent_is_served_as_a_fallback_by_the_next_read(
    here: RemoteApi, there: RemoteApi, resource_id: str
) -> None:
    AGENTS.make(here, resource_id, autoPublish=True)
    assert there.get(f"/agents/{resource_id}").body["fallback"] is None
    assert here.post(AGENTS.url(resource_id, "unpublish")).status == 200
    served = there.get(f"/agents/{resource_id}").body
    assert (served["activeVersionId"], served["fallback"]["code"]) == (None, "no_published_version")


def test_a_moved_label_is_seen_by_the_next_read(
    kind: Kind, here: RemoteApi, there: RemoteApi, resource_id: str
) -> None:
    first = kind.make(here, resource_id)["latestVersionId"]
    second = edited(kind, here, resource_id, "two")
    for version_id, text in [(first, "one"), (second, "two")] * TURNS:
        label = here.put(kind.url(resource_id, "labels", "stable"), {"versionId": version_id})
        assert label.status == 200
        record = there.get(kind.url(resource_id), label="stable").body
        assert (record["resolvedVersionId"], record[kind.text]) == (version_id, text)


def test_a_removed_label_is_missed_by_the_next_read(
    kind: Kind, here: RemoteApi, there: RemoteApi, resource_id: str
) -> None:
    version_id = kind.make(here, resource_id)["latestVersionId"]
    for _ in range(TURNS):
        here.put(kind.url(resource_id, "labels", "stable"), {"versionId": version_id})
        assert there.get(kind.url(resource_id), label="stable").status == 200
        assert here.delete(kind.url(resource_id, "labels", "stable")).status == 200
        assert there.get(kind.url(resource_id), label="stable").status == 404


def test_a_deletion_is_seen_by_the_next_read_and_so_is_what_takes_its_place(
    kind: Kind, here: RemoteApi, there: RemoteApi, resource_id: str
) -> None:
    for turn in range(TURNS):
        kind.make(here, resource_id, f"text {turn}", autoPublish=True)
        assert there.get(kind.url(resource_id)).body[kind.text] == f"text {turn}"
        assert here.delete(kind.url(resource_id)).status == 200
        assert there.get(kind.url(resource_id)).status == 404


def test_processes_agree_on_the_tag_of_a_resource(
    kind: Kind, here: RemoteApi, there: RemoteApi, resource_id: str
) -> None:
    kind.make(here, resource_id, autoPublish=True)
    address = kind.url(resource_id)
    tag = here.get(address).etag
    assert there.request("GET", address, if_none_match=tag).status == 304
    kind.save(here, resource_id)
    assert there.request("GET", address, if_none_match=tag).status == 200
    assert there.patch(address, {"name": "Stale"}, if_match=tag).status == 412


def with_key(service: Service, key: str) -> list[Answer]:
    """Ask both processes with this key."""
    with ExitStack() as stack:
        return [api.get("/stored/agents") for api in connection_to_each(service, stack, key)]


def test_a_new_key_opens_every_process_and_a_revoked_one_none(service: Service) -> None:
    key = service.manage("create_api_key", "robot", "--workspace", "default", "--role", "viewer")
    with ExitStack() as stack:
        both = connection_to_each(service, stack, key)
        assert [api.get("/stored/agents").status for api in both] == [200, 200]
        service.manage("revoke_api_key", key)
        assert [api.get("/stored/agents").status for api in both] == [401, 401]
    assert [answer.status for answer in with_key(service, key)] == [401, 401]


def test_a_raised_role_holds_in_every_process_at_once(service: Service, kind: Kind) -> None:
    name = f"climber-{kind.list_key}"
    key = service.manage("create_api_key", name, "--workspace", "default")
    with ExitStack() as stack:
        both = connection_to_each(service, stack, key)
        bodies = [kind.body(id=f"{name}-{position}") for position in range(2)]
        assert [api.post(kind.path, body).status for api, body in zip(both, bodies, strict=True)] == [403] * 2
        service.manage("create_api_key", name, "--workspace", "default", "--role", "editor")
        assert [api.post(kind.path, body).status for api, body in zip(both, bodies, strict=True)] == [201] * 2


def test_another_process_of_the_machine_is_seen_as_well(
    service: Service, both: tuple[RemoteApi, ...], kind: Kind, resource_id: str
) -> None:
    kind.make(both[0], resource_id)
    collection = "agent" if kind is AGENTS else "prompt"
    edit = f"update({resource_id!r}, {kind.text}='from the shell', publish=True)"
    program = f"from versioning.editor import Editor; Editor().{collection}.{edit}"
    service.manage("shell", "--no-imports", "-c", program)
    assert [api.get(kind.url(resource_id)).body[kind.text] for api in both] == ["from the shell"] * 2
