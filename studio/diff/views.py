"""Two versions side by side: any two, draft and live, or one and the previous one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from studio.diff.fields import FieldDifference, differences, field_difference, unchanged_titles
from studio.limits import PageBudget
from studio.resources.base import ResourcePage
from versioning.domain.access import Right
from versioning.domain.config import Config
from versioning.domain.errors import NotFound
from versioning.domain.selectors import State
from versioning.domain.snapshots import Snapshot, subject_of, title_of
from versioning.editor.timeline import Timeline, entry_of, labels_of, previous_of
from versioning.models import VersionedResource

IN_CODE: Final = "code"
"""What stands in the address for the agent as its code defines it."""
OFFERED: Final = 50


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two versions."""

    id: str
    title: str
    version: Snapshot | None = None
    """None for the agent as its code defines it."""
    state: State | None = None


class DifferencesPage(ResourcePage):
    """A page that shows differences."""

    def effects(self, before: Snapshot | None, after: Snapshot | None) -> list[FieldDifference]:
        """Return what changes if the second version is served instead of the first."""
        schema = self.collection.schema_of(self.resource_id)
        return differences(self.effective(before), self.effective(after), schema)


class ComparePage(DifferencesPage):
    """Any two versions."""

    tab = "compare"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the differences; without a choice, what publishing the draft would change."""
        self.require(Right.READ_DRAFTS)
        found = self.with_history
        if found is None:
            return self.page("studio/diff/compare.html", title="Compare")
        before, after = self._sides(found)
        if before is None:
            return self.page(
                "studio/diff/compare.html",
                title="Compare",
                after=after,
                history_address=self.address("history"),
            )
        fields, both = self._compared(before, after)
        return self.page(
            "studio/diff/compare.html",
            title=f"{before.title} → {after.title}",
            sides=(before, after),
            fields=fields,
            unchanged=unchanged_titles(fields, *both),
            resource=found,
            choices=self._choices(found, (before, after)),
        )

    def _compared(self, before: Side, after: Side) -> tuple[list[FieldDifference], tuple[Config, Config]]:
        if before.version is None or after.version is None:
            both = self.effective(before.version), self.effective(after.version)
            return self.effects(before.version, after.version), both
        old, new, found = self.collection.compare(self.resource_id, before.id, after.id, by=self.caller)
        budget = PageBudget()
        fields = [field_difference(one.field, one.previous, one.current, budget) for one in found]
        return fields, (old.version.config, new.version.config)

    def _sides(self, resource: VersionedResource) -> tuple[Side | None, Side]:
        """Return what the address names: by default what is live, and what was saved last."""
        given = {name: self.request.GET.get(name) or None for name in ("from", "to")}
        after = self._side(resource, given["to"] or resource.latest_id)
        if given["from"] is not None:
            return self._side(resource, given["from"]), after
        live = resource.active
        if live is not None and live.version_id != after.id:
            return self._side_of(resource, live), after
        if live is None and self.code_agent is not None:
            return self._side(resource, IN_CODE), after
        previous = previous_of(resource, after.version) if after.version else None
        return self._side_of(resource, previous) if previous else None, after

    def _side(self, resource: VersionedResource, version_id: str) -> Side:
        if version_id == IN_CODE:
            if self.code_agent is None:
                raise NotFound
            return Side(id=IN_CODE, title="The code")
        found = self.collection.version(self.resource_id, version_id, by=self.caller).version
        return self._side_of(resource, found)

    def _side_of(self, resource: VersionedResource, version: Snapshot) -> Side:
        return Side(
            id=version.version_id,
            title=title_of(version),
            version=version,
            state=resource.state_of(version),
        )

    def _choices(self, resource: VersionedResource, sides: Iterable[Side]) -> list[tuple[str, str]]:
        """Return the versions to choose from: the newest, the live one, and the two that are shown."""
        history = self.collection.versions(self.resource_id, by=self.caller)
        newest = [entry.version for entry in Timeline(resource, history.versions)[0:OFFERED]]
        live = [resource.active] if resource.active else []
        chosen = [side.version for side in sides if side.version]
        versions = {version.version_id: version for version in [*newest, *live, *chosen]}
        in_code = [(IN_CODE, "The code")] if self.code_agent else []
        return [*in_code, *self._named(resource, list(versions.values()))]

    def _named(self, resource: VersionedResource, versions: list[Snapshot]) -> Iterator[tuple[str, str]]:
        labels = labels_of(resource, versions)
        for version in versions:
            entry = entry_of(resource, version, labels.get(version.version_id, ()), None)
            state = "" if entry.state is State.HISTORICAL else entry.state.value
            labels_of_entry = (label.name for label in entry.labels)
            about: list[Any] = [state, *labels_of_entry, subject_of(version.change_message)[:60]]
            yield version.version_id, " · ".join([entry.title, *filter(None, about)])
