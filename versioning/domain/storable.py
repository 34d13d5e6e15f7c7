"""Texts and JSON values that come from models and tools, made storable and sendable. Pure.

Input of callers that cannot be stored is refused (`editor_client.shared.canonical`). Output of models is
repaired: half a surrogate pair or a NUL character becomes U+FFFD, a number that JSON cannot express null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from editor_client.shared import canonical

REPLACEMENT: Final = "\ufffd"


def storable_text(text: str) -> str:
    """Return a text with the halves of surrogate pairs put together, and what cannot be stored replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\x00", REPLACEMENT)


def storable_json(value: Any) -> Any:
    """Return a value of JSON's types with its texts and numbers storable; other types stay as they are."""
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if value.bit_length() <= canonical.MAX_BITS else None
    if isinstance(value, Mapping):
        return {
            storable_text(key) if isinstance(key, str) else key: storable_json(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [storable_json(item) for item in value]
    return value


class StorablePieces:
    """Makes a text that comes in pieces storable, with the same result as `storable_text` for the whole."""

    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        """Return the next piece; the first half of a surrogate pair waits for the second one."""
        text, self._half = self._half + piece, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return storable_text(text)

    def end(self) -> str:
        """Return what still waits: the text has ended."""
        half, self._half = self._half, ""
        return storable_text(half)
