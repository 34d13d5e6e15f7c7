"""All versions of a resource in chronological order, a page at a time: rows and commits."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db.models import Q, QuerySet
from editor_client.shared.text_keys import collation_key

from versioning.domain.access import Caller
from versioning.domain.events import Target
from versioning.domain.selectors import VersionState
from versioning.domain.snapshots import Snapshot, version_title
from versioning.editor.event_log import EventLog
from versioning.editor.resources import Who, caller_of
from versioning.models import VersionedResource, VersionLabel
from versioning.models.accounts import username_lookup
from versioning.models.merging import merged_slice
from versioning.serving.answer_cache import AnswerCache
from versioning.serving.grants import target_of


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A version in the timeline."""

    version: Snapshot
    state: VersionState
    labels: Sequence[VersionLabel] = ()
    previous: Snapshot | None = None
    """The previous version in time."""

    @property
    def title(self) -> str:
        """The title of the version."""
        return version_title(self.version)

    @property
    def is_live(self) -> bool:
        """Return whether this version is published."""
        return self.state is VersionState.PUBLISHED


@dataclass
class Timeline:
    """The versions of a resource, newest first: those in rows and those in Git.

    Can be sliced like a list, for a paginator. The number of queries does not depend on the number of
    versions.
    """

    resource: VersionedResource
    stored: QuerySet[Any]
    """The versions in rows, newest first."""
    author: str | None = None
    """Only versions by this author, empty for the application; None for every author."""
    among: Collection[str] | None = None
    """Only the versions with these ids; None for all."""
    unstored: Sequence[Snapshot] = field(init=False)
    order: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        pointers = self.resource.pointers
        everything = pointers.from_git if pointers else ()
        # Numbers are chronological and indexed; commits have no such number.
        self.order = ("-created_at", "-number") if everything else ("-number",)
        self.unstored = [
            version
            for version in everything
            if (self.author is None or (version.author_name or "") == self.author)
            and (self.among is None or version.version_id in self.among)
        ]
        self.stored = self.stored.defer("config_json", "search_text")
        if self.author is not None:
            self.stored = self.stored.filter(
                **{username_lookup("author"): self.author} if self.author else {"author": None}
            )
        if self.among is not None:
            self.stored = self.stored.filter(
                pk__in=[resource for resource in self.among if _is_of_a_row(resource)]
            )

    @property
    def is_narrowed(self) -> bool:
        """Whether versions are omitted, so that neighbours may be missing."""
        return self.author is not None or self.among is not None

    def __len__(self) -> int:
        return self.stored.count() + len(self.unstored)

    def __getitem__(self, part: slice) -> list[Entry]:
        """Return the entries of a slice; each has the version before it unless versions are omitted."""
        start, stop = part.start or 0, part.stop
        versions = merged_slice(self.stored, self.unstored, self.order, start, stop + 1)
        labels = find_labels(self.resource, versions)
        following = [None] * len(versions) if self.is_narrowed else [*versions[1:], None]
        return [
            make_entry(self.resource, version, labels.get(version.version_id, ()), previous)
            for version, previous in zip(versions, following, strict=True)
        ][: stop - start]


def find_oldest(resource: VersionedResource) -> str:
    """Return the id of the oldest version, whether a row or a commit; takes one query."""
    rows = resource.versions.order_by("number").values_list("pk", "created_at")[:1]
    candidates = [(created_at, str(pk)) for pk, created_at in rows]
    unstored = resource.pointers.from_git if resource.pointers else ()
    candidates += [(version.created_at, version.version_id) for version in unstored]
    return min(candidates, default=(None, ""))[1]


def list_authors(resource: VersionedResource) -> list[str]:
    """Return the names of everyone who saved a version, in order; empty for the application."""
    name = username_lookup("author")
    names: set[str] = {
        author or "" for author in resource.versions.order_by().values_list(name, flat=True).distinct()
    }
    unstored = resource.pointers.from_git if resource.pointers else ()
    return sorted(names | {version.author_name or "" for version in unstored}, key=collation_key)


def make_entry(
    resource: VersionedResource,
    version: Snapshot,
    labels: Sequence[VersionLabel],
    previous: Snapshot | None,
) -> Entry:
    """Return a version as an entry of the timeline."""
    return Entry(version=version, state=resource.state_of(version), labels=labels, previous=previous)


def find_labels(resource: VersionedResource, versions: Sequence[Snapshot]) -> dict[str, list[VersionLabel]]:
    """Return the labels that versions carry, by the id of the version."""
    ids = [version.version_id for version in versions if not version.read_only]
    labels: dict[str, list[VersionLabel]] = {}
    for label in resource.labels.filter(version_id__in=ids):
        labels.setdefault(str(label.version_id), []).append(label)
    return labels


def find_previous(resource: VersionedResource, version: Snapshot) -> Snapshot | None:
    """Return the previous version in time, whether a row or a commit."""
    older = Q(created_at__lt=version.created_at)
    if not version.read_only:
        older = Q(number__lt=version.number)
    row: Snapshot | None = resource.versions.select_related("author").filter(older).first()
    unstored = resource.pointers.from_git if resource.pointers else ()
    candidates = [commit for commit in unstored if commit.created_at < version.created_at]
    candidates += [row] if row else []
    return max(candidates, key=lambda candidate: candidate.created_at, default=None)


def _is_of_a_row(version_id: str) -> bool:
    try:
        UUID(version_id)
    except ValueError:
        return False
    return True


MAX_CHANGES: Final = 500
"""How many changes of the live version are read, newest first; anything before those counts as unknown."""
END_OF_LOG: Final = 1 << 62
"""A position behind every event."""


@dataclass(frozen=True, kw_only=True)
class Period:
    """A period in which a version was live."""

    since: datetime.datetime | None
    """None if unknown."""
    until: datetime.datetime | None
    """None if unknown, or if the version is live now."""
    is_current: bool = False


@dataclass(frozen=True, kw_only=True)
class LivePeriods:
    """The periods of all versions of a resource."""

    by_version: Mapping[str, Sequence[Period]]
    """By version id, oldest first; a version without any was never live, as far as known."""
    before_current: str
    """The id of the version that was live before the current one; empty if none or unknown."""
    is_complete: bool
    """Whether the periods are known since the resource was created."""
    known_since: datetime.datetime | None
    """The time from which periods are known, unless since the creation; None if none is known."""

    def version_at(self, moment: datetime.datetime) -> str | None:
        """Return the id of the version that was live at a moment; empty for none, None if unknown."""
        is_unsure = not self.is_complete and (self.known_since is None or moment < self.known_since)
        for version_id, periods in self.by_version.items():
            for period in periods:
                has_ended = period.until is not None and period.until <= moment
                if has_ended or (period.since is not None and moment < period.since):
                    continue
                if period.since is not None and (period.until is not None or period.is_current):
                    return version_id
                is_unsure = True
        return None if is_unsure else ""


class _Change(NamedTuple):
    """A change of the live version, from an entry of the log."""

    type: str
    version_id: str
    previous_version_id: str
    at: str


def live_periods(
    log: EventLog, resource: VersionedResource, *, by: Who, cache: AnswerCache | None = None
) -> LivePeriods:
    """Return when the versions of a resource were live, from the log entries that the caller may see.

    The log may have begun after the resource was created, or have been pruned. Editing a file under Git can
    also change the live version without an entry. Takes two queries; with a `cache`, the log is read again
    only after a change of the resource.
    """
    target, caller = target_of(resource, log.code), caller_of(by)
    read = partial(_read, log, target, caller)
    about = (target.kind, target.id)
    cache_key = (
        "live periods",
        *about,
        str(target.identity),
        caller.user_id,
        caller.rights,
        tuple(log.code.agents),
    )
    entries, has_more = read() if cache is None else cache.get_or_make(cache_key, about, read)
    changes = [_Change(*entry) for entry in entries]
    periods = _Periods()
    for change in changes:
        periods.change(change)
    periods.end(resource)
    is_created = any(change.type == f"{target.kind}.created" for change in changes)
    return LivePeriods(
        by_version=periods.by_version,
        before_current=periods.before(resource.active_id),
        is_complete=is_created and not has_more and resource.pointers is None,
        known_since=datetime.datetime.fromisoformat(changes[0].at) if changes else None,
    )


def _read(log: EventLog, target: Target, caller: Caller) -> tuple[list[tuple[str, ...]], bool]:
    """Return the entries as plain values, oldest first, and whether there are older ones."""
    kind = target.kind
    page = log.page(
        before=END_OF_LOG,
        limit=MAX_CHANGES,
        where=Q(resource_uuid=target.identity, hidden_from=""),
        fields=("position", "type", "version_id", "previous_version_id", "created_at"),
        types=frozenset(f"{kind}.{name}" for name in ("created", "published", "unpublished", "deleted")),
        resource_kind=kind,
        resource_id=target.id,
        by=caller,
    )
    changes = sorted(page.events, key=lambda event: event.position)
    return [
        (change.type, change.version_id, change.previous_version_id, change.created_at.isoformat())
        for change in changes
    ], page.has_more


@dataclass
class _Periods:
    """The periods found while the log is read from the beginning."""

    by_version: dict[str, list[Period]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    """The ids of the versions that were live, in that order."""
    live: tuple[str, datetime.datetime] | None = None
    """The live version at this point of the log, with its start; None if none or unknown."""

    def change(self, change: _Change) -> None:
        """Add a change."""
        event = change.type.rpartition(".")[2]
        if event == "created":
            return
        now = change.version_id if event == "published" else ""
        before, at = change.previous_version_id, datetime.datetime.fromisoformat(change.at)
        if self.live is not None and self.live[0] == now:
            return
        if self.live is not None:
            self._add(self.live[0], Period(since=self.live[1], until=at))
        if before and before != now and (self.live is None or self.live[0] != before):
            self._add(before, Period(since=None, until=at))
        self.live = (now, at) if now else None

    def end(self, resource: VersionedResource) -> None:
        """Add the currently live version, which may be missing in the log."""
        active_id = resource.active_id
        if self.live is not None and self.live[0] != active_id:
            self._add(self.live[0], Period(since=self.live[1], until=None))
        if active_id is not None:
            since = self.live[1] if self.live and self.live[0] == active_id else resource.published_since
            self._add(active_id, Period(since=since, until=None, is_current=True))

    def before(self, active_id: str | None) -> str:
        """Return the id of the last version that was live and is not live now."""
        return next((version_id for version_id in reversed(self.order) if version_id != active_id), "")

    def _add(self, version_id: str, period: Period) -> None:
        self.by_version.setdefault(version_id, []).append(period)
        self.order.append(version_id)
