"""The histories of files, read from Git once per commit, without delaying requests for long.

A request that needs a history reads it from Git. If that takes too long, it gets what was found by then;
after that, a background thread continues with a longer limit, and requests get what is known.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock, Thread
from typing import Final, Generic, TypeVar

from versioning.sources import commits, git
from versioning.sources.commits import Commit
from versioning.sources.head import Head

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

        Git is asked only once for HEAD, for any number of files.
        """
        if self._head_hangs:
            self._in_the_background(_HEAD, self._head)
            return self._known
        try:
            head = self._head()
        except git.GitTooSlow:
            return self._known
        return _nothing if head is None else partial(self._at, head)

    def fingerprint(self, path: Path) -> Hashable | None:
        """Return a value that changes when the file may have other versions; None while that is not certain.

        It is certain once the whole history was read, which happens when it is asked for.
        """
        if self._head_hangs or self._slow:
            return None
        try:
            head = self._head()
        except git.GitTooSlow:
            return None
        if head is None:
            return ()
        held = self._read.get((head, path))
        return head if held is not None and held.is_complete else None

    def _head(self) -> str | None:
        """Return the commit of HEAD; raises `GitTooSlow`, after which requests stop asking for some time."""
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

    def _known(self, path: Path) -> tuple[V, ...]:
        return self._last.get(path, ())

    def _at(self, head: str, path: Path) -> tuple[V, ...]:
        with self._lock:
            held = self._read.get((head, path))
            if held is not None:
                self._read.move_to_end((head, path))
        if held is None and not self._slow:
            return self._look(head, path)
        if held is None or not held.is_complete:
            self._in_the_background(path, partial(self._read_on, head, path))
        return self._known(path) if held is None else held.versions

    def _read_on(self, head: str, path: Path) -> None:
        """Read a history with a longer limit; many requests may have asked for it in the meantime."""
        held = self._read.get((head, path))
        if held is None or not held.is_complete:
            self._look(head, path, patiently=True)

    def _look(self, head: str, path: Path, *, patiently: bool = False) -> tuple[V, ...]:
        """Read a history as far as possible in the given time, and cache it."""
        began = time.monotonic()
        limit = git.TIME_LIMIT * (git.PATIENCE if patiently else 1)
        try:
            found = commits.history(path, self.depth, limit=limit)
        except git.GitError as error:
            logger.warning("no history of %s: %s", path.name, error)
            if not isinstance(error, git.GitTooSlow):
                return ()
            found = None
        seconds = time.monotonic() - began
        is_slow = found is None or not found.is_complete or seconds > git.TIME_LIMIT / 2
        (self._slow.add if is_slow else self._slow.discard)(path)
        if found is None:
            self._leave_alone(path, began)
            return self._known(path)
        read = _Read(versions=self._versions_of(found.commits), is_complete=found.is_complete)
        self._remember(head, path, read)
        if not found.is_complete:
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
        """Let the background thread do something, at most once per key and not just after a failure."""
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


def _nothing(_path: Path) -> tuple[()]:
    return ()
