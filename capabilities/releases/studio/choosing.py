"""Which chosen resources can be in a release, and their items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from studio.publishing.drafts import Draft
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.editor.bulk import Choice


def items_of(choices: Iterable[Choice]) -> Sequence[dict[str, Any]]:
    """Return items that publish exactly the chosen versions."""
    return [
        {"resource": {"kind": choice.kind.slug, "id": choice.id}, "versionId": choice.version_id}
        for choice in choices
    ]


def as_chosen(
    drafts: Mapping[tuple[str, str], Draft], choices: Sequence[Choice], caller: Caller
) -> dict[tuple[str, str], Draft]:
    """Return chosen resources, each with the chosen version, which need not be the newest."""
    found = dict(drafts)
    for choice in choices:
        key = choice.kind.slug, choice.id
        if key in found and choice.version_id != found[key].resource.current.version_id:
            versions = get_editor().collection(choice.kind)
            found[key] = found[key].of(versions.version(choice.id, choice.version_id, by=caller).version)
    return found
