"""Queries for resources, by caller, and their locks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self, TypeVar

from django.db import models
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Length, Replace
from django.db.models.lookups import Exact

from versioning.domain.access import Caller, Right
from versioning.domain.agents import Registry
from versioning.domain.kinds import ResourceKind
from versioning.models.guarded import GuardedQuerySet
from versioning.models.text_keys import begins

R = TypeVar("R", bound=models.Model)


def within(field: str, workspaces: frozenset[str] | None) -> Q:
    """Return the condition that a workspace is in a caller's scope; None stands for all workspaces."""
    # An empty Q would vanish from a disjunction instead of making it true.
    return ~Q(pk__in=[]) if workspaces is None else Q(**{f"{field}__in": workspaces})


def covered_by(caller: Caller, field: str = "pk") -> Q:
    """Return the condition that an id is within the limits of the caller's key."""
    return begins(F(field), Value(caller.id_prefix)) if caller.id_prefix else ~Q(pk__in=[])


def all_covered_by(caller: Caller, field: str) -> Q:
    """Return the condition that every id in a text, each between two line feeds, is within these limits.

    A text without ids is not covered, because it is about all resources.
    """
    if not caller.id_prefix:
        return ~Q(pk__in=[])
    covered = f"\n{caller.id_prefix}"
    line_feeds, of_covered = (
        Length(field) - Length(Replace(field, Value(sought), Value(""))) for sought in ("\n", covered)
    )
    return ~Q(**{field: ""}) & Q(Exact(of_covered * 2, line_feeds * len(covered)))


class VersionedQuerySet(GuardedQuerySet[R], ABC):
    """The queries that all kinds of resource share; subclasses define which rows a caller may read."""

    @abstractmethod
    def readable_by(self, caller: Caller, code: Registry, *, label: str | None = None) -> Self:
        """Filter by the caller's read access; `code` decides about the resources that it defines."""

    def readable_where(self, caller: Caller, public: Q | None = None, *, label: str | None = None) -> Self:
        """Filter by the caller's read access: drafts in own workspaces, otherwise published resources.

        `public` is the condition under which every caller may read a published resource. With a `label`,
        resources with a released label of this name count too, published or not. Call `readable_by`, which
        knows the condition.
        """
        rows = self.filter(covered_by(caller)) if caller.id_prefix else self.all()
        if caller.scope(Right.READ_DRAFTS) is None:
            return rows
        live = Q(active_version__isnull=False)
        if label is not None:
            labels: Any = self.model._meta.get_field("labels").related_model
            released = labels.objects.filter(resource=OuterRef("pk"), name=label, released=True)
            live |= Q(Exists(released))
        published_to_caller = within("workspace_id", caller.scope(Right.READ))
        if public is not None:
            published_to_caller |= public
        drafts = within("workspace_id", caller.scope(Right.READ_DRAFTS))
        return rows.filter(drafts | (live & published_to_caller))

    def drafts_readable_by(self, caller: Caller) -> Self:
        """Filter by resources whose drafts and history the caller may read."""
        rows = self.filter(covered_by(caller)) if caller.id_prefix else self
        return rows.filter(within("workspace_id", caller.scope(Right.READ_DRAFTS)))

    def seen_by(self, caller: Caller, *, draft: Combinable, published: Combinable) -> Combinable:
        """Return an expression: `draft` where the caller may read drafts, `published` elsewhere.

        For rows that the caller may read; omits the decision where it is the same for all rows.
        """
        kind: ResourceKind = self.model.kind  # type: ignore[attr-defined]
        drafts = caller.scope(Right.READ_DRAFTS)
        if drafts is None or (drafts == caller.scope(Right.READ) and drafts and not kind.has_visibility):
            return draft
        return (
            Case(When(within("workspace_id", drafts), then=draft), default=published) if drafts else published
        )

    def with_seen_at(self, caller: Caller) -> Self:
        """Annotate the rows with `seen_at`: when each was last changed, as far as the caller may see that."""
        published = Coalesce("published_updated_at", "created_at")
        return self.annotate(seen_at=self.seen_by(caller, draft=F("updated_at"), published=published))

    def as_served(self, *pointers: str) -> Self:
        """Select only the served columns of rows, together with the versions in these pointers."""
        of_rows = ("uuid", "workspace", "metadata", "was_ever_published", "active_version", "latest_version")
        of_versions = ("number", "config_json", "digest", "resource")
        fields = (f"{pointer}__{name}" for pointer in pointers for name in of_versions)
        return self.select_related(*pointers).only(*of_rows, *fields)

    def with_lock(self, *, for_deletion: bool = False) -> Self:
        """Lock the rows until the transaction ends, so that saves get consecutive numbers.

        A lock that keeps rows from being deleted (`versioning.serving.grants`) does not delay this one.
        """
        return self.select_for_update(of=("self",), no_key=not for_deletion)


class PrivateQuerySet(VersionedQuerySet[R]):
    """Queries for a kind without visibility: only members of the workspace can read it."""

    def readable_by(self, caller: Caller, code: Registry | None = None, *, label: str | None = None) -> Self:
        """Filter by the caller's read access; code is irrelevant here."""
        return self.readable_where(caller, label=label)
