"""A folder with the last good answers, for an application that restarts while the server is down.

It has a folder for each server and key, and a file for each answer. Names are digests, because the
originals may be secret or too long. Only the owner can read the files, because prompts can be confidential;
no file contains the key. Unreadable files are ignored.
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

from editor_client.cache import MAX_ENTRIES, Key, Scope
from editor_client.calls import Answer, Resource
from editor_client.shared import canonical

logger = logging.getLogger("editor_client")


class DiskCache:
    """The answers of one server to one key."""

    def __init__(self, folder: Path, scope: Scope) -> None:
        self._folder = folder / _digest(scope)
        self.after_fork()

    def after_fork(self) -> None:
        """Start over in a forked process, where no other thread writes."""
        # Nothing is written after it was dropped, in any order of threads.
        self._lock = Lock()

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
        with self._lock:
            if not is_current():
                return
            try:
                self._write(self._path(key), canonical.dump(_document(key, answer)))
            except (OSError, ValueError) as error:
                logger.warning("an answer cannot be stored in %s: %s", self._folder, error)

    def drop(self, key: Key) -> None:
        """Remove the answer to one request."""
        with self._lock:
            _remove([self._path(key)])

    def forget(self, resource: Resource | None = None) -> None:
        """Remove everything, or everything about one resource."""
        with self._lock:
            _remove(self._folder.glob(f"{_digest(resource)}.*.json" if resource else "*.json"))

    def _path(self, key: Key) -> Path:
        return self._folder / f"{_digest(key.resource)}.{_digest((key.path, key.selector))}.json"

    def _write(self, path: Path, text: str) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not path.exists()
        # Created only for this process and its owner, then renamed, so that no reader sees half of it.
        descriptor, temporary = tempfile.mkstemp(dir=self._folder, suffix=".tmp")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            Path(temporary).replace(path)
        except BaseException:
            _remove([Path(temporary)])
            raise
        if is_new:
            self._trim()

    def _trim(self) -> None:
        """Remove the oldest answers; contexts of templates can produce any number of them."""
        files = sorted(self._folder.iterdir(), key=_written)
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
    return [key.scope.server, *key.resource, key.path, [list(pair) for pair in key.selector]]


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
