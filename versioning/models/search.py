"""The search: in id, name, description and text, whatever the case, of what the caller may read.

One rule in two forms: for rows, which a statement searches, and for what only files or code hold.
Neither uses LIKE: both databases match its patterns by trying again at every character, which takes
length times length; looking for an exact text is up to eighty times as fast.

There is no index on purpose. PostgreSQL has one for this (pg_trgm), but what is searched are the two
versions that a resource points at, and the index would be on the table of all that were ever saved:
as big as their texts, two milliseconds more for every save, and of no use for fewer than three
characters, where the database would read the whole history instead. Without it the texts of five
thousand agents are searched in some thirty milliseconds.
"""

from __future__ import annotations

from typing import Any, Final

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan

from versioning.domain.access import Caller, Right
from versioning.domain.config import Config, searchable_text
from versioning.domain.errors import Invalid
from versioning.models.querysets import within

MAX_LENGTH: Final = 200
"""How many characters can be searched for."""


def matching(rows: QuerySet[Any, Any], text: str, caller: Caller) -> QuerySet[Any, Any]:
    """Keep the resources in which the text occurs, in what the caller may read of them.

    Raises `Invalid` for a text that is too long.
    """
    _check(text)
    if not text:
        return rows
    sought = Value(text.casefold())
    drafts = within("workspace_id", caller.scope(Right.READ_DRAFTS))
    # What is published is searched already where nothing newer was saved.
    differs = Q(active_version__isnull=True) | ~Q(active_version=F("latest_version"))
    in_active = contains("active_version__search_text", sought)
    return rows.filter(in_active | (drafts & differs & contains("latest_version__search_text", sought)))


def contains(text: Any, sought: Any) -> Q:
    """Return the condition that one text, such as the name of a column, contains another exactly."""
    return Q(GreaterThan(StrIndex(text, sought), 0))


def occurs(text: str, resource_id: str, config: Config) -> bool:
    """Say whether the text occurs in a configuration, or in the id that it belongs to; raises `Invalid`."""
    _check(text)
    return text.casefold() in searchable_text(resource_id, config)


def _check(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise Invalid.field("search", f"must not be longer than {MAX_LENGTH} characters")
