"""`serve` and its machine: the port it takes, the processes it starts, the processors they run on."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from editor_project.server import ports
from editor_project.server.processors import Processors, better
from tests.runtime.model_server import FallsSilent, running_model_server
from tests.support import fork_server
from tests.support.remote import connected
from tests.support.runs import OPENAI, agent
from tests.support.service import Service, running_service
from tests.support.streams import listening

SECONDS_WITHOUT_A_PARENT = 20
LINUX = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="Only Linux binds processes to processors."
)


def refused(service: Service, bind: str) -> str:
    """Start another `serve` on an address, which must exit, and return its one-sentence error."""
    done = fork_server.run("manage.py", "serve", "--bind", bind, env=service.environment, is_set_up=True)
    assert (done.returncode, done.stdout) == (1, "")
    [sentence] = done.stderr.splitlines()
    return sentence


def workers_of(service: Service) -> list[int]:
    """Return the processes that serve."""
    assert service.process is not None
    parent = service.process.pid
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def is_running(pid: int) -> bool:
    """Return whether a process is running; a zombie is not."""
    try:
        return re.search(r"^State:\s+Z", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE) is None
    except FileNotFoundError:
        return False


# The port


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_a_second_service_on_a_port_is_refused_and_the_first_continues(
    live_service: Service, address: str
) -> None:
    port = live_service.url.rpartition(":")[2]
    assert f":{port} is in use" in refused(live_service, f"{address}:{port}")
    with connected(live_service) as api:
        assert [api.get("/stored/agents").status for _ in range(10)] == [200] * 10


def test_a_port_of_another_program_is_refused(live_service: Service) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        bind = f"127.0.0.1:{other.getsockname()[1]}"
        assert f"{bind} is in use" in refused(live_service, bind)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_claimed_port_is_reserved_before_listening_and_shared_only_with_workers(address: str) -> None:
    try:
        first = ports.claim(address, 0)
    except ports.Unusable:
        pytest.skip(f"This machine has no address {address}.")
    port = first.getsockname()[1]
    with first:
        with pytest.raises(ports.Unusable, match=f":{port} is in use"):
            ports.claim(address, port)
        worker = socket.create_server(
            (address, port), family=first.family, reuse_port=sys.platform == "linux"
        )
        with worker, pytest.raises(ports.Unusable, match=f":{port} is in use"):
            ports.claim(address, port)
    ports.claim(address, port).close()


@pytest.mark.parametrize(
    ("bind", "reason"),
    [
        ("192.0.2.1:8000", "no address of this machine"),
        ("no-such-host.invalid:8000", "no address is known"),
        ("127.0.0.1:70000", "must look like"),
        ("127.0.0.1:-1", "must look like"),
        ("127.0.0.1", "must look like"),
        ("127.0.0.1:http", "must look like"),
        (":8000", "must look like"),
    ],
)
def test_an_invalid_address_is_refused(bind: str, reason: str) -> None:
    with pytest.raises(ports.Unusable, match=reason):
        ports.claim(*ports.parse(bind))


def test_a_port_is_free_again_after_its_service_has_ended(fresh_service: Service) -> None:
    with connected(fresh_service) as api:
        assert api.get("/stored/agents").status == 200
        fresh_service.stop()
    fresh_service.start()


# The processes


@pytest.mark.skipif(not Path("/proc").exists(), reason="Only Linux shows processes as files.")
def test_workers_end_soon_after_their_parent_was_killed_even_in_the_middle_of_a_stream(
    tmp_path: Path,
) -> None:
    with running_model_server() as model:
        environment = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "sk-test-0123456789abcdef"}
        with running_service(tmp_path, "--workers", "2", **environment) as service:
            workers = workers_of(service)
            assert len(workers) == 2
            with connected(service) as api:
                agent(api, "slow", "slow", model=OPENAI)
                model.model = lambda request: FallsSilent()
                with listening(api, "slow"):
                    assert service.process is not None
                    os.kill(service.process.pid, signal.SIGKILL)
                    service.process.wait()
                    deadline = time.monotonic() + SECONDS_WITHOUT_A_PARENT
                    while any(map(is_running, workers)) and time.monotonic() < deadline:
                        time.sleep(0.05)
                    assert not any(map(is_running, workers))


# The processors


def in_a_part_of_the_machine(question: Callable[[], object]) -> object:
    """Call a function in a process that may use only one of the processors."""

    def ask() -> object:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # of this thread alone
        return question()

    with ThreadPoolExecutor(1) as threads:
        return threads.submit(ask).result()


@LINUX
def test_workers_of_a_process_limited_to_some_processors_stay_unbound() -> None:
    if os.cpu_count() == 1:
        pytest.skip("This machine has one processor, which has no parts.")
    assert in_a_part_of_the_machine(lambda: Processors.detect("auto").order) == []
    assert in_a_part_of_the_machine(lambda: Processors.detect("on").order) == [min(os.sched_getaffinity(0))]


@LINUX
def test_workers_stay_unbound_on_request(tmp_path: Path) -> None:
    with running_service(tmp_path, EDITOR_PIN_WORKERS="off") as service:
        [worker] = workers_of(service)
        assert os.sched_getaffinity(worker) == os.sched_getaffinity(0)


@pytest.mark.parametrize(
    ("others", "kept", "target"),
    [
        ({0: 0.0, 1: 0.0}, 0, None),
        ({0: 0.2, 1: 0.0}, 0, None),
        ({0: 0.9, 1: 0.0}, 0, 1),
        ({0: 0.9, 1: 0.5, 2: 0.1}, 0, 2),
        ({0: 0.9, 1: 0.8}, 0, None),
        ({0: 0.9, 1: 0.0}, 1, None),
        ({0: 0.9}, 0, None),
    ],
)
def test_a_worker_moves_from_a_busy_processor_to_a_free_one(
    others: dict[int, float], kept: int, target: int | None
) -> None:
    assert better(others, kept) == target
