"""The API reads from a streaming replica, and no answer is older than on the primary."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from urllib.parse import urlsplit
from urllib.request import urlopen

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer
from tests.support.ports import free_port
from tests.support.postgres import programs, standby, throwaway_postgres
from tests.support.relay import Relay, relay_to
from tests.support.remote import connected
from tests.support.service import Service, environment_of, template_database
from tests.support.streams import beside

pytestmark = pytest.mark.postgresql

LAG = 5.0
SECONDS = 20.0


@dataclass(frozen=True)
class Machines:
    """Two machines with `serve`, the way to the replica of their database, and the replica itself."""

    here: Service
    there: Service
    way: Relay
    replica: psycopg.Connection[tuple[object, ...]]

    def pause(self) -> None:
        self.replica.execute("SELECT pg_wal_replay_pause()")

    def resume(self) -> None:
        self.way.recover()
        self.replica.execute("SELECT pg_wal_replay_resume()")
        wait_for(lambda: self.state() == "current")

    def state(self) -> str:
        with urlopen(f"{self.there.url}/readyz", timeout=SECONDS) as answer:
            return str(json.load(answer)["replica"])


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    folder = tmp_path_factory.mktemp("replica")
    template = template_database()
    with (
        throwaway_postgres() as primary,
        standby(primary) as replica,
        relay_to(replica) as way,
        psycopg.connect(replica, autocommit=True) as connection,
    ):
        copy(template.url, primary)
        url = urlsplit(replica)
        through = url._replace(netloc=f"{url.username}:{url.password}@{urlsplit(way.url).netloc}").geturl()
        environment = environment_of(
            primary,
            DATABASE_REPLICA_URL=through,
            EDITOR_REPLICA_LAG=str(LAG),
            EDITOR_METRICS_BIND=f"127.0.0.1:{free_port()}",
        )
        here = beside(Service(url="", environment=environment, folder=folder, key=template.key), folder)
        there = beside(here, folder, EDITOR_METRICS_BIND=f"127.0.0.1:{free_port()}")
        here.start()
        there.start()
        yield Machines(here, there, way, connection)
        there.stop()
        here.stop()


@pytest.fixture
def machines(started: Machines) -> Iterator[Machines]:
    started.resume()
    yield started
    started.resume()


def copy(source: str, target: str) -> None:
    """Copy a database into an empty one of another server."""
    dumped = subprocess.run([programs() / "pg_dump", source], capture_output=True, check=True)
    subprocess.run([programs() / "psql", "-q", target], input=dumped.stdout, capture_output=True, check=True)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def reads(service: Service) -> Counter[str]:
    bind = service.environment["EDITOR_METRICS_BIND"]
    with urlopen(f"http://{bind}/metrics", timeout=SECONDS) as answer:
        text = answer.read().decode()
    found: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "editor_reads_total":
                found[sample.labels["database"]] += int(sample.value)
    return found


def read(machines: Machines, path: str) -> tuple[Answer, str]:
    """Read something on the other machine; return the answer and where it came from."""
    before = reads(machines.there)
    with connected(machines.there) as api:
        answer = api.get(path)
    found = reads(machines.there) - before
    return answer, "+".join(found.elements()) or "memory"


def made(machines: Machines, *ids: str) -> None:
    """Make published agents here, let the other machine follow the log so far, and wait for the replica.

    For a process that has not followed the log yet, everything counts as changed.
    """
    with connected(machines.here) as api:
        for one in ids:
            AGENTS.make(api, one, autoPublish=True)
    assert read(machines, "/agents/missing")[0].status == 404
    wait_for(lambda: machines.state() == "current")


def test_a_replica_that_is_not_behind_answers_reads(machines: Machines) -> None:
    made(machines, "reader")
    paths = ["/agents/reader", AGENTS.url("reader"), AGENTS.url("reader", "versions"), AGENTS.path]
    found = [read(machines, path) for path in paths]
    assert {(answer.status, origin) for answer, origin in found} == {(200, "replica")}
    assert read(machines, "/agents/reader")[1] == "memory"
    assert read(machines, "/agents/missing")[0].status == 404
    assert read(machines, f"{AGENTS.url('reader')}?status=nonsense")[0].status == 400


def test_while_it_is_behind_it_answers_what_has_not_changed(machines: Machines) -> None:
    made(machines, "changed", "unchanged", "other")
    machines.pause()
    with connected(machines.here) as api:
        saved = AGENTS.save(api, "changed", "two", autoPublish=True)
        AGENTS.make(api, "created", autoPublish=True)
        told = api.get("/events", limit=100).body["events"][-4:]
    assert {one["resource"]["id"] for one in told} == {"changed", "created"}
    answer, origin = read(machines, "/agents/changed")
    assert (answer.body["instructions"], origin) == ("two", "primary")
    assert read(machines, AGENTS.url("changed"))[0].body["resolvedVersionId"] == saved["resolvedVersionId"]
    assert (read(machines, "/agents/created")[0].status, read(machines, AGENTS.path)[1]) == (200, "primary")
    assert read(machines, "/agents/unchanged")[1] == "replica"
    machines.resume()
    assert read(machines, AGENTS.url("changed", "versions"))[1] == "replica"


def test_a_block_that_has_changed_sends_its_agents_to_the_primary(machines: Machines) -> None:
    with connected(machines.here) as api:
        PROMPT_BLOCKS.make(api, "tone", "kind", autoPublish=True)
        blocks = [{"type": "prompt_block_ref", "id": "tone"}]
        AGENTS.make(api, "polite", blocks, autoPublish=True)
        wait_for(lambda: machines.state() == "current")
        machines.pause()
        PROMPT_BLOCKS.save(api, "tone", "kinder", autoPublish=True)
    answer, origin = read(machines, "/agents/polite")
    assert (answer.body["instructions"], origin) == ("kinder", "primary")


def test_a_replica_that_is_late_is_left_alone_and_comes_back(machines: Machines) -> None:
    made(machines, "late", "later", "latest")
    machines.pause()
    with connected(machines.here) as api:
        AGENTS.save(api, "late", "two")
    assert read(machines, "/agents/later")[1] == "replica"
    wait_for(lambda: machines.state() == "late")
    # A process counts from when it has heard of the change; what it read from the replica stays in memory.
    pages = (f"{AGENTS.url('latest', 'versions')}?perPage={size}" for size in count(1))
    wait_for(lambda: read(machines, next(pages))[1] == "primary")
    assert read(machines, "/agents/latest")[1] == "primary"
    assert "late" in machines.here.manage("status")
    machines.resume()
    assert read(machines, AGENTS.url("latest"))[1] == "replica"


@pytest.mark.parametrize("lose", [Relay.cut, Relay.fall_silent])
def test_a_replica_that_is_gone_is_left_alone_and_comes_back(
    machines: Machines, lose: Callable[[Relay], None]
) -> None:
    ids = [f"{lose.__name__.replace('_', '-')}-{number}" for number in range(6)]
    made(machines, *ids)
    lose(machines.way)
    for one in ids[:3]:
        answer, origin = read(machines, "/agents/" + one)
        assert (answer.status, origin) == (200, "primary")
    assert machines.state() == "gone"
    machines.resume()
    wait_for(lambda: read(machines, AGENTS.url(ids.pop()))[1] == "replica")


def test_rights_are_those_of_the_primary(machines: Machines) -> None:
    made(machines, "guarded")
    key = machines.here.manage("create_api_key", "leaver", "--workspace", "default", "--role", "viewer")
    wait_for(lambda: machines.state() == "current")
    with connected(machines.there, key) as api:
        assert api.get("/agents/guarded").status == 200
        machines.pause()
        machines.here.manage("revoke_api_key", key)
        assert (api.get("/agents/guarded").status, api.get(AGENTS.path).status) == (401, 401)
