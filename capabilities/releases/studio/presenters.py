"""The items of a release as its page shows them: what each would change, or has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from capabilities.releases.items import ItemNow, now
from capabilities.releases.models import ReleaseItem
from capabilities.releases.models.releases import Action
from studio import additions
from studio.diff.fields import FieldDifference, differences
from studio.extensions import Action as Link
from studio.kinds import KINDS, KINDS_BY_SLUG, StudioKind
from studio.limits import PageBudget
from studio.resources.rows import blocks_on_page
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.models import Version

LINES: Final = 1_500
CHARACTERS: Final = 150_000
"""The maximum total length of the items' texts on a page; longer ones are a click away."""


@dataclass(frozen=True, kw_only=True)
class ShownItem:
    """An item, with the version that it replaces and the differences."""

    now: ItemNow
    kind: StudioKind
    name: str
    address: str
    """The page of the resource; empty if it is gone."""
    before: Version | None
    """The version that was live before; for a draft release, the current one."""
    fields: Sequence[FieldDifference]
    problems: Sequence[str] = ()
    """Why it prevents the release from being published, a sentence each."""
    links: Sequence[Link] = ()
    """Other applications' links next to its version, such as to the comments on it."""

    @property
    def key(self) -> str:
        """Its name in a form."""
        return f"{self.kind.slug}:{self.now.resource_id}"

    @property
    def publishes(self) -> bool:
        """Whether it publishes a version, rather than unpublishing the resource."""
        return self.now.item.action == Action.PUBLISH

    @property
    def prefix(self) -> str:
        """The prefix of the ids in its part of the page."""
        return f"item-{self.now.item.place}-"

    @property
    def version_address(self) -> str:
        """The page of the version to publish; empty if there is none."""
        return self._version_address(self.now.version)

    @property
    def before_address(self) -> str:
        """The page of the version that was live before; empty if there is none."""
        return self._version_address(self.before)

    @property
    def comparison(self) -> str:
        """The page that compares both; empty if one of them is missing."""
        if self.before is None or self.now.version is None or self.now.version.pk == self.before.pk:
            return ""
        ids = {"from": self.before.version_id, "to": self.now.version.version_id}
        return f"{self.kind.address('compare', self.now.resource_id)}?{urlencode(ids)}"

    @property
    def looks(self) -> list[tuple[str, str]]:
        """The (title, address) of the pages that show it as if the whole release were published."""
        if self.now.version is None or not self.address or not self.kind.has_preview:
            return []
        query = urlencode({"release": str(self.now.item.release_id)})
        pages = {"preview": _("Preview"), "try": pgettext("tab", "Try")}
        return [
            (title, f"{self.kind.address(page, self.now.resource_id)}?{query}")
            for page, title in pages.items()
        ]

    @property
    def newest(self) -> Any:
        """The version saved after the one to publish, if any."""
        return self.now.resource.latest if self.now.newer else None

    def _version_address(self, version: Version | None) -> str:
        if version is None or self.now.resource is None:
            return ""
        return self.kind.address("version", self.now.resource_id, version.version_id)


def shown_items(
    items: Sequence[ReleaseItem], caller: Caller, problems: dict[tuple[str, str], list[str]]
) -> list[ShownItem]:
    """Return items as a page shows them; the number of queries does not depend on the number of items.

    `problems` has the reasons why one cannot be published, by kind and id.
    """
    found = now(get_editor(), items, with_texts=True)
    before = _versions_before(found)
    names = _block_names([one.version for one in found] + list(before.values()), caller)
    called = _called(items, caller)
    links = additions.links(caller, [(one.resource, one.version) for one in found if one.version is not None])
    budget = PageBudget(characters=CHARACTERS, lines=LINES)
    shown = []
    for one in found:
        kind, key = KINDS_BY_SLUG[one.kind], (one.kind, one.resource_id)
        is_there = one.resource is not None and key in called
        earlier = before.get(one.active_before or "") if is_there else None
        shown.append(
            ShownItem(
                now=one,
                kind=kind,
                name=called[key] if is_there else one.resource_id,
                address=kind.address("change", one.resource_id) if is_there else "",
                before=earlier,
                fields=_changes(kind, earlier, one, budget, names),
                problems=problems.get(key, ()),
                links=links.get(key, ()) if is_there else (),
            )
        )
    return shown


def _changes(
    kind: StudioKind, before: Version | None, one: ItemNow, budget: PageBudget, names: dict[str, str]
) -> Sequence[FieldDifference]:
    if one.version is None or (before is not None and before.pk == one.version.pk):
        return ()
    old = before.config if before is not None else {}
    return differences(old, one.version.config, kind.schema, budget, names)


def _versions_before(items: Sequence[ItemNow]) -> dict[str, Version]:
    """Return the versions that are replaced, by id; one query for each kind."""
    found: dict[str, Version] = {}
    for kind in KINDS:
        ids = [item.active_before for item in items if item.kind == kind.slug and item.active_before]
        if ids:
            rows = kind.model.version_model.objects.defer("search_text", "excerpt").filter(pk__in=ids)
            found |= {str(row.pk): row for row in rows}
    return found


def _called(items: Sequence[ReleaseItem], caller: Caller) -> dict[tuple[str, str], str]:
    """Return the names of the resources that the caller may read; one query for each kind."""
    return {
        (kind.slug, resource.pk): entry.name or resource.pk
        for kind in KINDS
        for resource, entry in kind.catalog(caller).some(
            [item.resource_id for item in items if item.kind == kind.slug]
        )
    }


def _block_names(versions: Sequence[Version | None], caller: Caller) -> dict[str, str]:
    """Return the names of the prompt blocks that versions refer to, by id; one query."""
    listed = [version.config.get("instructions") for version in versions if version is not None]
    together = [block for blocks in listed if isinstance(blocks, list) for block in blocks]
    return {block.id: block.name for block in blocks_on_page({"instructions": together}, caller)}
