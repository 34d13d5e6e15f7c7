"""Names: snake_case in Python, camelCase in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1024)
def camel(name: str) -> str:
    """Return the JSON name for a Python one; a JSON name stays as it is."""
    first, *others = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def with_json_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same fields under their JSON names, with the values as they are."""
    return {camel(name): value for name, value in fields.items()}


def bypassing(reason: str | None) -> dict[str, Any]:
    """Return the member of a body that bypasses the review for a reason; none without one."""
    return {} if reason is None else {"bypassReview": {"reason": reason}}


def saved(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a save for the arguments of its method."""
    others = {name: value for name, value in fields.items() if name != "bypass_review"}
    return with_json_names(others) | bypassing(fields.get("bypass_review"))
