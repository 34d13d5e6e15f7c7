"""Settings that are JSON objects by name, as text or as their value. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any


def object_of(value: str | Mapping[str, Any], *, example: str) -> Mapping[str, Any]:
    """Return the members of a setting, from JSON or its value; empty means none. Numbers are exact.

    Raises `ValueError` with a sentence, which has an example, about what cannot be read: also for a member
    that is named twice, of which one would be lost.
    """
    if not value:
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value, parse_float=Decimal, object_pairs_hook=_without_duplicates)
        except json.JSONDecodeError as error:
            raise ValueError(f"is not JSON: {error}") from None
    if not isinstance(value, Mapping):
        raise ValueError(f"must be an object, such as {example}")  # noqa: TRY004  as for all other faults
    return value


def _without_duplicates(members: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in members:
        if name in found:
            raise ValueError(f"names {name!r} twice")
        found[name] = value
    return found
