"""Looking things up: readable resources, their versions, comparisons, labels, exports."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Collection as AnyCollection
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet
from editor_client.shared import ids

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.config import Config, ConfigSchema, raise_for_faults
from versioning.domain.errors import Invalid, Issue, NotFound
from versioning.domain.registry import Registry
from versioning.domain.selectors import PUBLISHED, Selector, Status
from versioning.domain.snapshots import Snapshot
from versioning.models import (
    Agent,
    BlockReference,
    Favorited,
    PromptBlock,
    SubAgentReference,
    VersionedResource,
    VersionLabel,
    caller_for,
)
from versioning.models.basis import Basis
from versioning.models.versioned import VersionedQuerySet
from versioning.serving.dependents import (
    Dependents,
    dependents_of,
    refuse_unpublished_blocks,
    warnings_for,
)
from versioning.serving.resolution import Resolved, select

if TYPE_CHECKING:
    from django.contrib.auth.models import User

R = TypeVar("R", bound=VersionedResource)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A field in which two versions differ; a missing side is None."""

    field: str
    previous: Any
    current: Any


@dataclass(frozen=True, kw_only=True)
class Label:
    """A name for a version: `latest` and `production` are computed, the others set by people."""

    name: str
    version_id: str
    version_number: int
    computed: bool
    released: bool
    """Whether whoever may read what is published may read and run the version by this name."""
    updated_at: datetime.datetime
    updated_by: str | None


@dataclass(frozen=True, kw_only=True)
class History(Generic[R]):
    """A resource and its versions; there is no resource while an agent is only defined in code."""

    resource: R | None
    versions: QuerySet[Any]
    """Those that rows hold."""
    commits: Sequence[Snapshot] = ()
    """Those that Git holds, newest first."""


Who = Caller | AbstractBaseUser
"""Whoever acts: a caller with rights of its own, or a user with the roles of this moment."""


def caller_of(who: Who) -> Caller:
    """Return the caller that acts."""
    return who if isinstance(who, Caller) else caller_for(cast("User", who))


# `list` is a verb of the collection below, so the lists that it returns have names of their own.
Differences = list[Difference]
Labels = list[Label]


class Reading(ABC, Generic[R]):
    """What can be asked of a collection. Every answer holds only what the caller may read."""

    def __init__(self, model: type[R], label_model: type[VersionLabel], code: Registry) -> None:
        self.model = model
        self.code = code
        self.label_model: type[Any] = label_model

    @property
    def rows_decide(self) -> bool:
        """Whether rows, and nothing beside them, say where every resource stands."""
        return True

    @property
    def all(self) -> VersionedQuerySet[R]:
        """Every resource of this kind, whoever may read it."""
        return cast("VersionedQuerySet[R]", self.model._default_manager.all())

    def list(self, *, by: Who = APPLICATION) -> VersionedQuerySet[R]:
        """Return the resources that the caller may read with the versions they point at, newest first.

        A resource and its versions come from one statement: read one after the other, a version
        could be gone before it is read.
        """
        readable = self._readable(caller_of(by))
        return readable.select_related("active_version", "latest_version")

    def beside(self, *, by: Who = APPLICATION) -> Sequence[R]:
        """Return the resources that the caller may read and that `list` cannot: no row decides of them."""
        return ()

    def find(self, resource_id: str, *, by: Who = APPLICATION) -> R:
        """Return a resource; raises `NotFound` when it is missing or not the caller's to read."""
        resource = self._found(resource_id, caller_of(by))
        if resource.gone:
            raise NotFound
        return resource

    def get(self, resource_id: str, selector: Selector = PUBLISHED, *, by: Who = APPLICATION) -> Resolved[R]:
        """Return a resource with the version that the selector names; raises as `select` does."""
        by = caller_of(by)
        return select(self._found(resource_id, by, label=selector.label), selector, by)

    def basis(self, resource_id: str) -> Basis | None:
        """Return what depends on a resource alone depends on; None when on more than rows."""
        return None if ids.fault(resource_id) else Basis.of_record(self.model, resource_id)

    def basis_of_record(self, resource_id: str) -> Basis | None:
        """Return what the answer with the record of a resource depends on; None when on more than rows."""
        return self.basis(resource_id)

    def basis_of_list(self, rows: QuerySet[R], page: slice) -> Basis | None:
        """Return what a page of a list depends on; None when on more than rows, or on none."""
        with suppress(EmptyResultSet):
            return Basis.of_page(rows, page) if self.rows_decide else None
        return None

    def basis_of_versions(self, resource_id: str, order: Sequence[str], page: slice) -> Basis | None:
        """Return what a page of a resource's versions depends on; None when on more than rows, or on none."""
        basis = self.basis(resource_id)
        versions = self.model.version_model.objects.filter(resource_id=resource_id).order_by(*order)
        with suppress(EmptyResultSet):
            return basis and basis.and_authors(versions, page)
        return None

    def basis_of_dependents(self, resource_id: str) -> Basis | None:
        """Return what the dependents of a resource depend on; None when on more than rows."""
        basis = self.basis(resource_id)
        references = SubAgentReference if self.model is Agent else BlockReference
        return basis and basis.and_dependents(references)

    def versions(self, resource_id: str, *, by: Who = APPLICATION) -> History[R]:
        """Return a resource with its versions; raises `Forbidden` without the right to drafts."""
        by = caller_of(by)
        resource = self._found(resource_id, by)
        by.require(Right.READ_DRAFTS, resource.workspace_id)
        commits = resource.standing.outside if resource.standing else ()
        return History(
            resource=resource, versions=resource.versions.select_related("author"), commits=commits
        )

    def schema_of(self, resource_id: str) -> ConfigSchema:
        """Return what the snapshots of this resource hold."""
        return self.model.schema

    def version(self, resource_id: str, version_id: str, *, by: Who = APPLICATION) -> Resolved[R]:
        """Return one version; raises `NotFound` for a version of another resource."""
        return self.get(resource_id, Selector(version_id=version_id), by=by)

    def compare(
        self, resource_id: str, before: str, after: str, *, by: Who = APPLICATION
    ) -> tuple[Resolved[R], Resolved[R], Differences]:
        """Return two versions, by id, and the top-level fields in which they differ."""
        by = caller_of(by)
        resource = self._found(resource_id, by)
        old, new = (select(resource, Selector(version_id=version_id), by) for version_id in (before, after))
        differences = [
            Difference(
                field=field, previous=old.version.config.get(field), current=new.version.config.get(field)
            )
            for field in self.model.schema.changed(old.version.config, new.version.config)
        ]
        return old, new, differences

    def rehearse(
        self, resource_id: str, version_id: str, *, by: Who = APPLICATION
    ) -> tuple[Resolved[R], Sequence[Issue]]:
        """Say what publishing a version would meet: its warnings, and the faults that would prevent it."""
        by = caller_of(by)
        found = self.version(resource_id, version_id, by=by)
        config = found.version.config
        issues: Sequence[Issue] = ()
        try:
            refuse_unpublished_blocks(config, by)
        except Invalid as refusal:
            issues = refusal.issues
        return replace(found, warnings=warnings_for(resource_id, config, by, self.code)), issues

    def dependents(
        self, resource_id: str, *, status: Status = Status.PUBLISHED, by: Who = APPLICATION
    ) -> Dependents:
        """Return the agents that refer directly to a resource which the caller may read."""
        by = caller_of(by)
        target = cast("Agent | PromptBlock", self.find(resource_id, by=by))
        return dependents_of(target, self.code, status=status, caller=by)

    def export(
        self,
        resource_id: str,
        fields: Mapping[str, Any] | None = None,
        selector: Selector = PUBLISHED,
        *,
        by: Who = APPLICATION,
    ) -> Config:
        """Return the configuration to write into a file: the given fields, or a stored version.

        Of `fields` only what a snapshot of this kind holds is kept. Nothing is stored.
        """
        by = caller_of(by)
        if not fields:
            return self.get(resource_id, selector, by=by).version.config
        self.find(resource_id, by=by)
        return self.known_fields(fields)

    def known_fields(self, fields: Mapping[str, Any]) -> Config:
        """Return the fields that a snapshot of this kind holds; raises `Invalid` for their faults."""
        known = {name: fields[name] for name in self.model.schema.names if fields.get(name) is not None}
        raise_for_faults(self.model.schema.edit, known)
        return known

    def favorites_about(
        self, resource_ids: AnyCollection[str], *, by: Who = APPLICATION
    ) -> Mapping[str, Favorited]:
        """Return, by id, who has marked these resources as favorites; nothing where nobody can."""
        return {}

    def labels(self, resource_id: str, *, by: Who = APPLICATION) -> Labels:
        """Return the labels of the versions that the caller may read, the computed ones first."""
        by = caller_of(by)
        resource = self.find(resource_id, by=by)
        drafts = by.may(Right.READ_DRAFTS, resource.workspace_id)
        pointers = {
            "latest": resource.latest if drafts else None,
            "production": resource.active,
        }
        rows: Any = resource.labels.select_related("version", "updated_by")
        return [
            _computed_label(name, version, resource)
            for name, version in pointers.items()
            if version is not None
        ] + [
            custom_label(row, row.version)
            for row in rows
            if drafts or row.released or str(row.version_id) == resource.active_id
        ]

    def _found(self, resource_id: str, by: Caller, *, label: str | None = None) -> R:
        """Return a resource with the versions it points at and their authors; raises `NotFound`.

        With a `label` also one of which nothing but the version of that label can be read.
        """
        found = self._readable(by, label=label)
        return self._one(
            found.select_related("active_version__author", "latest_version__author", "published_by"),
            resource_id,
        )

    def _readable(self, by: Caller, *, label: str | None = None) -> VersionedQuerySet[R]:
        return self._readable_by(by, label=label).select_related("author")

    @abstractmethod
    def _readable_by(self, by: Caller, *, label: str | None = None) -> VersionedQuerySet[R]:
        """Return the resources that the caller may read; each kind says which these are.

        With a `label` also those of which nothing but the version of that label can be read.
        """

    def _one(self, resources: VersionedQuerySet[R], resource_id: str) -> R:
        # An impossible id is refused here, before a database that cannot hold it gets to see it.
        if ids.fault(resource_id):
            raise NotFound
        try:
            return resources.get(pk=resource_id)
        except self.model.DoesNotExist:
            raise NotFound from None


def custom_label(row: Any, version: Snapshot) -> Label:
    """Return the label that a row stores."""
    return Label(
        name=row.name,
        version_id=version.version_id,
        version_number=version.number,
        computed=False,
        released=row.released,
        updated_at=row.updated_at,
        updated_by=row.updated_by.get_username() if row.updated_by else None,
    )


def _computed_label(name: str, version: Snapshot, resource: VersionedResource) -> Label:
    moved_at, mover = version.created_at, version.author_name
    if name == "production" and resource.published_since is not None:
        moved_at = resource.published_since
        mover = resource.published_by.get_username() if resource.published_by else None
    return Label(
        name=name,
        version_id=version.version_id,
        version_number=version.number,
        computed=True,
        released=False,
        updated_at=moved_at,
        updated_by=mover,
    )
