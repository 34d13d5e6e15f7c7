"""A filter of the lists of snippets."""

from __future__ import annotations

from typing import Final

from django.db.models import Q

from tests.toy_kind.kind import SNIPPET
from versioning.editor.catalog.criteria import condition
from versioning.editor.catalog.filters import Filter

PREFIX: Final = Filter(
    criterion=condition(
        lambda prefix, _viewer: Q(id__startswith=prefix),
        lambda found, prefix, _viewer: found.entry.id.startswith(prefix),
    ),
    parameter="idPrefix",
    description="Whose id begins so.",
    field="prefix",
    label="Id begins with",
    applies=lambda kind: kind.slug == SNIPPET.slug,
)
