"""The request context of a read: a JSON object in base64, as the server and its double read it. Pure."""

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
    """Return the request context in the value of the parameter; raises `Invalid` if it is none."""
    encoded = text.translate(_VARIANTS)
    try:
        decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        raise Invalid.field(PARAMETER, "is not base64") from None
    value = canonical.parse(decoded, field=PARAMETER)
    if not isinstance(value, dict):
        raise Invalid.field(PARAMETER, "must be a JSON object")
    return value
