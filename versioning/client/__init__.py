"""The Python client of the editor: typed, cached, and not down because the server is.

It needs httpx and nothing of the server.
"""

from versioning.client.asynchronous import AsyncClient
from versioning.client.compiling import compile_prompt, referenced_blocks
from versioning.client.errors import (
    Conflict,
    EditConflict,
    EditorError,
    Forbidden,
    Issue,
    NotFound,
    RateLimited,
    ServerError,
    Unauthorized,
    Unreachable,
    ValidationFailed,
)
from versioning.client.sync import Client

__all__ = [
    "AsyncClient",
    "Client",
    "Conflict",
    "EditConflict",
    "EditorError",
    "Forbidden",
    "Issue",
    "NotFound",
    "RateLimited",
    "ServerError",
    "Unauthorized",
    "Unreachable",
    "ValidationFailed",
    "compile_prompt",
    "referenced_blocks",
]
