"""Where resources live: in rows, or as override files with rows beside them.

A verb finds, locks and saves a resource through its backend, and never asks which one it is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from versioning.domain.access import Caller
from versioning.domain.overrides import CodeAgent
from versioning.domain.snapshots import Snapshot
from versioning.models import Version, VersionedResource
from versioning.models.querysets import VersionedQuerySet

R = TypeVar("R", bound=VersionedResource)

Finish = Callable[[R], None]


class Backend(Protocol[R]):
    """Loads, locks and saves the resources of one kind."""

    def readable(self, by: Caller, *, label: str | None = None) -> VersionedQuerySet[R]:
        """Return the rows that decide of a resource and that the caller may read.

        With a `label` also those of which nothing but the version of that label can be read.
        """

    def unstored(self, by: Caller) -> Sequence[R]:
        """Return what else the caller may read, by id: resources of which no row decides."""

    def find(self, resource_id: str, by: Caller, *, label: str | None = None) -> R:
        """Return a resource that the caller may read, with its pointers; raises `NotFound`.

        Of one that is `gone` nothing but history is left.
        """

    def override(self, agent: CodeAgent) -> R | None:
        """Return the override of an agent that code defines, whoever may read it."""

    def fingerprint(self, resource_id: str) -> Hashable | None:
        """Return what is the same as long as nothing changes about a resource that the log does not tell of.

        It is `()` where the log tells of everything, and None where nothing can be said.
        """

    def refuse_taken(self, resource_id: str) -> None:
        """Raise `IdTaken` for an id that is taken although no row has it."""

    def creating(self, resource_id: str) -> AbstractContextManager[Finish[R]]:
        """Open the transaction that inserts a resource; what it yields is its last act, with the new one."""

    def locked(
        self, resource_id: str, by: Caller, *, for_deletion: bool = False
    ) -> AbstractContextManager[R]:
        """Lock a resource that the caller may read, for one transaction; raises `NotFound`."""

    def store(self, resource: R) -> None:
        """Store the record of a locked resource."""

    def point(self, resource: R, version: Snapshot | None, by: Caller) -> None:
        """Serve this version of a locked resource from now on, or none."""

    def forget(self, resource: R, version: Version) -> None:
        """Delete a version of a locked resource that nothing points at."""

    def is_last_trace(self, resource: R, version: Version) -> bool:
        """Say whether nothing would be left of a resource without this version."""

    def delete(self, resource: R) -> None:
        """Delete a locked resource with everything that is stored of it."""
