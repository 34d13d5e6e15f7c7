"""The history of a file, read through the `git` command: one `log` and one `cat-file`, whatever its length.

The repository may be anybody's. Nothing that its configuration names is executed, nothing is
fetched, every process has a time limit, and whatever goes wrong makes the history shorter.
"""

from __future__ import annotations

import atexit
import datetime
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Timer
from typing import IO, Final, cast

from versioning.sources.files import MAX_BYTES

TIME_LIMIT: Final = 5.0
"""Seconds that one process may take while somebody waits for it."""
PATIENCE: Final = 24
"""How many times as long one may take while nobody does: two minutes."""
MAX_MESSAGE: Final = 64 * 1024
"""The most characters of a commit's message that are kept."""

# Each of these could otherwise start a program, ask the network, or wait for a pipe.
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
    # A folder inside the working tree that looks like a bare repository is not one.
    "safe.bareRepository": "explicit",
}
_FORMAT = "--format=%x00%H%x00%P%x00%an%x00%at%x00%B"
_LOG = (
    "log", "--full-history", "--diff-merges=first-parent", "--no-renames", "--diff-filter=ADMT",
    "--raw", "--no-abbrev", "-z", _FORMAT,
)  # fmt: skip
_RENAMES = (
    "diff-tree", "-r", "-z", "--no-commit-id", "--diff-merges=first-parent", "--name-status",
    "--find-renames", "--diff-filter=R", "--no-ext-diff", "--no-textconv",
)  # fmt: skip
_QUIET = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-show-signature", "--encoding=UTF-8")
_REGULAR = (b"100644", b"100755")
_LATEST_TIME = 253_402_300_799  # the last second that a datetime can hold

_running: set[subprocess.Popen[bytes]] = set()


class GitFault(Exception):
    """The `git` command gives no history: it is missing, or it refuses."""

    def __init__(self, reason: str, printed: bytes = b"") -> None:
        super().__init__(reason)
        self.printed = printed
        """What it had said by then."""


class GitTooSlow(GitFault):
    """The `git` command took longer than it may."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit that touched the file."""

    sha: str
    author_name: str
    authored_at: datetime.datetime
    message: str
    """The whole of it, without white space at its ends."""
    content: bytes | None
    """What the file held, nothing when that is too large; None when it was gone, or something else."""


@dataclass(frozen=True, kw_only=True)
class History:
    """The commits that touched a file, newest first."""

    commits: tuple[Commit, ...]
    is_complete: bool
    """Whether these are all that were asked for: there can be older ones when the time was over."""


@dataclass(frozen=True, kw_only=True)
class _Touch:
    """What the log says of one commit."""

    sha: str
    parents: tuple[str, ...]
    author_name: str
    authored_at: datetime.datetime
    message: str
    blob: str
    """The object that the file is after the commit."""
    is_file: bool
    """Whether that is the content of a regular file, and not a link or another repository."""
    path: str
    """Where the file was after the commit, from the top of the repository."""
    is_new: bool
    """Whether the commit made the file."""


def head(folder: Path) -> str | None:
    """Return what identifies the history at this moment: the commit, and where it was cut off.

    None without a repository, without a commit, or without the `git` command; raises `GitTooSlow`.
    """
    try:
        answer = _run(folder, "rev-parse", "HEAD", "--git-path", "shallow")
    except GitTooSlow:
        raise
    except GitFault:
        return None
    commit, _, shallow = answer.decode("utf-8", "replace").strip().partition("\n")
    # Fetching more of a shallow history leaves its head where it is, but changes this file.
    cut = _nearest(folder) / shallow
    return f"{commit} {cut.stat().st_mtime_ns if cut.is_file() else 0}"


def history(path: Path, depth: int, *, limit: float | None = None) -> History:
    """Return the newest `depth` commits that touched the file, renames followed, newest first.

    A merge counts when the file differs from its first parent. Once the time of `limit` seconds
    (by default `TIME_LIMIT`) is over, what was found by then is returned. Raises `GitFault`.
    """
    folder = _nearest(path.parent)
    touches: list[_Touch] = []
    is_complete = True
    try:
        for found in _followed(folder, os.path.relpath(path, folder), depth, limit or TIME_LIMIT):
            touches += found
    except GitTooSlow:
        is_complete = False
    contents = _contents(folder, {touch.blob for touch in touches if touch.is_file})
    commits = (
        Commit(
            sha=touch.sha,
            author_name=touch.author_name,
            authored_at=touch.authored_at,
            message=touch.message,
            content=contents.get(touch.blob, b"") if touch.is_file else None,
        )
        for touch in touches
    )
    return History(commits=tuple(commits), is_complete=is_complete)


def _followed(folder: Path, path: str, depth: int, limit: float) -> Iterator[list[_Touch]]:
    """Yield the newest commits that touched a file, newest first, those under one name together.

    Not by `--follow`: to that, what a file resembles is what it was, also when it is still there.
    Raises `GitTooSlow` after it has yielded what was found in time.
    """
    until = time.monotonic() + limit
    starts: tuple[str, ...] = ("HEAD",)
    while starts and depth > 0:
        log = (*_LOG, *_QUIET, f"--max-count={depth}", *starts, "--", path)
        try:
            touches = list(_touches(_run(folder, *log, limit=until - time.monotonic())))
        except GitTooSlow as fault:
            yield list(_touches(_whole_tokens(fault.printed)))
            raise
        yield touches
        depth -= len(touches)
        former = _former(folder, touches[-1]) if touches and touches[-1].is_new else None
        if former is None:
            break
        starts, path = touches[-1].parents, os.path.join(_top(folder), former)  # noqa: PTH118


def _whole_tokens(log: bytes) -> bytes:
    """Return a log that was cut off without the piece at its end; what lacks more is no commit."""
    return log[: log.rfind(b"\0") + 1]


def _former(folder: Path, touch: _Touch) -> str | None:
    """Return the path of the file that a commit renamed to the one it made, or None."""
    words = iter(_run(folder, *_RENAMES, touch.sha).split(b"\0"))
    renamed = ((os.fsdecode(old), os.fsdecode(new)) for _, old, new in zip(words, words, words, strict=False))
    return next((old for old, new in renamed if new == touch.path), None)


def _top(folder: Path) -> str:
    return os.fsdecode(_run(folder, "rev-parse", "--show-toplevel").removesuffix(b"\n"))


def _touches(log: bytes) -> Iterator[_Touch]:
    """Read the log: an empty token, five of the commit, what it did to the file, one or two paths.

    Everything is separated by NUL, which neither a name nor a message nor a path can hold. A commit
    of which the end is missing is left out.
    """
    tokens = iter(log.split(b"\0"))
    for token in tokens:
        if token:
            continue
        fields = [next(tokens, b"") for _ in range(5)]
        change = next(tokens, b"").strip().lstrip(b":").split(b" ")
        path = os.fsdecode(next(tokens, b""))
        if len(change) != 5 or not path:  # noqa: PLR2004  two modes, two objects, what was done
            continue
        sha, parents, author_name, seconds, message = (field.decode("utf-8", "replace") for field in fields)
        yield _Touch(
            sha=sha,
            parents=tuple(parents.split()),
            author_name=author_name,
            authored_at=_time(seconds),
            message=message[:MAX_MESSAGE].strip(),
            blob=change[3].decode(),
            is_file=change[1] in _REGULAR,
            path=path,
            is_new=change[4] == b"A",
        )


def _time(seconds: str) -> datetime.datetime:
    is_sane = len(seconds) <= len(str(_LATEST_TIME))
    moment = min(max(int(seconds or 0), 0), _LATEST_TIME) if is_sane else _LATEST_TIME
    return datetime.datetime.fromtimestamp(moment, datetime.UTC)


def _contents(folder: Path, blobs: set[str]) -> dict[str, bytes]:
    """Return the contents of objects by id; those that are too large are left out unread."""
    if not blobs:
        return {}
    with _process(folder, "cat-file", "--batch-command") as process:
        ask, answer = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        contents = {}
        for blob in blobs:
            _, kind, size = _asked(ask, answer, f"info {blob}")
            if kind == b"blob" and size <= MAX_BYTES:
                _asked(ask, answer, f"contents {blob}")
                contents[blob] = answer.read(size + 1)[:-1]  # a line's end comes after it
                if len(contents[blob]) != size:
                    raise GitFault("an object ended early")
        return contents


def _asked(ask: IO[bytes], answer: IO[bytes], question: str) -> tuple[bytes, bytes, int]:
    ask.write(f"{question}\n".encode())
    ask.flush()
    match answer.readline().split():
        case [name, kind, size]:
            return name, kind, int(size)
        case [name, reason]:
            return name, reason, 0
        case _:
            raise GitFault("the objects cannot be read")


def _run(folder: Path, *arguments: str, limit: float | None = None) -> bytes:
    """Return what a git command prints; raises `GitFault` when it fails or takes too long."""
    with _process(folder, *arguments, limit=limit) as process:
        printed, said = process.communicate()
        if process.returncode != 0:
            raise GitFault(said.decode("utf-8", "replace").strip(), printed)
        return printed


@contextmanager
def _process(folder: Path, *arguments: str, limit: float | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Give out a git process; when the time is over it is ended, with whatever it started."""
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
    except (GitFault, OSError) as fault:
        if too_slow.is_set():
            raise GitTooSlow(slowly, getattr(fault, "printed", b"")) from fault
        raise GitFault(str(fault)) from fault
    if too_slow.is_set():  # and yet there is an answer: of a child, or of what was ended half-way
        raise GitTooSlow(slowly)


@atexit.register
def _end_all() -> None:
    """End what a thread still waits for: with the interpreter ends whoever would do it."""
    for process in tuple(_running):
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:  # its id may be somebody else's by now
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _command(folder: Path, *arguments: str) -> list[str]:
    program = shutil.which("git")
    if program is None:
        raise GitFault("there is no git command")
    settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
    return [program, "--no-pager", *settings, "-C", str(_nearest(folder)), *arguments]


def _environment(folder: Path) -> dict[str, str]:
    """Return an environment in which neither the machine's nor the caller's settings count."""
    # Another user's repository is trusted here, but only the one that holds the configured folder.
    trusted = {
        f"GIT_CONFIG_VALUE_{position}": str(parent) for position, parent in enumerate(_with_parents(folder))
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


def _with_parents(folder: Path) -> list[Path]:
    nearest = _nearest(folder)
    return [nearest, *nearest.parents]


def _nearest(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that is there."""
    found = next(parent for parent in (folder, *folder.parents) if parent.is_dir())
    return found.resolve()
