"""Where resources are stored: in rows, or as override files with additional rows.

A verb finds, locks and saves a resource through its backend and never asks which backend it is.
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
        """Return the rows that the caller may read, if the row is authoritative for the resource.

        With a `label`, the result includes resources that the caller can read only in that label's version.
        """

    def list_unstored(self, by: Caller) -> Sequence[R]:
        """Return, by id, the readable resources whose content does not come from a row."""

    def find(
        self, resource_id: str, by: Caller, *, label: str | None = None, only: Sequence[str] | None = None
    ) -> R:
        """Return a resource that the caller may read, with its pointers; raises `NotFound`.

        Its two versions and all authors are read too, or `only` the versions in these pointers. If it is
        `gone`, only its history in Git remains.
        """

    def override(self, agent: CodeAgent) -> R | None:
        """Return the override of a code-defined agent, without checking who can read it."""

    def fingerprint(self, resource_id: str) -> Hashable | None:
        """Return a value that changes when something changes that the log does not record.

        It is `()` if the log records every change, and None if no fingerprint can be computed.
        """

    def refuse_taken(self, resource_id: str) -> None:
        """Raise `IdTaken` if the id is taken although no row has it."""

    def creating(self, resource_id: str) -> AbstractContextManager[Finish[R]]:
        """Open the transaction that inserts a resource; yields a function to call last with the resource."""

    def lock_resource(
        self, resource_id: str, by: Caller, *, for_deletion: bool = False
    ) -> AbstractContextManager[R]:
        """Lock a resource that the caller may read for one transaction; raises `NotFound`."""

    def store(self, resource: R) -> None:
        """Save the record of a locked resource."""

    def set_active(self, resource: R, version: Snapshot | None, by: Caller) -> None:
        """Make this version of a locked resource the active one, or none."""

    def delete_version(self, resource: R, version: Version) -> None:
        """Delete a version of a locked resource; no pointer refers to it."""

    def is_last_trace(self, resource: R, version: Version) -> bool:
        """Return whether this version is all that remains of the resource."""

    def delete(self, resource: R) -> None:
        """Delete a locked resource and everything stored for it."""
