"""UUIDs as callers write them. Pure."""

from __future__ import annotations

from uuid import UUID

from versioning.domain.errors import NotFound


def uuid_of(text: str) -> UUID:
    """Return the UUID that a text spells in lower case, with hyphens; raises `NotFound` for any other text.

    A text that spells none names nothing that is stored.
    """
    try:
        found = UUID(text)
    except ValueError:
        raise NotFound from None
    if str(found) != text:
        raise NotFound
    return found
