"""The history of a resource: the timeline, single versions, and their actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from editor_client.shared import ids

from studio.forms.words import in_reading_order, titles, words_of
from studio.history.reading import pieces_of as shown
from studio.limits import PageBudget
from studio.resources.base import ResourcePage
from studio.resources.blocks import blocks_on_page
from versioning.domain.access import Right
from versioning.domain.errors import EditConflict, Invalid, NotFound
from versioning.domain.selectors import State
from versioning.domain.snapshots import Snapshot, reference_to, title_of
from versioning.editor.timeline import Entry, Timeline, entry_of, labels_of, previous_of
from versioning.models import VersionedResource

PER_PAGE: Final = 25
OFFERED_LABELS: Final = 100
SEEN_TOO_LATE: Final = (
    "Somebody changed this in the meantime, so nothing was done. Look again and decide anew."
)


@dataclass(frozen=True, kw_only=True)
class Item:
    """A version in the timeline, with where its links lead."""

    entry: Entry
    changed: Sequence[str]
    links: Mapping[str, str]
    is_latest: bool
    is_from: bool
    """Whether it is chosen, to begin with, as one of the two to compare."""
    is_to: bool


class VersionLinksPage(ResourcePage):
    """A page that links to what can be done with versions."""

    tab = "history"

    def comparison(self, before: Snapshot | None, after: Snapshot | None) -> str:
        """Return the address of the comparison of two versions; empty when one is missing, or the same."""
        if before is None or after is None or before.version_id == after.version_id:
            return ""
        query = urlencode({"from": before.version_id, "to": after.version_id})
        return f"{self.address('compare')}?{query}"

    def links(self, resource: VersionedResource, entry: Entry) -> dict[str, str]:
        """Return the addresses of all pages and actions of a version."""
        version = entry.version
        names = ("version", "restore", "labels", "download", "version_delete")
        return {
            **{name: self.address(name, version.version_id) for name in names},
            "publish": f"{self.address('publish')}?{urlencode({'version': version.version_id})}",
            "with_previous": self.comparison(entry.previous, version),
            "with_live": self.comparison(resource.active, version),
        }


class HistoryPage(VersionLinksPage):
    """All versions, newest first, and above them what is live and what would change."""

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show a page of the timeline."""
        self.require(Right.READ_DRAFTS)
        history = self.collection.versions(self.resource_id, by=self.caller)
        found = history.resource
        if found is None:
            return self.page(
                "studio/history/history.html", title="History", edit_address=self.address("change")
            )
        timeline: Any = Timeline(found, history.versions)
        page: Page[Entry] = Paginator(timeline, PER_PAGE).get_page(request.GET.get("page"))
        return self.page(
            "studio/history/history.html",
            title="History",
            resource=found,
            page=page,
            items=self._items(found, list(page.object_list)),
            latest=found.latest,
            latest_title=title_of(found.latest),
            latest_address=self.address("version", found.latest_id),
            live=found.active,
            live_title=title_of(found.active) if found.active else "",
            live_address=self.address("version", found.active_id) if found.active_id else "",
            compare_address=self.address("compare"),
            publish_address=self.address("publish"),
        )

    def _items(self, resource: VersionedResource, entries: Sequence[Entry]) -> list[Item]:
        shown = {entry.version.version_id for entry in entries}
        both_shown = resource.has_draft and {resource.active_id, resource.latest_id} <= shown
        newest = [entry.version.version_id for entry in entries[:2]]
        to, *older = [resource.latest_id, resource.active_id] if both_shown else newest
        return [
            Item(
                entry=entry,
                changed=titles(entry.version.changed_fields) if entry.previous else (),
                links=self.links(resource, entry),
                is_latest=entry.version.version_id == resource.latest_id,
                is_from=entry.version.version_id in older,
                is_to=entry.version.version_id == to,
            )
            for entry in entries
        ]


class OneVersionPage(VersionLinksPage):
    """A page about one version, which the address names."""

    def version(self) -> Snapshot:
        """Return the version; raises `NotFound` and `Forbidden` as reading does."""
        wanted = self.kwargs["version"]
        found: Snapshot = self.collection.version(self.resource_id, wanted, by=self.caller).version
        return found

    def found(self) -> VersionedResource:
        """Return the resource, which a version always has."""
        if self.with_history is None:
            raise NotFound
        return self.with_history

    def entry(self, version: Snapshot) -> Entry:
        """Return the version as the history shows it."""
        resource = self.found()
        labels = labels_of(resource, [version]).get(version.version_id, ())
        previous = previous_of(resource, version) if self.may(Right.READ_DRAFTS) else None
        return entry_of(resource, version, labels, previous)

    @property
    def expected(self) -> set[str]:
        """The tag of what the person saw when deciding."""
        return {self.request.POST.get("tag", "")}

    def seen_too_late(self) -> HttpResponse:
        """Return to the history, which shows what happened in the meantime."""
        return self.back("history", SEEN_TOO_LATE, level=messages.ERROR)


class VersionPage(OneVersionPage):
    """One version: its content and its actions."""

    def get(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        """Show it."""
        return self.show()

    def show(self, *, status: int = 200, **context: Any) -> HttpResponse:
        """Return the page, with errors of what was typed."""
        version = self.version()
        entry, resource = self.entry(version), self.found()
        budget = PageBudget()
        return self.page(
            "studio/history/version.html",
            title=entry.title,
            status=status,
            entry=entry,
            version=version,
            links=self.links(resource, entry),
            is_latest=entry.version.version_id == resource.latest_id,
            previous_title=title_of(entry.previous) if entry.previous else "",
            fields=[
                (words_of(name).title, shown(name, value, budget), name == self.kind.text_field)
                for name in in_reading_order(version.config)
                if (value := version.config[name]) is not None
            ],
            changed=titles(version.changed_fields) if entry.previous else (),
            known_labels=resource.labels.values_list("name", flat=True)[:OFFERED_LABELS],
            may_delete=self.may_delete(entry),
            blocks=blocks_on_page(self.effective(version), self.caller),
            **context,
        )

    def may_delete(self, entry: Entry) -> bool:
        """Say whether deleting the version is offered; the verb knows all that prevents it."""
        if entry.version.read_only or entry.is_live or entry.labels:
            return False
        return self.may(Right.SAVE if entry.state is State.DRAFT else Right.PUBLISH)


class RestorePage(OneVersionPage):
    """Makes a draft of an older version."""

    def post(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        """Restore it, and show the timeline with the new draft on top."""
        try:
            restored = self.collection.restore(
                self.resource_id, version, by=self.caller, expect=self.expected
            ).version
        except EditConflict:
            return self.seen_too_late()
        return self.back(
            "history",
            f"{title_of(restored)} is a copy of {title_of(self.version())}, and a draft: "
            "what is live stays until you publish it.",
        )


class LabelsPage(VersionPage):
    """Sets, moves and removes the labels of a version."""

    def post(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        """Do it, and show the version again."""
        name, action = request.POST.get("name", "").strip(), request.POST.get("action")
        # A label that is moved stays as it is unless the switch is on.
        wanted = action == "release" or "released" in request.POST or None
        released = False if action == "withdraw" else wanted
        try:
            said = self.remove(name) if action == "remove" else self.attach(name, version, released=released)
        except EditConflict:
            return self.seen_too_late()
        except Invalid as refused:
            problem = "; ".join(issue.message for issue in refused.issues)
            return self.show(status=400, label_typed=name, label_error=problem, label_released=wanted)
        return self.go(self.address("version", version), said)

    def attach(self, name: str, version_id: str, *, released: bool | None) -> str:
        """Set, move or release a label and return what to say about it."""
        problem = ids.label_problem(name)
        if problem is not None:
            raise Invalid.field("name", problem)
        before = self.found().labels.select_related("version").filter(name=name).first()
        _, label = self.collection.label(
            self.resource_id, name, version_id, released=released, by=self.caller, expect=self.expected
        )
        came_from = before.version if before is not None and str(before.version_id) != version_id else None
        said = f"The label {name} is set and released." if label.released else f"The label {name} is set."
        if released is False:
            said = f"The label {name} is released no more."
        return f"{said} It was at {reference_to(came_from)} before." if came_from else said

    def remove(self, name: str) -> str:
        """Remove a label and return what to say about it."""
        self.collection.unlabel(self.resource_id, name, by=self.caller, expect=self.expected)
        return f"The label {name} is removed."


class DeleteVersionPage(OneVersionPage):
    """Asks before a version is deleted for good."""

    def get(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        """Ask."""
        found = self.version()
        return self.page(
            "studio/history/version_delete.html",
            title=f"Delete {title_of(found)}?",
            version=found,
            entry=self.entry(found),
            version_address=self.address("version", found.version_id),
        )

    def post(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        """Delete it; what prevents that is said on the page of the version."""
        title = title_of(self.version())
        try:
            self.collection.delete_version(self.resource_id, version, by=self.caller, expect=self.expected)
        except EditConflict:
            return self.seen_too_late()
        except Invalid as error:
            said = f"{title} {error.issues[0].message}."
            return self.go(self.address("version", version), said, level=messages.ERROR)
        return self.back("history", f"{title} is deleted.")
