"""The filter of lists by waiting schedules, for the studio."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from django.utils.translation import pgettext_lazy

from capabilities.releases.models import ReleaseItem
from capabilities.schedules.verbs import Schedules
from versioning.domain.kinds import ResourceKind
from versioning.editor.catalog.criteria import Viewer, among
from versioning.editor.catalog.filters import Filter


def _scheduled(kind: ResourceKind, _value: str, viewer: Viewer) -> Collection[str]:
    """Return the resources of a kind that are scheduled, alone or in a release."""
    waiting = Schedules.current().list(by=viewer.caller).waiting().order_by()
    alone = waiting.filter(kind=kind.slug).values_list("resource_id", flat=True)
    releases = waiting.of_releases().values("release_id")
    items = ReleaseItem.objects.filter(kind=kind.slug, release__in=releases).order_by()
    return [*alone, *items.values_list("resource_id", flat=True)]


FILTER: Final = Filter(
    criterion=among(_scheduled),
    field="scheduled",
    choices=[("waiting", pgettext_lazy("a schedule", "Scheduled"))],
    is_quick=True,
)
