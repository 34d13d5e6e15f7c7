"""One client shared by threads, coroutines and forked processes; and its settings, errors and results."""

from __future__ import annotations

import asyncio
import copy
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from editor_client import AsyncClient, Client, EditConflict

from tests.support.clients import Clients
from tests.support.misbehaving import Handler, Misbehaving, hang_up, record, says
from tests.support.service import ROOT, Service

THREADS = 16
READS = 20


def echoes_the_id(handler: Handler) -> None:
    """Answer with the record of the requested agent."""
    record(None, id=handler.path.partition("?")[0].rpartition("/")[2])(handler)


def test_threads_share_a_client(server: Misbehaving) -> None:
    server.does(echoes_the_id)
    with Client(server.url, api_key="ek_test", max_age=0.001) as client:

        def read(number: int) -> set[str]:
            return {client.get_agent(f"agent-{number % 5}").details().id for _ in range(READS)}

        with ThreadPoolExecutor(THREADS) as threads:
            found = list(threads.map(read, range(THREADS)))
    assert found == [{f"agent-{number % 5}"} for number in range(THREADS)]


def test_coroutines_share_a_client(server: Misbehaving) -> None:
    server.does(echoes_the_id)

    async def read_all() -> list[str]:
        async with AsyncClient(server.url, api_key="ek_test") as client:
            reads = [client.get_agent(f"agent-{number % 5}").details() for number in range(50)]
            return [found.id for found in await asyncio.gather(*reads)]

    assert asyncio.run(read_all()) == [f"agent-{number % 5}" for number in range(50)]


def test_a_cancelled_coroutine_leaves_the_client_usable(server: Misbehaving) -> None:
    async def cancel() -> str | None:
        async with AsyncClient(server.url, api_key="ek_test") as client:
            reading = asyncio.create_task(client.get_agent("writer").details())
            await asyncio.to_thread(server.wait_for, 1)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            server.does(record())
            return (await client.get_agent("writer").details()).instructions

    server.does(lambda handler: server.closing.wait(60))
    assert asyncio.run(cancel()) == "one"


def test_only_one_thread_waits_for_a_server_that_is_down(server: Misbehaving) -> None:
    may_answer = threading.Event()
    with Client(server.url, api_key="ek_test", retries=0) as client:
        server.does(record(), hang_up)
        client.get_agent("writer").details()
        assert client.get_agent("writer").details().stale
        server.does(lambda handler: (may_answer.wait(60), hang_up(handler))[1])
        asking = threading.Thread(target=client.get_agent("writer").details)
        asking.start()
        server.wait_for(1)
        assert [client.get_agent("writer").details().stale for _ in range(3)] == [True] * 3
        assert len(server.asked) == 1
        may_answer.set()
        asking.join()


FORKING = """
import os, sys
from editor_client import Client

url, key, agent = sys.argv[1:]
with Client(url, api_key=key, stale_while_revalidate=1000) as client:
    before = client.get_agent(agent).details()
    child = os.fork()
    same = client.get_agent(agent).details() is before
    listed = client.list_stored_agents(search=agent).total
    if child == 0:
        client.close()
        os._exit(0 if same and listed == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.list_stored_agents(search=agent).total == 1
"""


@pytest.mark.processes
def test_a_forked_process_has_its_own_connections(live_service: Service, new_id: str) -> None:
    with Client(live_service.url, api_key=live_service.key) as client:
        client.create_stored_agent(id=new_id, name="Writer", instructions="one")
    command = [sys.executable, "-c", FORKING, live_service.url, live_service.key, new_id]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_client_has_no_threads(server: Misbehaving) -> None:
    with Client(server.url, api_key="ek_test", stale_while_revalidate=1000) as client:
        server.does(record())
        client.get_agent("writer").details()
        client.get_agent("writer").details()
        server.wait_for(2)
    names = [thread.name for thread in threading.enumerate()]
    assert not any(name.startswith("editor-client") for name in names)


def test_the_key_is_sent_and_not_shown(connect: Clients, server: Misbehaving) -> None:
    client = connect(server.url, "ek_very_secret", api_prefix="/other/api/")
    server.does(record())
    client.get_agent("writer").details()
    (asked,) = server.asked
    assert asked.headers["authorization"] == "Bearer ek_very_secret"
    assert asked.path == "/other/api/agents/writer?form=parts"
    assert "secret" not in repr(client) + repr(vars(client.get_agent("writer")))


SENSELESS: list[dict[str, Any]] = [
    {"url": "127.0.0.1:8000"},
    {"url": "ftp://127.0.0.1"},
    {"api_key": ""},
    {"api_key": "ek_ü"},
    {"api_key": "ek\n"},
    {"api_key": "Bearer ek_test"},
    {"timeout": 0},
    {"timeout": -1},
    {"run_timeout": 0},
    {"retries": -1},
    {"max_age": -1},
    {"max_age": float("nan")},
    {"stale_while_revalidate": -1},
    {"updates": "push"},
    {"max_age": 1, "updates": "poll"},
    {"stale_while_revalidate": 1, "updates": "stream"},
    {"on_unauthorized": "raise"},
]


def test_an_invalid_setting_is_named() -> None:
    for setting in SENSELESS:
        settings = {"url": "http://127.0.0.1", "api_key": "ek_test", **setting}
        url = settings.pop("url")
        for kind in (Client, AsyncClient):
            with pytest.raises(ValueError, match=next(iter(setting))):
                kind(url, **settings)


def test_errors_and_results_can_be_pickled(connect: Clients, server: Misbehaving) -> None:
    server.does(says(412, {"error": "Changed.", "code": "edit_conflict", "current": {"savedBy": "ann"}}))
    with pytest.raises(EditConflict) as raised:
        connect(server.url).get_stored_agent("writer").update(description="x", base='"1"')
    error = pickle.loads(pickle.dumps(raised.value))
    assert (error.message, error.status, error.current) == ("Changed.", 412, {"savedBy": "ann"})
    server.does(record(tools={"a": {}}))
    found = connect(server.url).get_stored_agent("writer").details()
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert (again, again.tools, again.etag) == (found, {"a": {}}, '"1"')
