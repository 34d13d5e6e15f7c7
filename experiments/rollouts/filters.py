"""The filter of lists by running rollouts, for the studio."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from django.utils.translation import gettext_lazy

from experiments.rollouts.models import Rollout
from versioning.domain.access import Right
from versioning.domain.kinds import ResourceKind
from versioning.editor.catalog.criteria import Viewer, among
from versioning.editor.catalog.filters import Filter
from versioning.models.querysets import within


def _on_a_share(kind: ResourceKind, _value: str, viewer: Viewer) -> Collection[str]:
    """Return the resources of a kind with a running rollout."""
    running = Rollout.objects.running().filter(kind=kind.slug).order_by()
    readable = running.filter(within("workspace", viewer.caller.scope(Right.READ_DRAFTS)))
    return list(readable.values_list("resource_id", flat=True))


FILTER: Final = Filter(
    criterion=among(_on_a_share),
    field="share",
    choices=[("running", gettext_lazy("On a share"))],
    is_quick=True,
)
