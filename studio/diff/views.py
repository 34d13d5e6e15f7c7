"""Comparisons of two versions: any two, draft and live, or one and the previous one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from studio.dates import moment_in_words
from studio.diff.fields import FieldDifference, differences, unchanged_titles
from studio.limits import PageBudget, shorten
from studio.named import Place, person_name
from studio.resources.base import IN_CODE, ResourcePage
from studio.resources.rows import BlockOnPage, blocks_on_page
from studio.translation import changes_of, message_of, title_of
from versioning.domain.access import Right
from versioning.domain.config import Config
from versioning.domain.errors import NotFound
from versioning.domain.selectors import VersionState
from versioning.domain.snapshots import Snapshot
from versioning.editor.timeline import Timeline, find_labels, find_previous, make_entry
from versioning.models import VersionedResource

PREVIOUS: Final = "previous"
"""The word in the address for the version before the other one."""
INLINE: Final = "inline"
SIDE_BY_SIDE: Final = "side-by-side"
LAYOUTS: Final = (INLINE, SIDE_BY_SIDE)
"""The layouts of differences: one text, or side by side."""
PARAMETER: Final = "layout"
COOKIE: Final = "editor_comparison"
"""The cookie with the last chosen layout."""
_YEAR: Final = 365 * 24 * 60 * 60
OFFERED: Final = 50
MAX_MESSAGE: Final = 60


@dataclass(frozen=True, kw_only=True)
class Side:
    id: str
    title: str
    address: str = ""
    """The address of the version's page; empty for the agent as defined in code."""
    version: Snapshot | None = None
    """None for the agent as defined in code."""
    state: VersionState | None = None


@dataclass(frozen=True, kw_only=True)
class Layout:
    title: str
    address: str
    is_current: bool


class DifferencesPage(ResourcePage):
    blocks: Mapping[str, BlockOnPage] = MappingProxyType({})
    """The prompt blocks that the differing configurations refer to, by id."""
    parameters: Mapping[str, str] = MappingProxyType({})
    """The parameters of the page's address besides the layout; after a form the address lacks them."""

    @cached_property
    def requested_layout(self) -> str:
        """The layout named by the address, or empty."""
        requested = self.request.GET.get(PARAMETER, "")
        return requested if requested in LAYOUTS else ""

    @cached_property
    def layout(self) -> str:
        """The layout named by the address, or the last one of this browser; inline by default."""
        remembered = self.request.COOKIES.get(COOKIE, "")
        return self.requested_layout or (remembered if remembered in LAYOUTS else INLINE)

    def effects(self, before: Snapshot | None, after: Snapshot | None) -> list[FieldDifference]:
        """Return the effects of serving the second version instead of the first."""
        schema = self.collection.schema_of(self.resource_id)
        old, new = self.effective(before), self.effective(after)
        return differences(old, new, schema, self.budget(), self.names(old, new))

    def budget(self) -> PageBudget:
        """Return the budget of the page: side by side, every text occurs three times."""
        if self.layout == INLINE:
            return PageBudget()
        whole = PageBudget()
        return PageBudget(characters=whole.characters // 2, lines=whole.lines // 2)

    def names(self, *configs: Config) -> dict[str, str]:
        """Return the names of the prompt blocks that configurations refer to, by id; takes one query."""
        instructions = [config.get("instructions") for config in configs]
        all_blocks = [block for blocks in instructions if isinstance(blocks, list) for block in blocks]
        readable_blocks = blocks_on_page({"instructions": all_blocks}, self.caller)
        self.blocks = {**self.blocks, **{block.id: block for block in readable_blocks}}
        return {block.id: block.name for block in readable_blocks}

    def page(self, template: str, *, title: str, status: int = 200, **context: Any) -> TemplateResponse:
        """Return a page with the switch between the layouts, which the browser remembers."""
        layouts = []
        for layout, name in {INLINE: _("Inline"), SIDE_BY_SIDE: _("Side by side")}.items():
            query = self.request.GET.copy()
            for parameter, value in {**self.parameters, PARAMETER: layout}.items():
                query[parameter] = value
            layouts.append(
                Layout(title=name, address=f"?{query.urlencode()}", is_current=layout == self.layout)
            )
        response = super().page(
            template,
            title=title,
            status=status,
            **{
                "is_side_by_side": self.layout == SIDE_BY_SIDE,
                "layouts": layouts,
                "blocks_by_id": self.blocks,
                **context,
            },
        )
        if self.requested_layout and self.request.COOKIES.get(COOKIE) != self.requested_layout:
            response.set_cookie(
                COOKIE,
                self.requested_layout,
                max_age=_YEAR,
                path=reverse("studio:index"),
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return response


class ComparePage(DifferencesPage):
    tab = "compare"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the differences; by default, the changes that publishing the draft would make."""
        self.require(Right.READ_DRAFTS)
        versioned_resource = self.with_history
        if versioned_resource is None:
            return self.page("studio/diff/compare.html", title=_("Compare"))
        before, after = self._sides(versioned_resource)
        if before is None:
            return self.page(
                "studio/diff/compare.html",
                title=_("Compare"),
                after=after,
                is_first=request.GET.get("from") == PREVIOUS,
                history_address=self.address("history"),
            )
        fields, configs = self._compare(before, after)
        requested = self.requested_layout
        swapped = {"from": after.id, "to": before.id, **({PARAMETER: requested} if requested else {})}
        return self.page(
            "studio/diff/compare.html",
            title=_("%(before)s → %(after)s") % {"before": before.title, "after": after.title},
            sides=(before, after),
            before_title=before.title,
            after_title=after.title,
            fields=fields,
            unchanged=unchanged_titles(fields, *configs),
            resource=versioned_resource,
            choices=self._choices(versioned_resource, (before, after)),
            requested_layout=requested,
            panels=self.panels("compare", after.version, [field.name for field in fields]),
            swap_query=urlencode(swapped),
            history_address=self.address("history"),
        )

    def _compare(self, before: Side, after: Side) -> tuple[list[FieldDifference], tuple[Config, Config]]:
        if before.version is None or after.version is None:
            configs = self.effective(before.version), self.effective(after.version)
            return self.effects(before.version, after.version), configs
        old, new = before.version.config, after.version.config
        fields = differences(old, new, self.kind.schema, self.budget(), self.names(old, new))
        return fields, (old, new)

    def _sides(self, resource: VersionedResource) -> tuple[Side | None, Side]:
        """Return the versions in the address: by default the live one and the newest."""
        version_ids = {name: self.request.GET.get(name) or None for name in ("from", "to")}
        after = self._side(resource, version_ids["to"] or resource.latest_id)
        if version_ids["from"] not in {None, PREVIOUS}:
            return self._side(resource, version_ids["from"] or ""), after
        live = resource.active
        if version_ids["from"] is None:
            if live is not None and live.version_id != after.id:
                return self._make_side(resource, live), after
            if live is None and self.code_agent is not None:
                return self._side(resource, IN_CODE), after
        if after.version is None:
            raise NotFound
        previous = find_previous(resource, after.version)
        return self._make_side(resource, previous) if previous else None, after

    def _side(self, resource: VersionedResource, version_id: str) -> Side:
        if version_id == IN_CODE:
            if self.code_agent is None:
                raise NotFound
            return Side(id=IN_CODE, title=_("The code"))
        version = self.collection.version(self.resource_id, version_id, by=self.caller).version
        return self._make_side(resource, version)

    def _make_side(self, resource: VersionedResource, version: Snapshot) -> Side:
        return Side(
            id=version.version_id,
            title=title_of(version),
            address=self.address("version", version.version_id),
            version=version,
            state=resource.state_of(version),
        )

    def _choices(self, resource: VersionedResource, sides: Iterable[Side]) -> list[tuple[str, str]]:
        history = self.collection.versions(self.resource_id, by=self.caller)
        newest = [entry.version for entry in Timeline(resource, history.versions)[0:OFFERED]]
        live = [resource.active] if resource.active else []
        chosen = [side.version for side in sides if side.version]
        versions = {version.version_id: version for version in [*newest, *live, *chosen]}
        in_code = [(IN_CODE, _("The code"))] if self.code_agent else []
        return [*in_code, *self._name_blocks(resource, list(versions.values()))]

    def _name_blocks(
        self, resource: VersionedResource, versions: list[Snapshot]
    ) -> Iterator[tuple[str, str]]:
        states = {VersionState.PUBLISHED: _("live"), VersionState.DRAFT: _("draft")}
        labels = find_labels(resource, versions)
        for version in versions:
            entry = make_entry(resource, version, labels.get(version.version_id, ()), None)
            is_account = version.author_name and version.commit is None
            about = [
                title_of(version),
                moment_in_words(version.created_at),
                states.get(entry.state, ""),
                *(label.name for label in entry.labels),
                (person_name(version.author_name, Place.NAMED) if is_account else version.author_name or ""),
                shorten(message_of(version) or changes_of(version), MAX_MESSAGE),
            ]
            yield version.version_id, " · ".join(filter(None, about))
