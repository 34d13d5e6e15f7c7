"""Which arm of a rule a request context is in: always the same one for the same key. Pure.

    {"seed": "…", "bucketBy": "userId", "arms": [{"name": "new", "start": 0, "weight": 500, …}]}

The keys are spread evenly over ten thousand buckets; an arm takes `weight` of them from `start` on. The
service and the client follow the same rule.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

BUCKETS: Final = 10_000
MAX_KEY: Final = 2**53
"""From this number on, JSON numbers are not exact everywhere."""


def arm_of(rule: Mapping[str, Any] | None, context: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the arm that a context is in; None for a context in no arm, or without a key or a rule."""
    key = None if rule is None else key_in(context, rule["bucketBy"])
    if rule is None or key is None:
        return None
    number = bucket(rule["seed"], key)
    found = (arm for arm in rule["arms"] if 0 <= number - arm["start"] < arm["weight"])
    return next(found, None)


def bucket(seed: str, key: str) -> int:
    """Return the bucket of a key."""
    digest = sha256(f"{seed}\n{key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % BUCKETS


def key_in(context: Mapping[str, Any], path: str) -> str | None:
    """Return the key at a dotted path, which enters objects only; None for what is no key.

    A text that is not blank is a key, in the form NFC, and so is a whole number, as its digits.
    """
    value: Any = context
    for segment in path.split("."):
        value = value.get(segment) if isinstance(value, Mapping) else None
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value) if value.strip() else None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) >= MAX_KEY:
        return None
    return str(int(value)) if value == int(value) else None
