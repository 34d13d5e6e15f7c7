"""Ends reviews when their version or resource is deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from review.models import Review
from versioning.domain.access import Caller
from versioning.domain.events import Target, VersionName
from versioning.domain.overrides import IN_CODE
from versioning.models.followers import RESOURCES, Follower
from versioning.models.versioned import MODELS_BY_SLUG


def _remove_with_resource(instance: Any, **_signal: Any) -> None:
    Review.objects.filter(identity=instance.uuid).delete()


def _remove_with_override(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    """Remove the reviews of an override, whose row may come and go while the override stays in its file."""
    if resource.identity == IN_CODE:
        Review.objects.about(resource).delete()


def _close_without_version(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    """Close the open review of a deleted version, unless it can be moved to a newer one.

    It always can be moved when old versions are pruned.
    """
    if version is None or detail.get("pruned"):
        return
    review = Review.objects.open().about(resource).filter(version_id=version.version_id).first()
    if review is None:
        return
    versions = MODELS_BY_SLUG[resource.kind].version_model.objects.filter(resource_id=resource.id)
    if versions.filter(number__gt=review.version_number).exists():
        return
    review.close(resource, version, by)


FOLLOWERS: Final = (
    Follower(call=_remove_with_resource, rows=RESOURCES),
    Follower(call=_remove_with_override, events=["deleted"]),
    Follower(call=_close_without_version, events=["versionDeleted"]),
)
