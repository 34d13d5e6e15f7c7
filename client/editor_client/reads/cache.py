"""The cached answers, by scope, resource and selector.

Several threads share a cache. Reading it takes no lock; changing it does. `DiskCache` stores the answers
across restarts.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from editor_client.calls import Answer, Call, Query, Resource
from editor_client.shared import canonical

_OWN = "/stored/"
"""Records are cached for one key only, because they name the favorites of its owner."""

_NEVER = -1


class Scope(NamedTuple):
    """The keys for which an answer is cached."""

    rights: str
    """The server's name for installation and rights; the address of a server that sends none."""
    key_digest: str = ""
    """The only key; empty for all with these rights. The key itself is not stored."""


class Rights:
    """The rights of one key, from the latest answer."""

    def __init__(self, server: str, api_key: str) -> None:
        self.server = server
        self.key_digest = hashlib.sha256(api_key.encode()).hexdigest()
        self._since = _NEVER
        self._take("")
        self.after_fork()

    def after_fork(self) -> None:
        """Continue in a forked process, where other threads are gone."""
        self._lock = Lock()
        self.is_recalled = self._since != _NEVER
        """Whether the stored name is no longer needed; a forked process reads it once more."""

    def note(self, name: str, number: int) -> bool:
        """Record the name in the answer to a request with this number; return whether it is new.

        The answer to an earlier request changes nothing.
        """
        with self._lock:
            if number < self._since:
                return False
            is_news, self._since = name != self.name, number
            self.is_recalled = True
            if is_news:
                self._take(name)
            return is_news

    def recall(self, name: str) -> None:
        """Use the name stored by an earlier process, unless this process already has one."""
        with self._lock:
            if self._since == _NEVER:
                self._take(name)
            self.is_recalled = True

    def _take(self, name: str) -> None:
        self.name = name
        """The name; empty while it is unknown."""
        self._scopes = self._scopes_for(name)

    def _scopes_for(self, name: str) -> tuple[Scope, Scope]:
        own = Scope(name or self.server, self.key_digest)
        return own, Scope(name) if name else own

    def scope(self, call: Call[object], name: str | None = None) -> Scope:
        """Return the scope of an answer to a call: that of the named rights, by default the current ones."""
        own, shared = self._scopes if name is None else self._scopes_for(name)
        return own if call.request.path.startswith(_OWN) else shared


MAX_ENTRIES = 1000


class Key(NamedTuple):
    """Identifies the subject of an answer."""

    scope: Scope
    resource: Resource
    path: str
    selector: Query


class Ticket(NamedTuple):
    """The time of a request: an answer never replaces the answer to a later request."""

    number: int
    time: float
    changes: int
    """The number of earlier changes by this client."""


OLDEST = Ticket(number=-1, time=float("-inf"), changes=-1)


@dataclass(frozen=True, slots=True)
class Entry:
    """A good answer, and the time of its request."""

    ticket: Ticket
    answer: Answer
    value: Any
    """The content of the answer, parsed once for all readers."""
    stored: float = float("-inf")
    """The time of the last write to the disk."""
    concerns: tuple[Resource, ...] = ()
    """The resources in it: an event about any of them makes it stale."""
    unconfirmed: bool = False
    """Whether the latest request for it got no answer."""


class Cache:
    """The cache in memory; `clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # A ticket without an answer belongs to a refusal.
        self._entries: OrderedDict[Key, Entry | Ticket] = OrderedDict()
        self._numbers = count()
        self._changes = 0
        self._barrier = -1
        self._refreshing: set[Key] = set()
        self._lock = Lock()

    def after_fork(self) -> None:
        """Continue in a forked process: the answers stay, but other threads are gone."""
        self._lock = Lock()
        self._refreshing = set()

    def ticket(self) -> Ticket:
        """Return a ticket for a request that is sent now."""
        return Ticket(next(self._numbers), self._clock(), self._changes)

    def number(self) -> int:
        """Return the number that a ticket would have now."""
        return next(self._numbers)

    def changed_since(self, entry: Entry) -> bool:
        """Return whether this client has changed something since the request for the answer."""
        return entry.ticket.changes != self._changes

    def get(self, key: Key) -> Entry | None:
        """Return the cached answer; None if there is none."""
        entry = self._entries.get(key)
        return entry if isinstance(entry, Entry) else None

    def knows(self, key: Key) -> bool:
        """Return whether there is an entry, even if the last answer was a refusal."""
        return key in self._entries

    def age(self, entry: Entry) -> float:
        """Return the seconds since the server confirmed it; infinite after a change by this client."""
        if self.changed_since(entry):
            return float("inf")
        return self._clock() - entry.ticket.time

    def put(self, key: Key, entry: Entry) -> bool:
        """Cache an answer unless a later request has been answered; return whether it was cached."""
        return self._set(key, entry, entry.ticket)

    def refuse(self, key: Key, ticket: Ticket) -> None:
        """Remove an answer because the server refused it: it does not exist, or is not for this key."""
        self._set(key, ticket, ticket)

    def mark_changed(self) -> None:
        """Treat all cached answers as stale, because this client changed something."""
        with self._lock:
            self._changes += 1

    def forget(self, resource: Resource | None = None) -> None:
        """Remove everything, or everything about one resource, including pending answers."""
        with self._lock:
            self._barrier = next(self._numbers)
            for key in [key for key in self._entries if resource in {None, key.resource}]:
                del self._entries[key]

    def begin_refresh(self, key: Key) -> bool:
        """Return whether the caller should refresh this entry, and then call `end_refresh`."""
        with self._lock:
            if key in self._refreshing:
                return False
            self._refreshing.add(key)
            return True

    def end_refresh(self, key: Key) -> None:
        """Allow others to refresh the entry again."""
        with self._lock:
            self._refreshing.discard(key)

    def _set(self, key: Key, entry: Entry | Ticket, ticket: Ticket) -> bool:
        with self._lock:
            cached = self._entries.get(key, OLDEST)
            latest = cached.ticket if isinstance(cached, Entry) else cached
            if ticket.number < latest.number or ticket.number < self._barrier:
                return False
            self._entries[key] = entry
            self._entries.move_to_end(key)
            while len(self._entries) > MAX_ENTRIES:
                self._entries.popitem(last=False)
            return True


logger = logging.getLogger("editor_client")

_RIGHTS = "rights"
"""The file with the rights of a key."""


class DiskCache:
    """The answers that one key may have."""

    def __init__(self, folder: Path, key_digest: str) -> None:
        self._root = folder
        self._own = folder / _digest(["key", key_digest])
        self.after_fork()

    def after_fork(self) -> None:
        """Start over in a forked process, where no other thread writes."""
        # A dropped answer is never written, in any order of threads.
        self._lock = Lock()

    def rights(self) -> str:
        """Return the rights that the server has sent for this key; empty if it never did."""
        try:
            document = json.loads((self._own / _RIGHTS).read_bytes())
            name = document["rights"] if document["digest"] == _digest(document["rights"]) else ""
        except OSError:
            return ""
        except (ValueError, KeyError, TypeError, RecursionError):
            logger.warning("a file of the cache cannot be read and is ignored: %s", self._own / _RIGHTS)
            return ""
        return name if isinstance(name, str) else ""

    def store_rights(self, name: str, is_current: Callable[[], bool]) -> None:
        """Store the rights of this key if they are still current; failures are only logged."""
        self._store(self._own / _RIGHTS, {"rights": name, "digest": _digest(name)}, is_current)

    def load(self, key: Key) -> Answer | None:
        """Return the stored answer; None if there is none, or only a damaged one."""
        try:
            text = self._path(key).read_bytes()
        except OSError:
            return None
        try:
            document = json.loads(text)
            body, etag = str(document["body"]), document["etag"]
            if document["question"] != _question(key) or document["digest"] != _body_digest(body):
                raise ValueError  # damaged, or the answer for another key
            return Answer(200, {"etag": etag} if etag else {}, body.encode())
        except (ValueError, KeyError, TypeError, RecursionError):
            logger.warning("a file of the cache cannot be read and is ignored: %s", self._path(key))
            return None

    def store(self, key: Key, answer: Answer, is_current: Callable[[], bool]) -> None:
        """Store an answer if it is still current; failures are only logged."""
        text = answer.content.decode()
        document = {
            "question": _question(key),
            "etag": answer.etag,
            "body": text,
            "digest": _body_digest(text),
        }
        self._store(self._path(key), document, is_current)

    def drop(self, key: Key) -> None:
        """Remove the answer to one request."""
        with self._lock:
            _remove([self._path(key)])

    def forget(self) -> None:
        """Remove answers for this key only, and its rights; answers that other keys share stay."""
        with self._lock:
            _remove([self._own / _RIGHTS, *self._own.glob("*.json")])

    def forget_resource(self, resource: Resource, rights: str) -> None:
        """Remove all answers about a resource for this key, or for any with these rights."""
        with self._lock:
            for folder in (self._own, self._folder(Scope(rights))):
                _remove(folder.glob(f"{_digest(resource)}.*.json"))

    def _folder(self, scope: Scope) -> Path:
        return self._own if scope.key_digest else self._root / _digest(["rights", scope.rights])

    def _path(self, key: Key) -> Path:
        name = f"{_digest(key.resource)}.{_digest((key.path, key.selector))}.json"
        return self._folder(key.scope) / name

    def _store(self, path: Path, document: dict[str, Any], is_current: Callable[[], bool]) -> None:
        with self._lock:
            if not is_current():
                return
            try:
                self._write(path, canonical.dump(document))
            except (OSError, ValueError) as error:
                logger.warning("an answer cannot be stored in %s: %s", path.parent, error)

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not path.exists()
        # Created only for this process and its owner, then renamed, so that no reader sees half of it.
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            Path(temporary).replace(path)
        except BaseException:
            _remove([Path(temporary)])
            raise
        if is_new:
            files = sorted(
                (file for file in path.parent.iterdir() if file.name != _RIGHTS), key=_modification_time
            )
            _remove(files[:-MAX_ENTRIES])


def _digest(value: Any) -> str:
    return canonical.digest(value)[:32]


def _question(key: Key) -> list[Any]:
    return [*key.scope, *key.resource, key.path, [list(pair) for pair in key.selector]]


def _body_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _modification_time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            logger.warning("a file of the cache cannot be removed: %s", error)
