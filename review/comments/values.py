"""What a comment may say: one check for the API, Python and the studio, under the names of the API. Pure."""

from __future__ import annotations

from typing import Final

from editor_client.shared import canonical

from versioning.domain.errors import Invalid

MAX_BODY: Final = 10_000
"""How many characters a comment has at most, and its quote."""
MAX_FIELD: Final = 500


def checked_body(body: str) -> str:
    """Return the text of a comment; raises `Invalid` if it is blank, too long or cannot be stored."""
    if not body.strip():
        raise Invalid.field("body", "must not be blank")
    return checked_text("body", body, MAX_BODY)


def checked_text(name: str, text: str, longest: int) -> str:
    """Return a text; raises `Invalid`, naming the member, if it is too long or cannot be stored."""
    if len(text) > longest:
        raise Invalid.field(name, f"must not be longer than {longest} characters")
    try:
        canonical.check(text)
    except ValueError as error:
        raise Invalid.field(name, str(error)) from None
    return text
