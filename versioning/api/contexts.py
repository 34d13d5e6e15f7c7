"""The request context of a read: a JSON object in base64, in the query parameter `requestContext`."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final
from urllib.parse import unquote_plus

from editor_client.shared import canonical

from versioning.domain.errors import Invalid

PARAMETER: Final = "requestContext"

_PREFIX: Final = f"{PARAMETER}=".encode()
_VARIANTS: Final = str.maketrans({" ": "+", "-": "+", "_": "/", "\r": None, "\n": None, "=": None})
"""A `+` that is sent bare arrives as a space; `-` and `_` are those of base64url."""


def read_context(text: str) -> dict[str, Any]:
    """Return the request context in the value of the parameter; raises `Invalid` if it is none."""
    encoded = text.translate(_VARIANTS)
    try:
        decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise Invalid.field(PARAMETER, "is not base64") from None
    value = canonical.parse(decoded, field=PARAMETER)
    if not isinstance(value, dict):
        raise Invalid.field(PARAMETER, "must be a JSON object")
    return value


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
