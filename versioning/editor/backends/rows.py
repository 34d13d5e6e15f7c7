"""Resources stored in rows: the row is authoritative."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar, cast

from django.core.exceptions import ObjectDoesNotExist
from editor_client.shared import ids

from versioning.domain.access import Caller, Right
from versioning.domain.agents import Registry
from versioning.domain.errors import NotFound
from versioning.domain.overrides import CodeAgent
from versioning.domain.snapshots import Snapshot
from versioning.editor.backends import Finish
from versioning.models import Version, VersionedResource, events
from versioning.models.guarded import delete_row
from versioning.models.querysets import VersionedQuerySet
from versioning.models.statements import OneByKey, QueriesForCallers

R = TypeVar("R", bound=VersionedResource)


class Rows(Generic[R]):
    """The backend for prompt blocks, and for agents when overrides are rows too."""

    def __init__(self, model: type[R], code: Registry) -> None:
        self.model = model
        self.code = code
        self._queries: QueriesForCallers[OneByKey[R]] = QueriesForCallers()
        self._locks: dict[bool, OneByKey[R]] = {}

    @property
    def all(self) -> VersionedQuerySet[R]:
        """Every row, readable or not."""
        return cast("VersionedQuerySet[R]", self.model._default_manager.all())

    @property
    def overrides(self) -> VersionedQuerySet[R]:
        """The rows of overrides; rows in other workspaces were stored before the code took their ids."""
        rows = self.all.filter(workspace_id=self.code.workspace_id)
        return rows.select_related("active_version", "latest_version")

    def readable(self, by: Caller, *, label: str | None = None) -> VersionedQuerySet[R]:
        """Return the rows that the caller may read."""
        return self.all.readable_by(by, self.code, label=label).select_related("author")

    def list_unstored(self, by: Caller) -> Sequence[R]:
        """Return nothing: every resource has a row."""
        return ()

    def find(
        self, resource_id: str, by: Caller, *, label: str | None = None, only: Sequence[str] | None = None
    ) -> R:
        """Return a resource with its two versions and all authors, or `only` with the versions of pointers.

        Raises `NotFound`.
        """

        def compile_query() -> OneByKey[R]:
            rows = self.all.readable_by(by, self.code, label=label)
            return OneByKey(with_authors(rows) if only is None else rows.as_served(*only))

        return find_row(self._queries.get(by, self.code, (label, only), compile_query), resource_id)

    def override(self, agent: CodeAgent) -> R | None:
        """Return the override of a code-defined agent."""
        return self.overrides.filter(pk=agent.id).first()

    def fingerprint(self, resource_id: str) -> Hashable:
        """Return `()`: the log records every change of a row."""
        return ()

    def refuse_taken(self, resource_id: str) -> None:
        """Do nothing: inserting the row fails if the id is taken."""

    @contextmanager
    def creating(self, resource_id: str) -> Iterator[Finish[R]]:
        """Open a transaction; only rows are written in it."""
        with events.transaction():
            yield lambda _resource: None

    @contextmanager
    def lock_resource(self, resource_id: str, by: Caller, *, for_deletion: bool = False) -> Iterator[R]:
        """Lock the row for this transaction; raises `NotFound`."""
        with events.transaction():
            yield self.lock(resource_id, by, for_deletion=for_deletion)

    def lock(self, resource_id: str, by: Caller, *, for_deletion: bool) -> R:
        """Lock the row for the open transaction and return it; raises `NotFound`.

        Uses one compiled query for callers with access to drafts, which includes everyone who can save. On
        PostgreSQL it finds nothing if a draft was saved while it waited for the lock, because the new latest
        version is not in its snapshot. In that case, and for other callers, the row is queried again.
        """
        query = self._locks.get(for_deletion)
        if query is None:
            rows = self.all.with_lock(for_deletion=for_deletion).select_related("author", "latest_version")
            query = self._locks[for_deletion] = OneByKey(rows.defer("latest_version__search_text"))
        with suppress(NotFound):
            resource = find_row(query, resource_id)
            if by.may(Right.READ_DRAFTS, resource.workspace_id) and by.covers(resource_id):
                return resource
        return find_row(self.readable(by).with_lock(for_deletion=for_deletion), resource_id)

    def store(self, resource: R) -> None:
        """Save the row, with the entries of the log."""
        events.at_end(resource.store)

    def set_active(self, resource: R, version: Snapshot | None, by: Caller) -> None:
        """Move the active pointer of the row."""
        resource.activate(cast("Version", version).pk if version else None, by_id=by.user_id)

    def delete_version(self, resource: R, version: Version) -> None:
        """Delete the version."""
        resource.delete_version(version)

    def is_last_trace(self, resource: R, version: Version) -> bool:
        """Return whether this is the only version."""
        return resource.versions.count() == 1

    def delete(self, resource: R) -> None:
        """Delete the row with its versions and labels."""
        delete_row(resource)


def with_versions(rows: VersionedQuerySet[R]) -> VersionedQuerySet[R]:
    """Select rows together with the versions that they point at."""
    texts = ("active_version__search_text", "latest_version__search_text")  # as long as the versions
    return rows.select_related("active_version", "latest_version").defer(*texts)


def with_authors(rows: VersionedQuerySet[R]) -> VersionedQuerySet[R]:
    """Select rows together with the versions that they point at and all their authors."""
    authors = ("author", "active_version__author", "latest_version__author", "published_by")
    return with_versions(rows).select_related(*authors)


def find_row(rows: VersionedQuerySet[R] | OneByKey[R], resource_id: str) -> R:
    """Return the row with this id; raises `NotFound`."""
    # An impossible id is refused here, before it reaches a database that cannot represent it.
    if ids.problem(resource_id):
        raise NotFound
    try:
        return rows.get(pk=resource_id)
    except ObjectDoesNotExist:
        raise NotFound from None
