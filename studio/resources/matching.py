"""How forms name everything that a list shows, on any page of it: by kind and query.

The field is named `matching` and has the value `agent?state=changed`. The number of resources is limited, and
they are looked up when the form is sent; the confirmation page then names each resource.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from django.http import QueryDict

from studio.kinds import KINDS_BY_SLUG, StudioKind
from studio.resources.filters import FilterForm
from studio.resources.rows import chosen_value
from versioning.domain.access import Caller
from versioning.domain.errors import Invalid
from versioning.editor.bulk import MAX_CHOSEN, Choice
from versioning.editor.catalog import Wanted

FIELD: Final = "matching"


def value_of_matching(kind: StudioKind, query: str) -> str:
    """Return the value of the checkbox for everything that a list shows."""
    return f"{kind.slug}?{query}"


def matching(given: QueryDict, caller: Caller, narrow: Callable[[Wanted], Wanted]) -> Sequence[Choice]:
    """Return the resources in a list that the caller may change, at most `MAX_CHOSEN`.

    `narrow` may filter the list further. Raises `Invalid`, which names the field, for another value.
    """
    slug, _, query = given.get(FIELD, "").partition("?")
    if slug not in KINDS_BY_SLUG:
        raise Invalid.field(FIELD, "must be a kind and the query of a list")
    kind = KINDS_BY_SLUG[slug]
    form = FilterForm(QueryDict(query), kind=kind, caller=caller)
    if not form.is_valid():
        raise Invalid.field(FIELD, "must be a kind and the query of a list")
    found = kind.catalog(caller).search(narrow(form.wanted), order=form.sorting)[:MAX_CHOSEN]
    return [
        Choice(kind=kind, id=entry.id, version_id=entry.version.version_id)
        for entry in found
        if entry.version is not None and chosen_value(kind, entry, caller)
    ]
