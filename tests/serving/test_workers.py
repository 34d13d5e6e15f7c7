"""Changes by one worker process are visible in the answers of the others immediately.

The server of these tests names in every answer the process that gave it, and a connection stays with
the process that accepted it: so there is one connection to each process, and the tests use both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.remote import RemoteApi, connected
from tests.support.served import reference
from tests.support.service import Service, running_service
from tests.support.worker_settings import HEADER

pytestmark = pytest.mark.processes

ATTEMPTS = 500
TURNS = 5
READERS = 4
CHANGES = 15
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


def test_no_read_returns_the_state_before_an_acknowledged_change(
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


@pytest.fixture
def resource_id(request: pytest.FixtureRequest) -> str:
    """An id for each test, since they share a server."""
    return "".join(letter if letter.isalnum() else "-" for letter in request.node.name)


def test_the_two_connections_stay_with_two_processes(both: tuple[RemoteApi, ...]) -> None:
    seen = [{api.get("/healthz").headers[HEADER] for _ in range(20)} for api in both]
    assert [len(processes) for processes in seen] == [1, 1]
    assert seen[0] != seen[1]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Only Linux says where a process may run.")
def test_each_process_runs_on_its_own_processor(both: tuple[RemoteApi, ...]) -> None:
    kept = [os.sched_getaffinity(int(api.get("/healthz").headers[HEADER])) for api in both]
    allowed = os.sched_getaffinity(0)
    assert [len(processors) for processors in kept] == [1, 1]
    assert len(set.union(*kept)) == min(2, len(allowed)) and set.union(*kept) <= allowed


def test_a_change_is_seen_by_the_next_read_of_the_other_process(
    both: tuple[RemoteApi, ...], resource_id: str
) -> None:
    PROMPT_BLOCKS.make(both[0], resource_id, "Be brief.", autoPublish=True)
    address, label = AGENTS.url(resource_id), AGENTS.url(resource_id, "labels", "stable")
    for turn in range(TURNS):
        here, there = both[turn % 2], both[1 - turn % 2]
        AGENTS.make(here, resource_id, [reference(resource_id)], autoPublish=True)
        assert there.get(f"/agents/{resource_id}").status == 200
        PROMPT_BLOCKS.save(here, resource_id, f"block {turn}", autoPublish=True)
        assert there.get(f"/agents/{resource_id}").body["instructions"] == f"block {turn}"
        tag = there.get(address).etag
        draft = AGENTS.save(here, resource_id, f"text {turn}")["latestVersionId"]
        assert there.get(address, status="draft").body["resolvedVersionId"] == draft
        assert there.patch(address, {"name": "Stale"}, if_match=tag).status == 412
        assert here.put(label, {"versionId": draft}).status == 200
        assert there.get(address, label="stable").body["resolvedVersionId"] == draft
        AGENTS.publish(here, resource_id, draft)
        assert there.get("/agents").body[resource_id]["instructions"] == f"text {turn}"
        assert here.delete(address).status == 200
        assert there.get(address).status == 404


def test_new_and_revoked_keys_take_effect_in_every_process_immediately(service: Service) -> None:
    key = service.manage("create_api_key", "robot", "--workspace", "default", "--role", "viewer")
    with ExitStack() as stack:
        both = connection_to_each(service, stack, key)
        assert [api.get("/stored/agents").status for api in both] == [200, 200]
        service.manage("revoke_api_key", key)
        assert [api.get("/stored/agents").status for api in both] == [401, 401]


def test_a_raised_role_takes_effect_in_every_process_immediately(service: Service, kind: Kind) -> None:
    name = f"climber-{kind.list_key}"
    key = service.manage("create_api_key", name, "--workspace", "default")
    with ExitStack() as stack:
        both = connection_to_each(service, stack, key)
        bodies = [kind.body(id=f"{name}-{position}") for position in range(2)]
        assert [api.post(kind.path, body).status for api, body in zip(both, bodies, strict=True)] == [403] * 2
        service.manage("create_api_key", name, "--workspace", "default", "--role", "editor")
        assert [api.post(kind.path, body).status for api, body in zip(both, bodies, strict=True)] == [201] * 2


def test_changes_by_a_process_outside_the_server_are_seen_as_well(
    service: Service, both: tuple[RemoteApi, ...], kind: Kind, resource_id: str
) -> None:
    kind.make(both[0], resource_id)
    collection = "agent" if kind is AGENTS else "prompt"
    edit = f"update({resource_id!r}, {kind.text}='from the shell', publish=True)"
    program = f"from versioning.editor import Editor; Editor().{collection}.{edit}"
    service.manage("shell", "--no-imports", "-c", program)
    assert [api.get(kind.url(resource_id)).body[kind.text] for api in both] == ["from the shell"] * 2
