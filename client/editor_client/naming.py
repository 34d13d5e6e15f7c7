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
    """Return the same fields under their JSON names, with the values as they are.

    A reason to do without approvals becomes the object that holds it.
    """
    named = {camel(name): value for name, value in fields.items()}
    return named | bypassing(fields.get("bypass_review"))


def bypassing(reason: str | None) -> dict[str, Any]:
    """Return what a body says of the review of a version; nothing without a reason to bypass it."""
    return {} if reason is None else {"bypassReview": {"reason": reason}}
