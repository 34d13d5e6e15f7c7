"""Which chosen resources can be in a release, and their items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from releases.items import is_file
from versioning.conf import get_editor
from versioning.editor.bulk import Choice
from versioning.models import VersionedResource


def items_of(choices: Iterable[Choice]) -> Sequence[dict[str, Any]]:
    """Return items that publish exactly the chosen versions."""
    return [
        {"resource": {"kind": choice.kind.slug, "id": choice.id}, "versionId": choice.version_id}
        for choice in choices
    ]


def can_be_released(resource: VersionedResource) -> bool:
    """Return whether a release can publish versions of a resource: not for an override stored as a file."""
    return not is_file(get_editor(), resource)
