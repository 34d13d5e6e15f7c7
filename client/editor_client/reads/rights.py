"""For whom answers are held: for the rights of a key, as the server names them, not for the key's text.

Answers name the installation and the rights of the key in `Editor-Rights`. What one key has read is held for
every key with the same rights, once the server has answered that key and named them. A server that names none
is of an earlier release: then answers are held for its address and the key.
"""

from __future__ import annotations

import hashlib
from threading import Lock
from typing import NamedTuple

from editor_client.calls import Call

_OWN = "/stored/"
"""Records are held for one key only, because they name the favorites of its owner."""

_NEVER = -1


class Scope(NamedTuple):
    """For whom an answer is held."""

    rights: str
    """The installation and rights, as the server names them; the address of a server that names none."""
    key_digest: str = ""
    """The only key; empty for all with these rights. The key itself is not stored."""


class Rights:
    """The rights of one key, as the latest answer named them."""

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
        """Record what the answer to a request with this number names; return whether it is news.

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
        """Take the name that an earlier process was told, unless this one was told something."""
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
