"""The digest of the items of a dataset, which a change updates without reading the others. Pure.

It is the sum of a hash of each item, so that their order plays no part.
"""

from __future__ import annotations

import hashlib
from typing import Final

_MODULUS: Final = 2**256
EMPTY: Final = "0" * 64
"""The digest of no items."""


def with_item(digest: str, item_id: str, payload: str) -> str:
    """Return the digest with an item, whose payload has this digest."""
    return _as_text(int(digest, 16) + _of_item(item_id, payload))


def without_item(digest: str, item_id: str, payload: str) -> str:
    """Return the digest without an item that is part of it."""
    return _as_text(int(digest, 16) - _of_item(item_id, payload))


def _of_item(item_id: str, payload: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{item_id}:{payload}".encode()).digest())


def _as_text(number: int) -> str:
    return f"{number % _MODULUS:064x}"
