"""The names of models, which must not be addresses. Pure.

Some providers' libraries accept an address as a name and send the prompt there, with the installation's
token.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from versioning.domain.errors import Message

PATTERN: Final = r"^(?!.*://)[^\s\u0000-\u001f\u007f-\u009f]+$"
"""The names that `problem` accepts, as a regular expression."""


def problem(name: str) -> str | None:
    """Return why the text cannot name a model, or None if it can."""
    if "://" in name:
        return Message("must be a name, not an address")
    if any(character.isspace() or unicodedata.category(character) == "Cc" for character in name):
        return Message("must have no white space and no control characters")
    return None


def stored_problem(model: Mapping[str, Any] | None) -> str | None:
    """Return the same for a model that may have been saved before this rule existed."""
    name = (model or {}).get("name")
    return problem(name) if isinstance(name, str) else None
