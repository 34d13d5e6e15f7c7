"""The request context in the query of a request that does not reach Django."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote_plus

from editor_client.shared.request_contexts import PARAMETER, read_context

from versioning.domain.errors import Invalid

_PREFIX: Final = f"{PARAMETER}=".encode()


def split_context(query: bytes) -> tuple[bytes, dict[str, Any]] | None:
    """Return a raw query without its request context, and the context.

    None if the query has no context, several, or one that cannot be read.
    """
    if _PREFIX not in query:
        return None
    pairs = query.split(b"&")
    found = [pair for pair in pairs if pair.startswith(_PREFIX)]
    if len(found) != 1:
        return None
    value = found[0][len(_PREFIX) :].decode("latin-1")
    try:
        context = read_context(unquote_plus(value) if "%" in value or "+" in value else value)
    except Invalid:
        return None
    return b"&".join(pair for pair in pairs if pair is not found[0]), context
