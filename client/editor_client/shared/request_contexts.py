"""The parts of a read request: the request context, a JSON object in base64, and the API key. Pure."""

from __future__ import annotations

import base64
from typing import Any, Final

from editor_client.shared import canonical
from editor_client.shared.errors import Invalid

PARAMETER: Final = "requestContext"
"""The query parameter."""

_VARIANTS: Final = str.maketrans({" ": "+", "-": "+", "_": "/", "\r": None, "\n": None, "=": None})
"""A `+` that is sent bare arrives as a space; `-` and `_` are those of base64url."""


def read_context(text: str) -> dict[str, Any]:
    """Return the request context in the value of the parameter; raises `Invalid` if it is invalid."""
    encoded = text.translate(_VARIANTS)
    try:
        decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        raise Invalid.field(PARAMETER, "is not base64") from None
    value = canonical.parse(decoded, field=PARAMETER)
    if not isinstance(value, dict):
        raise Invalid.field(PARAMETER, "must be a JSON object")
    return value


def why_no_key(authorization: str) -> str:
    """Return why a request with this header `Authorization`, which may be empty, has no API key."""
    if not authorization.strip():
        return "Send an API key in the header 'Authorization: Bearer ek_…'."
    if authorization.partition(" ")[0].lower() == "bearer":
        return "The header 'Authorization' has no API key after 'Bearer'."
    return (
        "The header 'Authorization' must be 'Bearer', a space and an API key: 'Authorization: Bearer ek_…'."
    )
