"""How forms name chosen resources, each with the version that the page showed.

A checkbox of a list is named `chosen` and has the value `agent:team/writer:<version id>`. A confirmation page
sends the entity tag of each resource in a field named `tag:agent:team/writer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.http import QueryDict

from studio.kinds import KINDS_BY_SLUG
from versioning.domain.errors import Invalid, Message
from versioning.domain.kinds import ResourceKind
from versioning.editor.bulk import MAX_CHOSEN, Choice

FIELD: Final = "chosen"


def value_of(kind: ResourceKind, resource_id: str, version_id: str) -> str:
    """Return the value of the checkbox for a resource."""
    return f"{kind.slug}:{resource_id}:{version_id}"


def etag_field(kind: ResourceKind, resource_id: str) -> str:
    """Return the name of the field with the entity tag of a resource."""
    return f"tag:{kind.slug}:{resource_id}"


def chosen(given: QueryDict, field: str = FIELD) -> Sequence[Choice]:
    """Return the chosen resources in a field, without duplicates.

    Raises `Invalid`, which names the field, for more than `MAX_CHOSEN` resources and for other values.
    """
    values = given.getlist(field)
    if len(values) > MAX_CHOSEN:
        raise Invalid.field(field, Message("must not have more than {limit} items", limit=MAX_CHOSEN))
    choices = {}
    for place, value in enumerate(values):
        slug, _, rest = value.partition(":")
        resource_id, _, version_id = rest.rpartition(":")
        if slug not in KINDS_BY_SLUG or not resource_id or not version_id:
            raise Invalid.field(f"{field}.{place}", "must be a kind, an id and a version, joined by colons")
        kind = KINDS_BY_SLUG[slug]
        etag = given.get(etag_field(kind, resource_id))
        choices[slug, resource_id] = Choice(kind=kind, id=resource_id, version_id=version_id, etag=etag)
    return list(choices.values())
