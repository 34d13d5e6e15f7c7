"""The names of resources, for lists that name them: one query for each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from studio.kinds import KINDS_BY_SLUG
from studio.limits import shortened
from versioning.domain.access import Caller


def names_of(references: Iterable[tuple[str, str]], caller: Caller) -> Mapping[tuple[str, str], str]:
    """Return the names of resources, by the slug of the kind and the id.

    Deleted and unreadable resources are left out.
    """
    wanted: dict[str, set[str]] = {}
    for slug, resource_id in references:
        wanted.setdefault(slug, set()).add(resource_id)
    return {
        (slug, resource.pk): shortened(entry.name or resource.pk)
        for slug, kind in KINDS_BY_SLUG.items()
        if slug in wanted
        for resource, entry in kind.catalog(caller).some(sorted(wanted[slug]))
    }
