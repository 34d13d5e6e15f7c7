"""What publishing several drafts would change, on one page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models.functions import Length

from studio.diff.fields import FieldDifference, differences
from studio.kinds import KINDS, StudioKind
from studio.limits import PageBudget
from studio.publishing.drafts import Draft
from studio.resources.blocks import blocks_on_page
from versioning.domain.access import Caller
from versioning.domain.config import Config

MAX_READ: Final = 8_000_000
"""The maximum total length of the configurations that are read for one page."""

Configs = Mapping[str, Config | None]
"""Configurations by the id of their version; None for one that is too long to be read."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What publishing a draft would change."""

    fields: Sequence[FieldDifference]
    is_whole: bool
    """Whether all of it is on the page; otherwise the page that compares the versions has it."""
    prefix: str
    """The prefix of the ids in its part of the page."""


def changes_of(drafts: Sequence[Draft], caller: Caller) -> dict[tuple[str, str], Changes]:
    """Return the changes by the slug of the kind and the id; a few queries for each kind.

    The drafts share the budget of a page, in their order.
    """
    configs: dict[str, Config | None] = {}
    for kind in KINDS:
        configs |= _configs(kind, [one for one in drafts if one.kind.slug == kind.slug])
    names = _block_names(configs.values(), caller)
    budget = PageBudget()
    found = {}
    for place, draft in enumerate(drafts):
        fields = _differences(draft, configs, budget, names)
        found[draft.kind.slug, draft.resource.pk] = Changes(
            fields=fields or (),
            is_whole=fields is not None and all(field.is_whole for field in fields),
            prefix=f"draft-{place}-",
        )
    return found


def _differences(
    draft: Draft, configs: Configs, budget: PageBudget, names: Mapping[str, str]
) -> Sequence[FieldDifference] | None:
    """Return the differences as far as the budget allows; None if it allows none."""
    old = configs[draft.live.version_id] if draft.live is not None else {}
    new = configs[draft.newest.version_id]
    if old is None or new is None or budget.is_spent:
        return None
    return differences(old, new, draft.kind.schema, budget, names)


def _configs(kind: StudioKind, drafts: Iterable[Draft]) -> dict[str, Config | None]:
    """Return the configurations of the newest and the live versions, those of rows in two queries."""
    found: dict[str, Config | None] = {}
    in_rows: list[str] = []
    for draft in drafts:
        for version in (draft.newest, draft.live):
            if version is None:
                continue
            if version.source == "database":
                in_rows.append(version.version_id)
            else:
                found[version.version_id] = version.config
    if not in_rows:
        return found
    rows: Any = kind.model.version_model.objects.filter(pk__in=in_rows).order_by()
    found |= dict.fromkeys(in_rows)
    fitting, left = [], MAX_READ
    for version_id, size in rows.values_list("pk", Length("config_json")):
        if size <= left:
            left -= size
            fitting.append(version_id)
    read = rows.filter(pk__in=fitting).defer("search_text", "excerpt")
    return found | {row.version_id: row.config for row in read}


def _block_names(configs: Iterable[Config | None], caller: Caller) -> dict[str, str]:
    """Return the names of the prompt blocks that configurations refer to, by id; one query."""
    listed = [config.get("instructions") for config in configs if config is not None]
    together = [block for blocks in listed if isinstance(blocks, list) for block in blocks]
    return {block.id: block.name for block in blocks_on_page({"instructions": together}, caller)}
