"""UUIDs in their external form. Pure."""

from __future__ import annotations

from uuid import UUID

from versioning.domain.errors import NotFound


def uuid_of(text: str) -> UUID:
    """Return the UUID written in lower case with hyphens; raises `NotFound` for any other text.

    Any other text cannot identify a stored object.
    """
    try:
        found = UUID(text)
    except ValueError:
        raise NotFound from None
    if str(found) != text:
        raise NotFound
    return found


def is_uuid(text: str) -> bool:
    """Say whether a text is a UUID as `uuid_of` reads it."""
    try:
        uuid_of(text)
    except NotFound:
        return False
    return True
