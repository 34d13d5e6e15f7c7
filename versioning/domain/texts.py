"""Checks texts that people write before they are stored, for the API, Python and the studio. Pure."""

from __future__ import annotations

from typing import Final

from editor_client.shared import canonical

from versioning.domain.errors import Invalid, Message

MAX_QUOTE: Final = 1_000
"""The maximum length of a comment's quotation from a version, in characters."""


def checked_text(field: str, text: str, longest: int) -> str:
    """Return a text; raises `Invalid`, naming the field, if it is too long or cannot be stored.

    NUL and lone surrogates cannot be stored; Python and forms can pass them although JSON cannot.
    """
    if len(text) > longest:
        raise Invalid.field(field, Message("must not be longer than {limit} characters", limit=longest))
    try:
        canonical.check(text)
    except ValueError as error:
        raise Invalid.field(field, error.args[0]) from None
    return text
