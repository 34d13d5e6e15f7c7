"""How resources are asked for: by whom, and with which lock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self, TypeVar

from django.db import connections, models
from django.db.models import Exists, OuterRef, Q

from versioning.domain.access import Caller, Right
from versioning.domain.registry import Registry

R = TypeVar("R", bound=models.Model)


def within(field: str, workspaces: frozenset[str] | None) -> Q:
    """Return the condition that a workspace is in a caller's scope; None is no condition."""
    # An empty Q would vanish from a disjunction instead of making it true.
    return ~Q(pk__in=[]) if workspaces is None else Q(**{f"{field}__in": workspaces})


class VersionedQuerySet(models.QuerySet[R]):
    """The words in which resources are asked for; permission is one of them."""

    def readable_by(self, caller: Caller, code: Registry, *, label: str | None = None) -> Self:
        """Keep what the caller may read; `code` says it of what code defines. Each kind has its own."""
        raise NotImplementedError

    def readable_where(self, caller: Caller, public: Q | None = None, *, label: str | None = None) -> Self:
        """Keep what the caller may read at all: drafts in own workspaces, else what is published.

        `public` is the condition under which everybody may read what is published. Who asks by a
        `label` may also read what has a released label of this name, and nothing published.
        `readable_by` knows the condition; that is what to call.
        """
        if caller.scope(Right.READ_DRAFTS) is None:
            return self.all()
        live = Q(active_version__isnull=False)
        if label is not None:
            labels: Any = self.model._meta.get_field("labels").related_model
            released = labels.objects.filter(resource=OuterRef("pk"), name=label, released=True)
            live |= Q(Exists(released))
        published_to_caller = within("workspace_id", caller.scope(Right.READ))
        if public is not None:
            published_to_caller |= public
        drafts = within("workspace_id", caller.scope(Right.READ_DRAFTS))
        return self.filter(drafts | (live & published_to_caller))

    def drafts_readable_by(self, caller: Caller) -> Self:
        """Keep those of which the caller may read drafts and history."""
        return self.filter(within("workspace_id", caller.scope(Right.READ_DRAFTS)))

    def locked(self, *, for_deletion: bool = False) -> Self:
        """Lock the rows until the transaction ends, so that saves take their numbers in turn.

        Only a deletion waits for whoever has been promised that the rows stay (see `keep_existing`).
        """
        return self.select_for_update(of=("self",), no_key=not for_deletion)

    def keep_existing(self, ids: Iterable[str]) -> None:
        """Keep the rows with these ids from being deleted until the transaction ends; changes go on.

        Django has no word for PostgreSQL's `FOR KEY SHARE`, the lock that its foreign keys take: it
        stops deletions alone, so that two agents that refer to each other can be published at once.
        SQLite has one writer at a time, so there nothing needs to be locked.
        """
        database = connections[self.db]
        wanted = sorted(ids)
        if wanted and database.vendor == "postgresql":
            table = database.ops.quote_name(self.model._meta.db_table)
            with database.cursor() as cursor:
                # Nothing but the name of the table is put in.
                rows = f"SELECT id FROM {table} WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE"  # noqa: S608
                cursor.execute(rows, [wanted])


class PrivateQuerySet(VersionedQuerySet[R]):
    """Resources of a kind without visibility: the members of their workspace read them, and nobody else."""

    def readable_by(self, caller: Caller, code: Registry | None = None, *, label: str | None = None) -> Self:
        """Keep what the caller may read; no code has a say in it."""
        return self.readable_where(caller, label=label)
