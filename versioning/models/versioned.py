"""A resource is a name plus two pointers into an append-only list of snapshots.

    published  = the row at active_version       draft      = the row at latest_version, when not active
    latest     = the row at latest_version       historical = every other row

Nothing about status is stored. Publishing moves one pointer, saving moves the other, restoring
is an insert. The verbs here keep the invariants and expect a row that `locked()` has given out;
rights, policies and the audit log are the business of `versioning.editor`.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar
from uuid import UUID, uuid4

from django.conf import settings
from django.db import connections, models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from editor_client.shared import canonical

from versioning.domain.access import Caller, Right
from versioning.domain.config import Config, ConfigSchema, searchable_text
from versioning.domain.selectors import State
from versioning.domain.snapshots import Snapshot, Standing
from versioning.models.workspaces import Workspace

if TYPE_CHECKING:
    from django.db.models.fields.related_descriptors import RelatedManager

    from versioning.models.references import Reference

R = TypeVar("R", bound="VersionedResource")

INITIAL_MESSAGE = "Initial version"
EDIT_MESSAGE = "Auto-saved after edit"


def within(field: str, workspaces: frozenset[str] | None) -> Q:
    """Return the condition that a workspace is in a caller's scope; None is no condition."""
    # An empty Q would vanish from a disjunction instead of making it true.
    return ~Q(pk__in=[]) if workspaces is None else Q(**{f"{field}__in": workspaces})


class VersionedQuerySet(models.QuerySet[R]):
    """The words in which resources are asked for; permission is one of them."""

    def readable_where(self, caller: Caller, public: Q | None = None, *, label: str | None = None) -> Self:
        """Keep what the caller may read at all: drafts in own workspaces, else what is published.

        `public` is the condition under which everybody may read what is published. Who asks by a
        `label` may also read what has a released label of this name, and nothing published. Each kind
        has a method `readable_by` that knows the condition; that is what to call.
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


class Version(models.Model):
    """One saved configuration. Never changed; knows no status of its own."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    number = models.PositiveIntegerField(editable=False)
    config_json = models.TextField(editable=False)
    digest = models.CharField(max_length=64, editable=False)
    name = models.TextField(editable=False)
    search_text = models.TextField(editable=False)
    changed_fields = models.JSONField(editable=False)
    change_message = models.TextField(editable=False)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", editable=False
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    source = "database"
    read_only = False
    commit = None
    reference_models: ClassVar[tuple[type[Reference], ...]] = ()

    if TYPE_CHECKING:
        resource: models.ForeignKey[VersionedResource, VersionedResource]
        resource_id: str

    class Meta:
        abstract = True
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.resource_id} version {self.number}"

    @property
    def version_id(self) -> str:
        """The id as callers write it."""
        return str(self.pk)

    @cached_property
    def config(self) -> dict[str, Any]:
        """The saved fields; not to be changed."""
        config: dict[str, Any] = json.loads(self.config_json)
        return config

    @property
    def author_name(self) -> str | None:
        """Who saved it; None for the application itself."""
        return self.author.get_username() if self.author is not None else None


class VersionedResource(models.Model):
    """A stored agent or a prompt block: its pointers, its owner, and what is not versioned."""

    id = models.CharField(primary_key=True, max_length=200)
    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    """Its identity: an id can be used again by somebody else after a deletion, this cannot."""
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", editable=False
    )
    metadata = models.JSONField(default=dict, blank=True)
    last_number = models.PositiveIntegerField(default=0, editable=False)
    """The highest number ever given to a version, so that none is used twice."""
    revision = models.PositiveIntegerField(default=0, editable=False)
    """Counts every change of anything about the resource."""
    published_at = models.DateTimeField(null=True, editable=False)
    """When the active pointer was moved last; null while it points nowhere."""
    published_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", editable=False
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    standing: Standing | None = None
    """Where the pointers point when a file decides; None while the row itself does."""

    schema: ClassVar[ConfigSchema]
    version_model: ClassVar[type[Any]]
    kind: ClassVar[str]

    if TYPE_CHECKING:
        active_version: Any
        active_version_id: UUID | None
        latest_version: Any
        latest_version_id: UUID
        versions: RelatedManager[Version]
        # Of a model that each kind declares for itself, so its fields are not known here.
        labels: RelatedManager[Any]

    class Meta:
        abstract = True
        ordering = ["-created_at", "id"]

    def __str__(self) -> str:
        return self.pk

    @property
    def active(self) -> Snapshot | None:
        """The published version, if there is one."""
        active: Snapshot | None = self.standing.active if self.standing else self.active_version
        return active

    @property
    def latest(self) -> Snapshot:
        """The version that was created last."""
        latest: Snapshot = self.standing.latest if self.standing else self.latest_version
        return latest

    @property
    def base(self) -> Snapshot:
        """The version that the next edit starts from."""
        return self.standing.base if self.standing else self.latest

    @property
    def active_id(self) -> str | None:
        """The id of the published version as callers write it."""
        if self.standing is not None:
            return self.standing.active.version_id if self.standing.active else None
        return str(self.active_version_id) if self.active_version_id else None

    @property
    def latest_id(self) -> str:
        """The id of the latest version as callers write it."""
        return self.standing.latest.version_id if self.standing else str(self.latest_version_id)

    @property
    def published_since(self) -> datetime.datetime | None:
        """When the editor published what is published; None when something else did, or nothing is."""
        by_editor = self.active_version_id is not None and str(self.active_version_id) == self.active_id
        return self.published_at if by_editor else None

    @property
    def is_stored(self) -> bool:
        """Whether there is a row of it: an override can live in its file alone."""
        return not self._state.adding

    @property
    def gone(self) -> bool:
        """Whether nothing but history is left of it."""
        return self.standing is not None and self.standing.gone

    @property
    def has_draft(self) -> bool:
        """Whether something newer than what is published was saved, or nothing is published."""
        return self.latest_id != self.active_id

    def state_of(self, version: Snapshot) -> State:
        """Return what one of the versions is at the moment: the two pointers say it."""
        if version.version_id == self.active_id:
            return State.PUBLISHED
        return State.DRAFT if version.version_id == self.latest_id else State.HISTORICAL

    @property
    def tag(self) -> str:
        """A text that changes with anything about the resource, for `ETag` and `If-Match`."""
        state = f"{self.pk}\n{self.latest_id}\n{self.active_id}\n{self.revision}"
        return hashlib.sha256(state.encode()).hexdigest()[:32]

    def version(self, version_id: UUID) -> Version:
        """Return one of the versions with its author; raises `DoesNotExist` for any other."""
        return self.versions.select_related("author").get(pk=version_id)

    @classmethod
    def begin(cls, *, config: Config, message: str, author_id: int | None, **record: Any) -> Self:
        """Insert a resource with its first version; raises `IntegrityError` when the id is taken."""
        resource = cls(author_id=author_id, **record)
        changed_fields = cls.schema.changed({}, config)
        resource.append(config, message=message, author_id=author_id, changed_fields=changed_fields)
        return resource

    def append(
        self,
        config: Config,
        *,
        message: str,
        author_id: int | None,
        changed_fields: list[str],
        created_at: datetime.datetime | None = None,
    ) -> Version:
        """Add a version with the next number and make it the latest; the row must be locked.

        A resource that has no row yet gets one, together with its first version.
        """
        self.last_number += 1
        version: Version = self.version_model(
            id=uuid4(),
            resource_id=self.pk,
            number=self.last_number,
            config_json=canonical.dump(config),
            digest=canonical.digest(config),
            name=config.get("name", ""),
            search_text=searchable_text(self.pk, config),
            changed_fields=changed_fields,
            change_message=message,
            author_id=author_id,
            created_at=created_at or timezone.now(),
        )
        self.latest_version = version
        if self.is_stored:
            self.touch()
        else:
            self.save(force_insert=True)
        version.save(force_insert=True)
        for reference in self.version_model.reference_models:
            reference.write(version)
        return version

    def activate(self, version_id: UUID | None, *, by_id: int | None) -> None:
        """Point at the version that is served, or at none; the row must be locked."""
        self.active_version_id = version_id
        self.published_at = timezone.now() if version_id is not None else None
        self.published_by_id = by_id if version_id is not None else None
        self.touch()

    def forget(self, version: Version) -> None:
        """Delete a version that nothing points at; the draft falls back to the newest one left."""
        if version.pk == self.latest_version_id:
            self.latest_version_id = self.versions.exclude(pk=version.pk).values_list("pk", flat=True)[0]
        version.delete()
        self.touch()

    def drop_row(self) -> None:
        """Delete the row with all it holds; the resource lives on in its file."""
        type(self)._default_manager.filter(pk=self.pk).delete()
        self._state.adding = True
        self.last_number = 0

    def touch(self) -> None:
        """Count a change of the record and note its time; the caller stores the row once, at the end."""
        self.updated_at = timezone.now()
        self.revision += 1
