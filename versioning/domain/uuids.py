"""Ids of rows in their external form: UUIDs, and numbers. Pure."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from versioning.domain.errors import NotFound

_MAX_DIGITS: Final = 18
"""Any number of so many digits fits into the key of a row."""


def parse_uuid(text: str) -> UUID:
    """Return the UUID written in lower case with hyphens; raises `NotFound` for any other text.

    Any other text cannot identify a stored object.
    """
    try:
        parsed = UUID(text)
    except ValueError:
        raise NotFound from None
    if str(parsed) != text:
        raise NotFound
    return parsed


def is_uuid(text: str) -> bool:
    """Return whether a text is a UUID that `parse_uuid` accepts."""
    try:
        parse_uuid(text)
    except NotFound:
        return False
    return True


def is_key(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS
