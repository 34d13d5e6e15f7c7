"""Run the `git` command safely: it executes nothing from the repository, and takes a limited time.

The repository may be untrusted: no program named in its configuration is run, nothing is fetched, and every
process has a time limit.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Timer
from typing import Final

TIME_LIMIT: Final = 5.0
"""The maximum seconds for a process that a request waits for."""
PATIENCE: Final = 24
"""The factor on the time limit for a process in the background: two minutes in all."""

# Each of these could otherwise start a program, use the network, or wait for a pipe.
_SETTINGS: Final = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.attributesFile": os.devnull,
    "diff.orderFile": os.devnull,
    "diff.relative": "false",
    "log.showSignature": "false",
    "log.mailmap": "false",
    "log.showRoot": "true",
    "protocol.allow": "never",
    # A folder inside the working tree that looks like a bare repository must not be taken for one.
    "safe.bareRepository": "explicit",
}
_running: set[subprocess.Popen[bytes]] = set()


class GitError(Exception):
    """The `git` command returned no history: it is missing, or it fails."""

    def __init__(self, reason: str, printed: bytes = b"") -> None:
        super().__init__(reason)
        self.printed = printed
        """Its output so far."""


class GitTooSlow(GitError):
    """The `git` command exceeded its time limit."""


def run(folder: Path, *arguments: str, limit: float | None = None) -> bytes:
    """Return the output of a git command; raises `GitError` if it fails or takes too long."""
    with run_process(folder, *arguments, limit=limit) as process:
        output, errors = process.communicate()
        if process.returncode != 0:
            raise GitError(errors.decode("utf-8", "replace").strip(), output)
        return output


@contextmanager
def run_process(
    folder: Path, *arguments: str, limit: float | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a git process during this block; when the time is over, it ends with all its child processes."""
    too_slow = Event()
    seconds = TIME_LIMIT if limit is None else max(limit, 0)
    slowly = f"git {arguments[0]} took longer than {seconds:.3g} seconds"

    def stop() -> None:
        too_slow.set()
        _end(process)

    try:
        with subprocess.Popen(  # noqa: S603  the arguments are ours, the path comes after `--`
            _command(folder, *arguments), env=_environment(folder), start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            timer = Timer(seconds, stop)
            timer.start()
            _running.add(process)
            try:
                yield process
            finally:
                timer.cancel()
                _end(process)
                _running.discard(process)
    except (GitError, OSError) as error:
        if too_slow.is_set():
            raise GitTooSlow(slowly, getattr(error, "printed", b"")) from error
        raise GitError(str(error)) from error
    if too_slow.is_set():  # yet there is output: of a child, or of a command that was killed half-way
        raise GitTooSlow(slowly)


@atexit.register
def _end_all() -> None:
    """End the processes that threads still wait for, because at exit nothing else would."""
    for process in tuple(_running):
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:  # its id may belong to another process by now
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _command(folder: Path, *arguments: str) -> list[str]:
    program = shutil.which("git")
    if program is None:
        raise GitError("there is no git command")
    settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
    return [program, "--no-pager", *settings, "-C", str(nearest(folder)), *arguments]


def _environment(folder: Path) -> dict[str, str]:
    """Return an environment that ignores the settings of the machine and of the caller."""
    # A repository of another user is trusted, but only the one that contains the configured folder.
    innermost = nearest(folder)
    trusted = {
        f"GIT_CONFIG_VALUE_{position}": str(parent)
        for position, parent in enumerate([innermost, *innermost.parents])
    }
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": str(len(trusted)),
        **{f"GIT_CONFIG_KEY_{position}": "safe.directory" for position in range(len(trusted))},
        **trusted,
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }


def nearest(folder: Path) -> Path:
    """Return the folder, or the nearest folder above it that exists."""
    existing = next(parent for parent in (folder, *folder.parents) if parent.is_dir())
    return existing.resolve()
