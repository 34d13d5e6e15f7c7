"""The index of the database in use."""

from __future__ import annotations

from typing import Any, Final

from django.db import connection

from versioning.models.text_search.base import TextIndex
from versioning.models.text_search.postgresql import TextVectors
from versioning.models.text_search.sqlite import Fts5

_BY_VENDOR: Final[dict[str, TextIndex]] = {"sqlite": Fts5(), "postgresql": TextVectors()}


def text_index(database: Any = connection) -> TextIndex:
    """Return the index of a database; raises `KeyError` for a database that the editor does not support."""
    return _BY_VENDOR[database.vendor]
