"""A folder with the last good answers, for an application that restarts while the server is down.

It has a folder for each installation and rights, one for each key, and in them a file for each answer. The
folder of a key also says which rights the server has named when it answered that key: without this file, the
key gets nothing of what others have read. Names are digests, because the originals may be secret or too long.
Only the owner can read the files, because prompts can be confidential; no file contains a key. Unreadable
files are ignored.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock
from typing import Any

from editor_client.calls import Answer, Resource
from editor_client.reads.cache import MAX_ENTRIES, Key
from editor_client.reads.rights import Scope
from editor_client.shared import canonical

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
        # Nothing is written after it was dropped, in any order of threads.
        self._lock = Lock()

    def rights(self) -> str:
        """Return the rights that the server has named when it answered this key; empty if it never did."""
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
            return _answer(json.loads(text), key)
        except (ValueError, KeyError, TypeError, RecursionError):
            logger.warning("a file of the cache cannot be read and is ignored: %s", self._path(key))
            return None

    def store(self, key: Key, answer: Answer, is_current: Callable[[], bool]) -> None:
        """Store an answer if it is still current; failures are only logged."""
        self._store(self._path(key), _document(key, answer), is_current)

    def drop(self, key: Key) -> None:
        """Remove the answer to one request."""
        with self._lock:
            _remove([self._path(key)])

    def forget(self) -> None:
        """Remove what only this key may have, and its rights: what other keys may have stays for them."""
        with self._lock:
            _remove([self._own / _RIGHTS, *self._own.glob("*.json")])

    def forget_resource(self, resource: Resource, rights: str) -> None:
        """Remove everything about a resource that this key, or any with these rights, may have."""
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
            files = sorted((file for file in path.parent.iterdir() if file.name != _RIGHTS), key=_written)
            _remove(files[:-MAX_ENTRIES])


def _digest(value: Any) -> str:
    return canonical.digest(value)[:32]


def _document(key: Key, answer: Answer) -> dict[str, Any]:
    text = answer.content.decode()
    return {"question": _question(key), "etag": answer.etag, "body": text, "digest": _body_digest(text)}


def _answer(document: Any, key: Key) -> Answer:
    """Return the answer in a document; raises `ValueError` and others if it is damaged or another key's."""
    body, etag = str(document["body"]), document["etag"]
    if document["question"] != _question(key) or document["digest"] != _body_digest(body):
        raise ValueError
    return Answer(200, {"etag": etag} if etag else {}, body.encode())


def _question(key: Key) -> list[Any]:
    return [*key.scope, *key.resource, key.path, [list(pair) for pair in key.selector]]


def _body_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _written(path: Path) -> float:
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
