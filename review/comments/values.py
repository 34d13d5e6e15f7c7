"""Limits for comments: one check for the API, Python and the studio, with the API's names. Pure."""

from __future__ import annotations

from typing import Final

from versioning.domain.errors import Invalid
from versioning.domain.texts import checked_text

MAX_BODY: Final = 10_000
"""The maximum length of a comment."""
MAX_FIELD: Final = 500


def checked_body(body: str) -> str:
    """Return the text of a comment; raises `Invalid` if it is blank, too long or cannot be stored."""
    if not body.strip():
        raise Invalid.field("body", "must not be blank")
    return checked_text("body", body, MAX_BODY)
