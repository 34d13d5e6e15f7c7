"""The rules of datasets and their items that need neither a schema nor the database. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from editor_client.shared.errors import Issue, Message
from editor_client.shared.tags import MEMBER

MAX_NAME: Final = 200
"""The maximum length of the name of a dataset, in characters."""
MAX_ITEMS: Final = 10_000
"""The maximum number of items of a dataset."""
MAX_ITEM: Final = 256 * 1024
"""The maximum size of an item, in bytes of its canonical JSON."""
MAX_EXTERNAL_ID: Final = 200
PURGED: Final = "__purged"
"""The member of the metadata of an item whose content was removed."""


def composed_name(name: str) -> str:
    """Return the name of a dataset as it is stored, so that composed and decomposed names are the same."""
    return unicodedata.normalize("NFC", name).strip()


def name_problem(name: str) -> str | None:
    """Return why a text cannot be the name of a dataset, or None if it can."""
    if not name.strip() or len(name.strip()) > MAX_NAME:
        return Message("must have 1 to {limit} characters", limit=MAX_NAME)
    return None


def metadata_problem(metadata: Any) -> Issue | None:
    """Return the problem of an item's metadata, or None.

    Only a purge may mark the content of an item as removed.
    """
    if isinstance(metadata, Mapping) and PURGED in metadata:
        return Issue(f"metadata.{PURGED}", Message("cannot be set"))
    tags = metadata.get(MEMBER) if isinstance(metadata, Mapping) else None
    if tags is None or (isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)):
        return None
    return Issue(f"metadata.{MEMBER}", Message("must be a list of texts"))
