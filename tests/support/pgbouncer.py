"""pgbouncer in transaction mode, in front of the PostgreSQL that the tests run on."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.ports import free_port, wait_for

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
