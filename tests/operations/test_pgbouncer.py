"""Behind pgbouncer in transaction mode, where each transaction may get another connection."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.api import AGENTS
from tests.support.installation import Installation, installation
from tests.support.ports import free_port, wait_for
from tests.support.remote import connected

PROGRAM = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
CONFIGURATION = """
[databases]
* = host={host} port={server_port} user={user} password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
"""


@contextmanager
def pooled(database_url: str, folder: Path) -> Iterator[str]:
    """Start pgbouncer, with three connections to the server of a database; yield the URL through it."""
    url, port = urlsplit(database_url), free_port()
    given = {"host": url.hostname, "server_port": url.port, "user": url.username, "password": url.password}
    log = folder / "pgbouncer.log"
    # It refuses to be root, and another user cannot enter the folder of the tests.
    own = Path(tempfile.mkdtemp(prefix="editor-pgbouncer-"))
    configuration = own / "pgbouncer.ini"
    configuration.write_text(CONFIGURATION.format(port=port, **given))
    user = "nobody" if os.geteuid() == 0 else None
    if user:
        for path in (own, configuration):
            shutil.chown(path, user)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [PROGRAM, configuration], stdout=output, stderr=output, user=user, start_new_session=True
        )
    try:
        wait_for(port, process, log)
        yield f"postgres://{url.username}:any@127.0.0.1:{port}{url.path}"
    finally:
        process.terminate()
        process.wait(timeout=20)
        shutil.rmtree(own)


pytestmark = pytest.mark.postgresql


@pytest.fixture(params=["on", "off"])
def pooled_service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """A running service with more threads than the pooler has connections, which it is told or notices."""
    folder = tmp_path_factory.mktemp("pooled")
    with installation(
        folder / "editor", is_set_up=True, EDITOR_TRANSACTION_POOLING=request.param
    ) as installed:
        environment = installed.service.environment
        with pooled(environment["DATABASE_URL"], folder) as url:
            environment["DATABASE_URL"] = url
            installed.service.start()
            yield installed
            installed.service.stop()


def test_reads_and_writes_work_when_every_transaction_has_another_connection(
    pooled_service: Installation,
) -> None:
    def live(number: int) -> list[int]:
        resource_id = f"writer-{number}"
        with connected(pooled_service.service) as api:
            AGENTS.make(api, resource_id, autoPublish=True)
            statuses = []
            for turn in range(5):
                saved = AGENTS.save(api, resource_id, f"turn {turn}", autoPublish=True)
                read = api.get(f"/agents/{resource_id}")
                assert (read.body["instructions"], saved["status"]) == (f"turn {turn}", "published")
                lists = [api.get(AGENTS.path, search="turn"), api.get(AGENTS.url(resource_id, "versions"))]
                statuses += [read.status, *(one.status for one in lists)]
            return statuses

    with ThreadPoolExecutor(8) as pool:
        found = [status for statuses in pool.map(live, range(8)) for status in statuses]
    assert set(found) == {200}
    assert '"level": "error"' not in pooled_service.service.log
