"""What the pages ask of releases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from releases.items import is_file
from releases.verbs import Releases
from versioning.conf import get_editor
from versioning.editor.bulk import Choice
from versioning.models import VersionedResource


def releases() -> Releases:
    """Return the verbs of releases: `editor.releases`."""
    return get_editor().capability(Releases)


def items_of(choices: Iterable[Choice]) -> Sequence[dict[str, Any]]:
    """Return items that publish exactly the versions that were chosen."""
    return [
        {"resource": {"kind": choice.kind.slug, "id": choice.id}, "versionId": choice.version_id}
        for choice in choices
    ]


def can_be_released(resource: VersionedResource) -> bool:
    """Say whether a release can publish versions of a resource: not those of an override kept as a file."""
    return not is_file(get_editor(), resource)
