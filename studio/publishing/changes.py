"""What publishing several drafts would change, on one page, and what the gate says to each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models.functions import Length
from editor_client.shared import canonical

from studio.diff.fields import FieldDifference, differences
from studio.kinds import KINDS, StudioKind
from studio.limits import PageBudget
from studio.publishing.drafts import Draft
from studio.publishing.obstacles import reasons
from studio.resources.rows import blocks_on_page
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.domain.config import Config
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.editor.publish_requests import ALONE, PublishRequest
from versioning.serving.overlays import OverlaidVersion, Versions

MAX_READ: Final = 8_000_000
"""The maximum total length of the configurations that are read for one page."""

Key = tuple[str, str]
"""The slug of a kind, and the id of a resource."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What publishing a draft would change."""

    fields: Sequence[FieldDifference]
    is_whole: bool
    """Whether all of it is on the page; otherwise the page that compares the versions has it."""
    prefix: str
    """The prefix of the ids in its part of the page."""


class Texts:
    """The configurations of the newest and the live versions of drafts, read in two queries for each kind."""

    def __init__(self, drafts: Iterable[Draft]) -> None:
        self._configs: dict[str, Config | None] = {}
        versions = [
            (draft.kind, version) for draft in drafts for version in (draft.newest, draft.live) if version
        ]
        for kind in KINDS:
            self._read(kind, [version for its_kind, version in versions if its_kind.slug == kind.slug])

    def of(self, version: Snapshot | None) -> Config | None:
        """Return the configuration of a version, empty without one; None if it is too long to be read."""
        return {} if version is None else self._configs[version.version_id]

    def _read(self, kind: StudioKind, versions: Sequence[Any]) -> None:
        in_rows = [version for version in versions if version.source == "database"]
        self._configs |= {
            version.version_id: version.config for version in versions if version.source != "database"
        }
        if not in_rows:
            return
        rows: Any = kind.model.version_model.objects.filter(pk__in={row.pk for row in in_rows}).order_by()
        fitting, left = [], MAX_READ
        for version_id, size in rows.values_list("pk", Length("config_json")):
            if size <= left:
                left -= size
                fitting.append(version_id)
        read = rows.filter(pk__in=fitting).defer("search_text", "excerpt")
        found = {row.pk: row.config for row in read}
        self._configs |= {row.version_id: found.get(row.pk) for row in in_rows}
        for row in in_rows:
            if row.pk in found:
                row.config = found[row.pk]  # so that it is not read again


def changes_of(drafts: Sequence[Draft], texts: Texts, caller: Caller) -> dict[Key, Changes]:
    """Return what publishing each would change; one query.

    The drafts share the budget of a page. Short ones are shown first, so that a long one leaves nothing out
    but itself.
    """
    names = _block_names([texts.of(version) for one in drafts for version in (one.newest, one.live)], caller)
    budget = PageBudget()
    found = {}
    sizes = [
        sum(len(canonical.dump(texts.of(version) or {})) for version in (one.live, one.newest))
        for one in drafts
    ]
    for place in sorted(range(len(drafts)), key=sizes.__getitem__):
        draft = drafts[place]
        old, new = texts.of(draft.live), texts.of(draft.newest)
        fields: Sequence[FieldDifference] = ()
        is_shown = old is not None and new is not None and not budget.is_spent
        if old is not None and new is not None and is_shown:
            fields = differences(old, new, draft.kind.schema, budget, names)
        found[draft.kind.slug, draft.resource.pk] = Changes(
            fields=fields,
            is_whole=is_shown and all(field.is_whole for field in fields),
            prefix=f"draft-{place}-",
        )
    return found


def refusals_of(drafts: Sequence[Draft], texts: Texts, caller: Caller) -> dict[Key, str]:
    """Return why the gate would refuse drafts that are published one after the other, blocks first.

    The number of queries does not depend on the number of drafts. Those with texts that are too long to be
    read are not asked about.
    """
    judged = [draft for draft in drafts if texts.of(draft.newest) is not None]
    blocks = [one for one in judged if one.kind.is_shown]
    refused = _refused(blocks, ALONE, caller)
    moving = {
        key: OverlaidVersion(identity=block.resource.uuid, version_id=block.newest.version_id)
        for block in blocks
        if (key := (block.kind.slug, block.resource.pk)) not in refused
    }
    return refused | _refused([one for one in judged if not one.kind.is_shown], moving, caller)


def _refused(drafts: Sequence[Draft], moving: Versions, caller: Caller) -> dict[Key, str]:
    requests = [
        PublishRequest(resource=draft.resource, version=draft.newest, caller=caller, together=moving)
        for draft in drafts
    ]
    errors = gate.refusals(requests, get_editor().code) if requests else []
    return {
        (one.kind.slug, one.resource.pk): " ".join(reasons(error))
        for one, error in zip(drafts, errors, strict=True)
        if error is not None
    }


def _block_names(configs: Iterable[Config | None], caller: Caller) -> dict[str, str]:
    """Return the names of the prompt blocks that configurations refer to, by id; one query."""
    listed = [config.get("instructions") for config in configs if config is not None]
    together = [block for blocks in listed if isinstance(blocks, list) for block in blocks]
    return {block.id: block.name for block in blocks_on_page({"instructions": together}, caller)}
