"""The history of a file: the commits that changed it, read with one `git log` and one `git cat-file`.

Errors only make the history shorter.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

from versioning.domain.texts import clipped
from versioning.sources import git
from versioning.sources.files import MAX_BYTES
from versioning.sources.git import GitError, GitTooSlow

MAX_MESSAGE: Final = 64 * 1024
"""The maximum number of characters to read of a commit's message."""

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
_LATEST_TIME = 253_402_300_799  # the latest time that a datetime can hold


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit that changed the file."""

    sha: str
    author_name: str
    authored_at: datetime.datetime
    message: str
    """The whole message, stripped."""
    content: bytes | None
    """The content of the file, empty if it is too large; None if it was removed or is not a regular file."""


@dataclass(frozen=True, kw_only=True)
class History:
    """The commits that changed a file, newest first."""

    commits: tuple[Commit, ...]
    is_complete: bool
    """Whether this is everything requested; there may be older ones if the time ran out."""


@dataclass(frozen=True, kw_only=True)
class _Touch:
    """The entry of one commit in the log."""

    sha: str
    parents: tuple[str, ...]
    author_name: str
    authored_at: datetime.datetime
    message: str
    blob: str
    """The id of the file's content after the commit."""
    is_file: bool
    """Whether that is a regular file, and not a link or a submodule."""
    path: str
    """The path of the file after the commit, from the top of the repository."""
    is_new: bool
    """Whether the commit created the file."""


def history(path: Path, depth: int, *, limit: float | None = None) -> History:
    """Return the newest `depth` commits that changed the file, following renames, newest first.

    A merge counts if the file differs from its first parent. After `limit` seconds (by default
    `TIME_LIMIT`), the commits found so far are returned. Raises `GitError`.
    """
    folder = git.nearest(path.parent)
    touches: list[_Touch] = []
    is_complete = True
    limit = limit or git.TIME_LIMIT
    # It starts while the log is read, which takes longer.
    with git.started(folder, "cat-file", "--batch-command", limit=limit + git.TIME_LIMIT) as objects:
        try:
            for found in _followed(folder, os.path.relpath(path, folder), depth, limit):
                touches += found
        except GitTooSlow:
            is_complete = False
        contents = _contents(objects, {touch.blob for touch in touches if touch.is_file})
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
    """Yield the newest commits that changed a file, newest first, together for each name it had.

    Git's `--follow` is not used: it takes a similar file for the previous name even if that still exists.
    Raises `GitTooSlow` after yielding what was found in time.
    """
    until = time.monotonic() + limit
    starts: tuple[str, ...] = ("HEAD",)
    while starts and depth > 0:
        log = (*_LOG, *_QUIET, f"--max-count={depth}", *starts, "--", path)
        try:
            touches = list(_touches(git.run(folder, *log, limit=until - time.monotonic())))
        except GitTooSlow as error:
            yield list(_touches(_whole_tokens(error.printed)))
            raise
        yield touches
        depth -= len(touches)
        former = _former(folder, touches[-1]) if touches and touches[-1].is_new else None
        if former is None:
            break
        starts, path = touches[-1].parents, os.path.join(_top(folder), former)  # noqa: PTH118


def _whole_tokens(log: bytes) -> bytes:
    """Return a log that was cut off, without its incomplete last token."""
    return log[: log.rfind(b"\0") + 1]


def _former(folder: Path, touch: _Touch) -> str | None:
    """Return the previous path of the file if the commit renamed it, or None."""
    words = iter(git.run(folder, *_RENAMES, touch.sha).split(b"\0"))
    renamed = ((os.fsdecode(old), os.fsdecode(new)) for _, old, new in zip(words, words, words, strict=False))
    return next((old for old, new in renamed if new == touch.path), None)


def _top(folder: Path) -> str:
    return os.fsdecode(git.run(folder, "rev-parse", "--show-toplevel").removesuffix(b"\n"))


def _touches(log: bytes) -> Iterator[_Touch]:
    """Parse the log: an empty token, five for the commit, its effect on the file, one or two paths.

    Tokens are separated by NUL, which no name, message or path can contain. A commit that is cut off is
    left out.
    """
    tokens = iter(log.split(b"\0"))
    for token in tokens:
        if token:
            continue
        fields = [next(tokens, b"") for _ in range(5)]
        change = next(tokens, b"").strip().lstrip(b":").split(b" ")
        path = os.fsdecode(next(tokens, b""))
        if len(change) != 5 or not path:
            continue
        sha, parents, author_name, seconds, message = (field.decode("utf-8", "replace") for field in fields)
        yield _Touch(
            sha=sha,
            parents=tuple(parents.split()),
            author_name=author_name,
            authored_at=_time(seconds),
            message=clipped(message, MAX_MESSAGE).strip(),
            blob=change[3].decode(),
            is_file=change[1] in _REGULAR,
            path=path,
            is_new=change[4] == b"A",
        )


def _time(seconds: str) -> datetime.datetime:
    is_sane = len(seconds) <= len(str(_LATEST_TIME))
    moment = min(max(int(seconds or 0), 0), _LATEST_TIME) if is_sane else _LATEST_TIME
    return datetime.datetime.fromtimestamp(moment, datetime.UTC)


def _contents(objects: subprocess.Popen[bytes], blobs: set[str]) -> dict[str, bytes]:
    """Return the contents of objects by id, leaving out those that are too large without reading them."""
    ask, answer = cast("IO[bytes]", objects.stdin), cast("IO[bytes]", objects.stdout)
    contents = {}
    for blob in blobs:
        _, kind, size = _asked(ask, answer, f"info {blob}")
        if kind == b"blob" and size <= MAX_BYTES:
            _asked(ask, answer, f"contents {blob}")
            contents[blob] = answer.read(size + 1)[:-1]  # followed by a line feed
            if len(contents[blob]) != size:
                raise GitError("an object ended early")
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
            raise GitError("the objects cannot be read")
