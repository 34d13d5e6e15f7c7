"""Locks: the exact versions of agents, and of all that they run and show. Described as in `stored`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from editor_client.arguments import Selector
from editor_client.calls import Answer, Call, Request, encoded
from editor_client.errors import malformed
from editor_client.naming import with_json_names


def locking(agents: Sequence[str], prompt_blocks: Sequence[str], selector: Selector) -> Call[dict[str, Any]]:
    """Describe the making of a lock."""
    named = (("agent", agents), ("promptBlock", prompt_blocks))
    body: dict[str, Any] = {"resources": [{"kind": kind, "id": one} for kind, ids in named for one in ids]}
    chosen = {name: value for name, value in with_json_names(selector).items() if value is not None}
    if chosen:
        body["selector"] = chosen
    return Call(request=Request(method="POST", path="/locks", body=encoded(body)), read=_lock)


def _lock(answer: Answer) -> dict[str, Any]:
    lock = answer.json()
    if not isinstance(lock, dict) or "signature" not in lock:
        raise malformed("it is not a lock", answer.status)
    return lock
