"""A resource is a name plus two pointers into an append-only list of snapshots.

    published  = the row at active_version       draft      = the row at latest_version, when not active
    latest     = the row at latest_version       historical = every other row

No status is stored. Publishing moves one pointer, saving moves the other, restoring is an insert. The methods
keep the invariants and expect a row locked by `with_lock()`; rights, policies and the audit log are up to
`versioning.editor`.
"""

from __future__ import annotations

import datetime
import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.db.models.signals import pre_delete
from django.utils import timezone
from django.utils.functional import classproperty
from editor_client.shared import canonical
from editor_client.shared.configurations import searchable_text
from editor_client.shared.tags import read_tags

from versioning.domain import kinds
from versioning.domain.agents import Registry
from versioning.domain.config import Config, make_excerpt
from versioning.domain.kinds import ResourceKind
from versioning.models.guarded import Guarded, delete_row, refuse_cascade, unguard
from versioning.models.statements import insert_new, update
from versioning.models.versions import TwoPointers, Version
from versioning.models.workspaces import Workspace

if TYPE_CHECKING:
    from django.db.models.fields.related_descriptors import RelatedManager

MODELS_BY_SLUG: Final[dict[str, type[VersionedResource]]] = {}
"""The model of each kind, by its slug."""
MODELS: Final = MODELS_BY_SLUG.values()
"""The same models, in the order of INSTALLED_APPS."""

_FIXED: Final = frozenset({"uuid", "workspace", "author", "created_at"})
"""The fields that never change."""


class VersionedResource(Guarded, TwoPointers):
    """A stored resource: its pointers, its owner, and its unversioned data."""

    id = models.CharField(primary_key=True, max_length=200)
    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    """Its identity: after a deletion the id can be used again by another workspace, the identity cannot."""
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="+")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", editable=False
    )
    metadata = models.JSONField(default=dict, blank=True)
    last_number = models.PositiveIntegerField(default=0, editable=False)
    """The highest version number ever used, so that none is used twice."""
    revision = models.PositiveIntegerField(default=0, editable=False)
    """Counts every change of the resource."""
    published_at = models.DateTimeField(null=True, editable=False)
    """When the active pointer was last moved; null while it is empty."""
    published_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", editable=False
    )
    was_ever_published = models.BooleanField(default=False, db_default=False, editable=False)
    """Whether the active pointer was ever set: distinguishes unpublished from never published."""
    unpublished_version_id = models.UUIDField(null=True, default=None, editable=False)
    """The version that was live until the resource was unpublished, or an older version was published again.

    Null while the newest version is live, or if none ever was. Also null if this happened before the column
    existed and is unknown to the log.
    """
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    published_revision = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    """Counts the changes visible to callers without access to drafts."""
    published_updated_at = models.DateTimeField(null=True, editable=False)
    """When the last of these changes was made; null before the first."""

    seen_at: datetime.datetime
    """When it was last changed, as far as the caller may see; set where resources are listed."""
    kind: ClassVar[ResourceKind]
    referred_by: ClassVar[Any] = None
    """The model of references from versions to this kind; None if nothing refers to it."""

    if TYPE_CHECKING:
        versions: RelatedManager[Version]
        # Each kind declares its own model, so its fields are unknown here.
        labels: RelatedManager[Any]
        tags: RelatedManager[Any]

    class Meta:
        abstract = True
        ordering = ["-created_at", "id"]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            kinds.register(cls.kind)
            MODELS_BY_SLUG[cls.kind.slug] = cls
            pre_delete.connect(refuse_cascade, sender=cls)

    def __str__(self) -> str:
        return self.pk

    @classproperty
    def version_model(cls) -> type[Any]:  # noqa: N805  as are the next three
        return _related_model(cls, "versions")

    @classproperty
    def label_model(cls) -> type[Any]:  # noqa: N805
        return _related_model(cls, "labels")

    @classproperty
    def tag_model(cls) -> type[Any]:  # noqa: N805
        return _related_model(cls, "tags")

    @classproperty
    def document_model(cls) -> type[Any]:  # noqa: N805
        return _related_model(cls, "documents")

    @property
    def is_stored(self) -> bool:
        """Whether it has a row: an override can exist only as a file."""
        return not self._state.adding

    def visibility_by(self, code: Registry) -> str | None:
        """Return the visibility outside the workspace; None for a kind without visibility.

        For an override, code decides, not the row: `code` is the current registry.
        """
        agent = code.overridden_by(self.pk, self.workspace_id) if self.kind.in_code else None
        visibility: str | None = getattr(self, "visibility", None)
        return visibility if agent is None else agent.visibility

    @property
    def etag(self) -> str:
        """A text that changes with every change of the resource, for `ETag` and `If-Match`."""
        state = f"{self.pk}\n{self.latest_id}\n{self.active_id}\n{self.revision}"
        return hashlib.sha256(state.encode()).hexdigest()[:32]

    @property
    def published_etag(self) -> str:
        """The entity tag for callers without access to drafts: it changes only with data that they see."""
        state = f"{self.pk}\n{self.created_at.isoformat()}\n{self.active_id}\n{self.published_revision}"
        return hashlib.sha256(state.encode()).hexdigest()[:32]

    def changed_at(self, *, drafts: bool) -> datetime.datetime:
        """Return when it was last changed, with or without changes of its drafts.

        For rows, `VersionedQuerySet.with_seen_at` computes the same in the database.
        """
        if drafts:
            return self.updated_at
        moments = [self.published_updated_at or self.created_at]
        if self.pointers is not None and self.pointers.file is not None:
            moments.append(self.pointers.file.created_at)  # which may have been changed by hand
        return max(moments)

    def version(self, version_id: UUID) -> Version:
        """Return one of the versions with its author; raises `DoesNotExist` if there is none."""
        return self.versions.select_related("author").get(pk=version_id)

    @classmethod
    def begin(
        cls, *, config: Config, changed_fields: list[str], message: str, author_id: int | None, **record: Any
    ) -> Self:
        """Insert a resource with its first version; raises `IntegrityError` if the id is taken."""
        resource = cls(author_id=author_id, **record)
        resource.append(config, message=message, author_id=author_id, changed_fields=changed_fields)
        if read_tags(resource.metadata):
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
        text = canonical.dump(config)
        version: Version = self.version_model(
            id=uuid4(),
            resource_id=self.pk,
            number=self.last_number,
            config_json=text,
            digest=canonical.digest_of_text(text),
            name=config.get("name", ""),
            search_text=searchable_text(self.pk, config, self.kind.text_field),
            excerpt=make_excerpt(config, self.kind.text_field),
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
        for references in version.reference_models:
            if targets := references.find(config):
                references.write(version, targets)
        return version

    def store(self) -> None:
        """Save the mutable fields of the row, which must be locked."""
        update(self, _FIXED)

    def activate(self, version_id: UUID | None, *, by_id: int | None) -> None:
        """Set the version that is served, or none; the row must be locked."""
        if version_id == self.latest_version_id:
            self.unpublished_version_id = None
        elif version_id != self.active_version_id and not self.is_taken_down:
            self.unpublished_version_id = self.active_version_id
        self.active_version_id = version_id
        self.published_at = timezone.now() if version_id is not None else None
        self.published_by_id = by_id if version_id is not None else None
        self.was_ever_published = self.was_ever_published or version_id is not None
        self.touch()

    def delete_version(self, version: Version) -> None:
        """Delete a version that no pointer refers to; the draft falls back to the newest one left."""
        if version.pk == self.latest_version_id:
            self.latest_version_id = self.versions.exclude(pk=version.pk).values_list("pk", flat=True)[0]
        delete_row(version)
        self.touch(published=False)

    def drop_row(self) -> None:
        """Delete the row and everything in it; the resource continues to exist as its file."""
        unguard(type(self)._default_manager.filter(pk=self.pk)).delete()
        self._state.adding = True
        self.last_number = 0

    def touch(self, *, published: bool = True) -> None:
        """Count a change of the record and set its time; the caller stores the row once, at the end.

        `published` is whether callers without access to drafts may see the change.
        """
        self.updated_at = timezone.now()
        self.revision += 1
        if published:
            self.published_updated_at = self.updated_at
            self.published_revision += 1


def find_model(kind: ResourceKind) -> type[VersionedResource]:
    return MODELS_BY_SLUG[kind.slug]


@cache
def _related_model(model: Any, name: str) -> type[Any]:
    related: type[Any] = model._meta.get_field(name).related_model
    return related
