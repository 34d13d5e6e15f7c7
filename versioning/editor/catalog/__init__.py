"""Finding resources: lists, search, recent activity, suggestions.

A catalog covers one kind of resource for one caller: agents defined in code, their overrides in rows or
files, and all other resources in rows. The number of queries never depends on how many resources are shown.
"""

from __future__ import annotations

from versioning.editor.catalog.catalog import (
    Catalog,
    LongList,
    Overview,
    Suggestion,
    overview,
    suggestions,
    suggestions_by_id,
)
from versioning.editor.catalog.entries import Entry, Origin, ResourceState
from versioning.editor.catalog.filters import Filter, ListFilter, list_filters
from versioning.editor.catalog.text_search import Hit, TextSearch
from versioning.editor.catalog.waiting import Ownership, PendingItem, Waiting, changed_since_live

__all__ = [
    "Catalog",
    "Entry",
    "Filter",
    "Hit",
    "ListFilter",
    "LongList",
    "Origin",
    "Overview",
    "Ownership",
    "PendingItem",
    "ResourceState",
    "Suggestion",
    "TextSearch",
    "Waiting",
    "changed_since_live",
    "list_filters",
    "overview",
    "suggestions",
    "suggestions_by_id",
]
