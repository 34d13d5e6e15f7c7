"""The histories of files, read from Git once per commit, without delaying requests for long.

A request that needs a history reads it from Git. If that takes too long, it gets the commits found so far.
Then a background thread continues with a longer limit, and requests get the known part.
"""

from __future__ import annotations

import datetime
import logging
import os
import subprocess
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock, Thread
from typing import IO, Final, Generic, TypeVar, cast

from versioning.domain.texts import clip
from versioning.sources import git
from versioning.sources.files import MAX_BYTES
from versioning.sources.git import GitError, GitTooSlow
from versioning.sources.head import Head

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
    with git.run_process(folder, "cat-file", "--batch-command", limit=limit + git.TIME_LIMIT) as objects:
        try:
            for batch in _follow_file(folder, os.path.relpath(path, folder), depth, limit):
                touches += batch
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


def _follow_file(folder: Path, path: str, depth: int, limit: float) -> Iterator[list[_Touch]]:
    """Yield the newest commits that changed a file, newest first, together for each name it had.

    Git's `--follow` is not used: it takes a similar file for the previous name even if that still exists.
    Raises `GitTooSlow` after yielding the commits found in time.
    """
    until = time.monotonic() + limit
    starts: tuple[str, ...] = ("HEAD",)
    while starts and depth > 0:
        log = (*_LOG, *_QUIET, f"--max-count={depth}", *starts, "--", path)
        try:
            touches = list(_touches(git.run(folder, *log, limit=until - time.monotonic())))
        except GitTooSlow as error:
            yield list(_touches(error.printed[: error.printed.rfind(b"\0") + 1]))
            raise
        yield touches
        depth -= len(touches)
        if not touches or not touches[-1].is_new:
            break
        words = iter(git.run(folder, *_RENAMES, touches[-1].sha).split(b"\0"))
        renames = (
            (os.fsdecode(old), os.fsdecode(new)) for _, old, new in zip(words, words, words, strict=False)
        )
        former = next((old for old, new in renames if new == touches[-1].path), None)
        if former is None:
            break
        top = os.fsdecode(git.run(folder, "rev-parse", "--show-toplevel").removesuffix(b"\n"))
        starts, path = touches[-1].parents, str(Path(top, former))


def _touches(log: bytes) -> Iterator[_Touch]:
    """Parse the log: an empty token, five for the commit, its effect on the file, one or two paths.

    Tokens are separated by NUL, which no name, message or path can contain. A truncated commit is omitted.
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
        is_sane = len(seconds) <= len(str(_LATEST_TIME))
        moment = min(max(int(seconds or 0), 0), _LATEST_TIME) if is_sane else _LATEST_TIME
        yield _Touch(
            sha=sha,
            parents=tuple(parents.split()),
            author_name=author_name,
            authored_at=datetime.datetime.fromtimestamp(moment, datetime.UTC),
            message=clip(message, MAX_MESSAGE).strip(),
            blob=change[3].decode(),
            is_file=change[1] in _REGULAR,
            path=path,
            is_new=change[4] == b"A",
        )


def _contents(objects: subprocess.Popen[bytes], blobs: set[str]) -> dict[str, bytes]:
    """Return the contents of objects by id, leaving out those that are too large without reading them."""
    ask, answer = cast("IO[bytes]", objects.stdin), cast("IO[bytes]", objects.stdout)
    contents = {}
    for blob in blobs:
        _, kind, size = _ask_git(ask, answer, f"info {blob}")
        if kind == b"blob" and size <= MAX_BYTES:
            _ask_git(ask, answer, f"contents {blob}")
            contents[blob] = answer.read(size + 1)[:-1]  # followed by a line feed
            if len(contents[blob]) != size:
                raise GitError("an object ended early")
    return contents


def _ask_git(ask: IO[bytes], answer: IO[bytes], question: str) -> tuple[bytes, bytes, int]:
    ask.write(f"{question}\n".encode())
    ask.flush()
    match answer.readline().split():
        case [name, kind, size]:
            return name, kind, int(size)
        case [name, reason]:
            return name, reason, 0
        case _:
            raise GitError("the objects cannot be read")


logger = logging.getLogger(__name__)

V = TypeVar("V")

REMEMBERED: Final = 256
"""The maximum number of histories in memory."""
_REST: Final = 10
"""After a failure, Git is not called for this many times as long as the attempt took."""
_HEAD: Final = "HEAD"
_ADVICE: Final = (
    "requests get the known part while a thread reads on; run `git commit-graph write --reachable"
    " --changed-paths` in the repository to make reading quick"
)


@dataclass(frozen=True, kw_only=True)
class _Read(Generic[V]):
    versions: tuple[V, ...]
    is_complete: bool


class Histories(Generic[V]):
    """The histories of the files in one folder; `versions_of` turns commits into versions.

    `depth` is the maximum number of commits of a file.
    """

    def __init__(
        self, folder: Path, depth: int, versions_of: Callable[[Sequence[Commit]], tuple[V, ...]]
    ) -> None:
        self.folder = folder
        self.depth = depth
        self._versions_of = versions_of
        self._place = Head(folder)
        self._read: OrderedDict[tuple[str, Path], _Read[V]] = OrderedDict()
        self._last: dict[Path, tuple[V, ...]] = {}
        self._slow: set[Path] = set()
        """The files whose histories take long; while there are any, no request reads a history."""
        self._head_hangs = False
        self._resting_until: dict[Hashable, float] = {}
        self._waiting: dict[Hashable, Callable[[], object]] = {}
        self._thread: Thread | None = None
        self._lock = Lock()

    def at_head(self) -> Callable[[Path], tuple[V, ...]]:
        """Return a function that returns the versions of a file, newest first; none without a history.

        HEAD is read only once for any number of files.
        """
        if self._head_hangs:
            self._in_the_background(_HEAD, self._head)
            return self._get_last
        try:
            head = self._head()
        except git.GitTooSlow:
            return self._get_last
        return (lambda _path: ()) if head is None else partial(self._at, head)

    def fingerprint(self, path: Path) -> Hashable | None:
        """Return a value that changes when the file may have other versions; None while that is not certain.

        It is certain once the whole history was read, which happens on demand.
        """
        if self._head_hangs or self._slow:
            return None
        try:
            head = self._head()
        except git.GitTooSlow:
            return None
        if head is None:
            return ()
        cached = self._read.get((head, path))
        return head if cached is not None and cached.is_complete else None

    def _head(self) -> str | None:
        """Return the commit of HEAD; raises `GitTooSlow`, and then requests do not retry for some time."""
        began = time.monotonic()
        try:
            head = self._place.read()
        except git.GitTooSlow as error:
            logger.warning("no new history in %s: %s", self.folder, error)
            self._head_hangs = True
            self._leave_alone(_HEAD, began)
            raise
        self._head_hangs = False
        return head

    def _get_last(self, path: Path) -> tuple[V, ...]:
        return self._last.get(path, ())

    def _at(self, head: str, path: Path) -> tuple[V, ...]:
        with self._lock:
            cached = self._read.get((head, path))
            if cached is not None:
                self._read.move_to_end((head, path))
        if cached is None and not self._slow:
            return self._look(head, path)
        if cached is None or not cached.is_complete:
            self._in_the_background(path, partial(self._read_on, head, path))
        return self._get_last(path) if cached is None else cached.versions

    def _read_on(self, head: str, path: Path) -> None:
        """Read a history with a longer limit; many requests may have asked for it in the meantime."""
        cached = self._read.get((head, path))
        if cached is None or not cached.is_complete:
            self._look(head, path, patiently=True)

    def _look(self, head: str, path: Path, *, patiently: bool = False) -> tuple[V, ...]:
        """Read a history as far as possible in the given time, and cache it."""
        began = time.monotonic()
        limit = git.TIME_LIMIT * (git.PATIENCE if patiently else 1)
        try:
            result = history(path, self.depth, limit=limit)
        except git.GitError as error:
            logger.warning("no history of %s: %s", path.name, error)
            if not isinstance(error, git.GitTooSlow):
                return ()
            result = None
        seconds = time.monotonic() - began
        is_slow = result is None or not result.is_complete or seconds > git.TIME_LIMIT / 2
        (self._slow.add if is_slow else self._slow.discard)(path)
        if result is None:
            self._leave_alone(path, began)
            return self._get_last(path)
        read = _Read(versions=self._versions_of(result.commits), is_complete=result.is_complete)
        self._remember(head, path, read)
        if not result.is_complete:
            logger.warning(
                "the history of %s is not complete after %.3g seconds: %s", path.name, seconds, _ADVICE
            )
            if patiently:
                self._leave_alone(path, began)
            else:
                self._in_the_background(path, partial(self._read_on, head, path))
        return read.versions

    def _remember(self, head: str, path: Path, read: _Read[V]) -> None:
        with self._lock:
            self._read[head, path] = read
            # A complete history of another commit is better than a partial history of this one.
            if read.is_complete or path not in self._last:
                self._last[path] = read.versions
            while len(self._read) > REMEMBERED:
                self._read.popitem(last=False)

    def _leave_alone(self, key: Hashable, began: float) -> None:
        now = time.monotonic()
        self._resting_until[key] = now + _REST * (now - began)

    def _is_resting(self, key: Hashable) -> bool:
        return time.monotonic() < self._resting_until.get(key, 0)

    def _in_the_background(self, key: Hashable, work: Callable[[], object]) -> None:
        """Run a task in the background thread, at most once per key and not directly after a failure."""
        if self._is_resting(key):
            return
        with self._lock:
            self._waiting[key] = work
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._work, name="versioning.sources", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                key = next(iter(self._waiting))
                work = self._waiting.pop(key)
            try:
                if not self._is_resting(key):
                    work()
            except git.GitTooSlow:
                pass  # it was logged already
            except Exception:
                logger.exception("a history could not be read")
                self._leave_alone(key, time.monotonic() - git.TIME_LIMIT)
