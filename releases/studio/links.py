"""The addresses of the pages about releases."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.urls import reverse

from studio.resources.chosen import FIELD, value_of
from studio.workspaces.base import address

if TYPE_CHECKING:
    from releases.models import Release
    from versioning.domain.kinds import ResourceKind


def of_release(release: Release) -> str:
    """Return the address of the page of a release."""
    return address("release", release.workspace_id, str(release.pk))


def of_adding(kind: ResourceKind | None = None, resource_id: str = "", version_id: str = "") -> str:
    """Return the address of the page that adds a version, or chosen resources, to a release."""
    page = reverse("studio:add_to_release")
    return page if kind is None else f"{page}?{urlencode({FIELD: value_of(kind, resource_id, version_id)})}"


def of_publishing_together() -> str:
    """Return the address that publishes chosen resources together."""
    return reverse("studio:publish_together")
