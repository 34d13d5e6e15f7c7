"""What people write, checked before it is stored: one check for the API, Python and the studio. Pure."""

from __future__ import annotations

from typing import Final

from editor_client.shared import canonical

from versioning.domain.errors import Invalid, Message

MAX_QUOTE: Final = 1_000
"""How many characters of a version a comment quotes."""


def checked_text(field: str, text: str, longest: int) -> str:
    """Return a text; raises `Invalid`, naming the field, if it is too long or cannot be stored.

    What cannot be stored is NUL and lone surrogates, which Python and forms can pass although JSON cannot.
    """
    if len(text) > longest:
        raise Invalid.field(field, Message("must not be longer than {limit} characters", limit=longest))
    try:
        canonical.check(text)
    except ValueError as error:
        raise Invalid.field(field, error.args[0]) from None
    return text
