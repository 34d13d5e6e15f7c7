"""Names here and on the wire: snake_case in Python, camelCase in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1024)
def camel(name: str) -> str:
    """Return the wire's name for a Python one; a name of the wire stays as it is."""
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def on_the_wire(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same fields under their wire names; what they hold is left as it is."""
    return {camel(name): value for name, value in fields.items()}
