"""A temporary PostgreSQL for as long as a command runs: `python -m tests.support.postgres -- CMD…`."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.ports import free_port

OLDEST = 15
USER = "editor"
# Nothing here outlives the run, so nothing has to survive a power failure. One address, no socket
# file: the server of the machine, if there is one, is never in the way.
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "fsync": "off",
    "full_page_writes": "off",
    "jit": "off",
}
SECONDS_TO_END = 30


@contextmanager
def throwaway_postgres(**settings: str) -> Iterator[str]:
    """Start a server with an empty cluster on a free loopback port and yield its DATABASE_URL."""
    with _cluster() as cluster:
        # Even on loopback a password: other people's programs may run on this machine.
        password = secrets.token_hex()
        cluster.write("password", password)
        access = [f"--username={USER}", "--pwfile=password", "--auth=scram-sha-256"]
        cluster.run("initdb", *access, "--encoding=UTF8", "--no-locale", "--no-sync")
        with cluster.started(**settings) as port:
            yield f"postgres://{USER}:{password}@127.0.0.1:{port}/postgres"


@contextmanager
def standby(primary_url: str, **settings: str) -> Iterator[str]:
    """Start a streaming replica of a server of `throwaway_postgres` and yield its DATABASE_URL."""
    url = urlsplit(primary_url)
    with _cluster() as cluster:
        cluster.run(
            "pg_basebackup",
            *("--dbname", primary_url, "--pgdata", "data", "--checkpoint=fast", "--no-sync"),
            *("--write-recovery-conf", "--wal-method=stream"),
        )
        with cluster.started(hot_standby_feedback="on", **settings) as port:
            yield url._replace(netloc=f"{url.username}:{url.password}@127.0.0.1:{port}").geturl()


@dataclass(frozen=True)
class _Cluster:
    """A folder for the files of a server."""

    folder: Path
    owner: pwd.struct_passwd | None

    def write(self, name: str, text: str) -> None:
        """Write a file that the server's programs can read."""
        file = self.folder / name
        file.write_text(text)
        if self.owner:
            os.chown(file, self.owner.pw_uid, -1)

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL as the owner; when it fails, its log says why.

        It is short, so an interrupt waits for its end: no half-started server is left behind.
        """
        log = self.folder / "log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                [programs() / program, *arguments],
                cwd=self.folder,
                env={**os.environ, "PGDATA": str(self.folder / "data")},
                user=self.owner and self.owner.pw_uid,
                group=self.owner and self.owner.pw_gid,
                extra_groups=self.owner and [],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            process.wait()
        except KeyboardInterrupt:
            process.wait()
            raise
        if process.returncode:
            sys.exit(f"{program} failed:\n{log.read_text(errors='replace')}")

    @contextmanager
    def started(self, **settings: str) -> Iterator[int]:
        """Start the server and yield its port."""
        port = free_port()
        wanted = {**SETTINGS, "port": str(port), **settings}
        options = " ".join(f"-c {name}='{value}'" for name, value in wanted.items())
        try:
            self.run("pg_ctl", "start", "--wait", "--options", options)
            yield port
        finally:
            with suppress(SystemExit):  # a failed start has left nothing to stop
                self.run("pg_ctl", "stop", "--wait", "--mode=immediate")


@contextmanager
def _cluster() -> Iterator[_Cluster]:
    owner = _owner()
    folder = Path(tempfile.mkdtemp(prefix="editor-postgres-"))
    try:
        if owner:
            os.chown(folder, owner.pw_uid, -1)
        yield _Cluster(folder, owner)
    finally:
        shutil.rmtree(folder)


def programs() -> Path:
    """Find the folder of the newest PostgreSQL; Debian keeps it off the PATH."""
    found = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    versions = {int(path.parts[-3]): path.parent for path in found if path.parts[-3].isdecimal()}
    if versions and max(versions) >= OLDEST:
        return versions[max(versions)]
    if on_path := shutil.which("initdb"):
        return Path(on_path).resolve().parent
    sys.exit(f"PostgreSQL {OLDEST} or newer is not installed; on Debian: apt-get install postgresql")


def _owner() -> pwd.struct_passwd | None:
    """Choose the user to run the server as, since it refuses to be root; None is oneself."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    sys.exit("PostgreSQL does not run as root, and there is neither a user postgres nor nobody.")


def _run_with(command: list[str], database_url: str) -> int:
    """Run a command with DATABASE_URL set; an interrupt is passed on, so that it can tidy up."""
    environment = {**os.environ, "DATABASE_URL": database_url}
    # A separate session: Ctrl-C reaches it once, through here.
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        return process.wait()
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=SECONDS_TO_END)
        return 128 + signal.SIGINT
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main(arguments: list[str]) -> int:
    """Run the command behind `--`, with a database."""
    if arguments[:1] != ["--"] or not arguments[1:]:
        sys.exit("usage: python -m tests.support.postgres -- COMMAND [ARGUMENT…]")
    for interruption in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(interruption, signal.default_int_handler)
    try:
        with throwaway_postgres() as database_url:
            return _run_with(arguments[1:], database_url)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
