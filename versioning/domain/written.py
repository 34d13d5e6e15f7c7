"""JSON values as people read and write them: a text is itself, unless it reads as JSON. Pure."""

from __future__ import annotations

import re
from typing import Any, Final

from editor_client.shared import canonical

from versioning.domain.errors import Invalid

_MAY_BE_JSON: Final = re.compile(
    r"[ \t\n\r]*+(?:[{\[\"]|true|false|null|-?[0-9]++(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?[ \t\n\r]*+\Z)"
)
"""How JSON begins; a number is all there is of it. Of most texts that says already that they are none."""


def shown(value: Any) -> str:
    """Return the text of a value; one that reads as JSON, or is empty, stands in quotation marks."""
    is_itself = isinstance(value, str) and value and not _reads_as_json(value)
    text: str = value if is_itself else canonical.dump(value)
    return text


def typed(text: str) -> Any:
    """Return the value that a person has written: JSON, or else the text itself."""
    try:
        return canonical.parse(text)
    except Invalid:
        return text


def typed_cell(text: str) -> Any:
    """Return the value that a person has written into a cell: as `typed`, but never less than is there.

    A number that JSON writes otherwise, such as `3.10` or `1e5`, may be a version or a code: it stays a text.
    """
    value = typed(text)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return text if is_number and canonical.dump(value) != text.strip() else value


def _reads_as_json(text: str) -> bool:
    if _MAY_BE_JSON.match(text) is None:
        return False
    try:
        canonical.parse(text)
    except Invalid:
        return False
    return True
