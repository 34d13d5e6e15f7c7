"""The Python client of the editor: typed, cached, and usable while the server is down.

It requires only httpx2, and nothing of the server.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from editor_client.errors import (
    Conflict,
    CursorAhead,
    CursorExpired,
    EditConflict,
    EditorError,
    Forbidden,
    Issue,
    LockBroken,
    NotFound,
    RateLimited,
    ServerError,
    Unauthorized,
    Unreachable,
    ValidationFailed,
)
from editor_client.reads.compiling import compile_prompt, referenced_blocks

if TYPE_CHECKING:
    from editor_client.asynchronous import AsyncClient
    from editor_client.sync import Client

__version__ = "0.2.0"

__all__ = [
    "AsyncClient",
    "Client",
    "Conflict",
    "CursorAhead",
    "CursorExpired",
    "EditConflict",
    "EditorError",
    "Forbidden",
    "Issue",
    "LockBroken",
    "NotFound",
    "RateLimited",
    "ServerError",
    "Unauthorized",
    "Unreachable",
    "ValidationFailed",
    "compile_prompt",
    "referenced_blocks",
]

_CLIENTS = {"AsyncClient": "editor_client.asynchronous", "Client": "editor_client.sync"}


def __getattr__(name: str) -> Any:
    """Import a client when it is first used.

    The service imports the rules in `editor_client.shared` and must not load httpx2 for them.
    """
    if name not in _CLIENTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_CLIENTS[name]), name)
