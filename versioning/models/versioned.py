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
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.functional import classproperty
from editor_client.shared import canonical
from editor_client.shared.configurations import searchable_text
from editor_client.shared.tags import tags_of

from versioning.domain import kinds
from versioning.domain.config import Config, excerpt_of
from versioning.domain.kinds import ResourceKind
from versioning.domain.registry import Registry
from versioning.domain.selectors import State
from versioning.domain.snapshots import Snapshot, VersionPointers
from versioning.models.statements import insert_new, update
from versioning.models.versions import Version
from versioning.models.workspaces import Workspace

if TYPE_CHECKING:
    from django.db.models.fields.related_descriptors import RelatedManager

MODELS_BY_SLUG: Final[dict[str, type[VersionedResource]]] = {}
"""The model of each kind, by its slug."""
MODELS: Final = MODELS_BY_SLUG.values()
"""The same models, in the order of INSTALLED_APPS."""

_FIXED: Final = frozenset({"uuid", "workspace", "author", "created_at"})
"""The fields that never change."""


class VersionedResource(models.Model):
    """A stored resource: its pointers, its owner, and what is not versioned."""

    id = models.CharField(primary_key=True, max_length=200)
    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    """Its identity: an id can be used again by another workspace after a deletion, this cannot."""
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
    was_ever_published = models.BooleanField(default=False, db_default=False, editable=False)
    """Whether the active pointer has ever pointed at a version: tells unpublished from never published."""
    unpublished_version_id = models.UUIDField(null=True, default=None, editable=False)
    """The version that was live until the resource was unpublished; null while one is live, or none was.

    Null, too, where it was unpublished before this was stored and the log does not know what.
    """
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    published_revision = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    """Counts the changes that may be seen by who may read no drafts."""
    published_updated_at = models.DateTimeField(null=True, editable=False)
    """When the last of these was; null before the first."""

    seen_at: datetime.datetime
    """When it was last changed, as far as a caller may see that: set where resources are listed."""
    pointers: VersionPointers | None = None
    """Where the pointers point when a file decides; None while the row itself does."""

    kind: ClassVar[ResourceKind]
    referred_by: ClassVar[Any] = None
    """The model of the references of versions to resources of this kind; None if nothing refers to them."""

    if TYPE_CHECKING:
        active_version: Any
        active_version_id: UUID | None
        latest_version: Any
        latest_version_id: UUID
        versions: RelatedManager[Version]
        # Of a model that each kind declares for itself, so its fields are not known here.
        labels: RelatedManager[Any]
        tags: RelatedManager[Any]

    class Meta:
        abstract = True
        ordering = ["-created_at", "id"]

    def __init_subclass__(cls, **options: Any) -> None:
        """Make the kind known, to all who ask for the kinds."""
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            kinds.register(cls.kind)
            MODELS_BY_SLUG[cls.kind.slug] = cls

    def __str__(self) -> str:
        return self.pk

    @classproperty
    def version_model(cls) -> type[Any]:  # noqa: N805  as are the next three
        """The model of its versions."""
        return _related(cls, "versions")

    @classproperty
    def label_model(cls) -> type[Any]:  # noqa: N805
        """The model of its labels."""
        return _related(cls, "labels")

    @classproperty
    def tag_model(cls) -> type[Any]:  # noqa: N805
        """The model of its tags."""
        return _related(cls, "tags")

    @classproperty
    def document_model(cls) -> type[Any]:  # noqa: N805
        """What the search index has of it."""
        return _related(cls, "documents")

    @property
    def active(self) -> Snapshot | None:
        """The published version, if there is one."""
        active: Snapshot | None = self.pointers.active if self.pointers else self.active_version
        return active

    @property
    def latest(self) -> Snapshot:
        """The version that was created last."""
        latest: Snapshot = self.pointers.latest if self.pointers else self.latest_version
        return latest

    @property
    def base(self) -> Snapshot:
        """The version that the next edit starts from."""
        return self.pointers.base if self.pointers else self.latest

    @property
    def active_id(self) -> str | None:
        """The id of the published version as callers write it."""
        if self.pointers is not None:
            return self.pointers.active.version_id if self.pointers.active else None
        return str(self.active_version_id) if self.active_version_id else None

    @property
    def latest_id(self) -> str:
        """The id of the latest version as callers write it."""
        return self.pointers.latest.version_id if self.pointers else str(self.latest_version_id)

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
        return self.pointers is not None and self.pointers.gone

    @property
    def has_draft(self) -> bool:
        """Whether something newer than what is published was saved, or nothing is published."""
        return self.latest_id != self.active_id

    @property
    def is_taken_down(self) -> bool:
        """Whether it was unpublished, and nothing was saved since that could be published instead."""
        return self.active_id is None and self.latest_id == str(self.unpublished_version_id)

    @property
    def repeats_live(self) -> bool:
        """Whether the newest version says what another one, which is live, says already."""
        active = self.active
        return active is not None and self.has_draft and active.digest == self.latest.digest

    @property
    def waits(self) -> bool:
        """Whether publishing the newest version is still to be done: it would change what is live."""
        return self.has_draft and not self.is_taken_down and not self.repeats_live

    def visibility_by(self, code: Registry) -> str | None:
        """Return who beyond the workspace may read it, `private` or `public`; None where a kind has none.

        Of what code defines the code says so: `code` is the registry of this moment.
        """
        return None

    def state_of(self, version: Snapshot) -> State:
        """Return what one of the versions is at the moment: the two pointers say it."""
        if version.version_id == self.active_id:
            return State.PUBLISHED
        return State.DRAFT if version.version_id == self.latest_id else State.HISTORICAL

    @property
    def etag(self) -> str:
        """A text that changes with anything about the resource, for `ETag` and `If-Match`."""
        state = f"{self.pk}\n{self.latest_id}\n{self.active_id}\n{self.revision}"
        return hashlib.sha256(state.encode()).hexdigest()[:32]

    @property
    def published_etag(self) -> str:
        """The entity tag for who may read no drafts: it changes with what may be seen without them."""
        state = f"{self.pk}\n{self.created_at.isoformat()}\n{self.active_id}\n{self.published_revision}"
        return hashlib.sha256(state.encode()).hexdigest()[:32]

    def changed_at(self, *, drafts: bool) -> datetime.datetime:
        """Return when it was changed last, with or without what happens to its drafts.

        Of rows, `VersionedQuerySet.with_seen_at` asks the database for the same.
        """
        if drafts:
            return self.updated_at
        moments = [self.published_updated_at or self.created_at]
        if self.pointers is not None and self.pointers.file is not None:
            moments.append(self.pointers.file.created_at)  # which may have been changed by hand
        return max(moments)

    def version(self, version_id: UUID) -> Version:
        """Return one of the versions with its author; raises `DoesNotExist` for any other."""
        return self.versions.select_related("author").get(pk=version_id)

    @classmethod
    def begin(cls, *, config: Config, message: str, author_id: int | None, **record: Any) -> Self:
        """Insert a resource with its first version; raises `IntegrityError` when the id is taken."""
        resource = cls(author_id=author_id, **record)
        changed_fields = cls.kind.schema.changed({}, config)
        resource.append(config, message=message, author_id=author_id, changed_fields=changed_fields)
        if tags_of(resource.metadata):
            cls.tag_model.begin(resource)
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
            search_text=searchable_text(self.pk, config, self.kind.text_field),
            excerpt=excerpt_of(config, self.kind.text_field),
            changed_fields=changed_fields,
            change_message=message,
            author_id=author_id,
            created_at=created_at or timezone.now(),
        )
        self.latest_version = version
        if self.is_stored:
            self.touch(published=False)
        else:
            insert_new(self)
        insert_new(version)
        for reference in self.version_model.reference_models:
            reference.write(version)
        return version

    def store(self) -> None:
        """Write what can change of the row, which must be locked."""
        update(self, _FIXED)

    def activate(self, version_id: UUID | None, *, by_id: int | None) -> None:
        """Point at the version that is served, or at none; the row must be locked."""
        self.unpublished_version_id = self.active_version_id if version_id is None else None
        self.active_version_id = version_id
        self.published_at = timezone.now() if version_id is not None else None
        self.published_by_id = by_id if version_id is not None else None
        self.was_ever_published = self.was_ever_published or version_id is not None
        self.touch()

    def delete_version(self, version: Version) -> None:
        """Delete a version that nothing points at; the draft falls back to the newest one left."""
        if version.pk == self.latest_version_id:
            self.latest_version_id = self.versions.exclude(pk=version.pk).values_list("pk", flat=True)[0]
        version.delete()
        self.touch(published=False)

    def drop_row(self) -> None:
        """Delete the row with all it holds; the resource lives on in its file."""
        type(self)._default_manager.filter(pk=self.pk).delete()
        self._state.adding = True
        self.last_number = 0

    def touch(self, *, published: bool = True) -> None:
        """Count a change of the record and note its time; the caller stores the row once, at the end.

        `published` is whether it may be seen by who may read no drafts.
        """
        self.updated_at = timezone.now()
        self.revision += 1
        if published:
            self.published_updated_at = self.updated_at
            self.published_revision += 1


def model_of(kind: ResourceKind) -> type[VersionedResource]:
    """Return the model that stores resources of this kind."""
    return MODELS_BY_SLUG[kind.slug]


def _related(model: Any, name: str) -> type[Any]:
    related: type[Any] = model._meta.get_field(name).related_model
    return related
