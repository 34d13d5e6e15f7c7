"""A version, which is written once and never changed; its references, as rows; the pointers to versions."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID, uuid4

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import DEFAULT_DB_ALIAS, connection, models
from django.db.backends.ddl_references import Statement, Table
from django.db.models import BaseConstraint
from django.utils import timezone
from django.utils.functional import cached_property

from versioning.domain.config import Config
from versioning.domain.selectors import VersionState
from versioning.domain.snapshots import Snapshot, VersionPointers
from versioning.models.guarded import Guarded, GuardedQuerySet
from versioning.models.statements import insert, prepared_cursor, quoted_table


class Reference(Guarded):
    """A version refers to a resource by id. Stored as a row, so that dependents can be found in one query."""

    target: ClassVar[type[Any]]
    """The kind of resource that is referred to."""
    fixed_by_code: ClassVar[bool] = False
    """Whether a code-defined agent has the references of its code, which overrides cannot change."""

    target_id = models.CharField(max_length=200, db_index=True)
    target_uuid = models.UUIDField(null=True, editable=False)
    """The identity of the target if the last publisher of the version was allowed to read it, otherwise
    null. The id alone is not enough: another workspace can take it once it is free."""

    objects = GuardedQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.target_id

    @staticmethod
    def find(config: Config) -> list[tuple[str, str]]:
        """Return (field, id) for every reference of this kind in a configuration."""
        return []

    @classmethod
    def write(cls, version: Any, references: Iterable[tuple[str, str]]) -> None:
        """Insert the references that were found in a new version, without duplicate targets."""
        targets = dict.fromkeys(target for _field, target in references)
        rows = [{"version_id": version.pk, "target_id": target, "target_uuid": None} for target in targets]
        insert(cls, rows)

    @classmethod
    def of_version(cls, version: Any) -> list[tuple[str, UUID | None]]:
        """Return the ids of the targets of a version, each with the granted identity, if any."""
        version_id = _value_conversion(cls, "version")
        uuid: Any = cls._meta.get_field("target_uuid")
        with prepared_cursor() as cursor:
            # Only the name of the table is inserted.
            selected = f"SELECT target_id, target_uuid FROM {quoted_table(cls)} WHERE version_id = %s"  # noqa: S608
            cursor.execute(selected, [version_id(version.pk)])
            return [(target_id, uuid.to_python(granted)) for target_id, granted in cursor.fetchall()]

    @classmethod
    def grant(cls, version: Any, granted: Iterable[tuple[UUID | None, str]]) -> None:
        """Store the identities of its targets that a version is granted; None removes a grant."""
        version_id, identity = _value_conversion(cls, "version"), _value_conversion(cls, "target_uuid")
        # Only the name of the table is inserted.
        update = f"UPDATE {quoted_table(cls)} SET target_uuid = %s WHERE version_id = %s AND target_id = %s"  # noqa: S608
        rows = [(identity(uuid), version_id(version.pk), target_id) for uuid, target_id in granted]
        if rows:
            with prepared_cursor() as cursor:
                cursor.executemany(update, rows)


def _value_conversion(model: type[models.Model], name: str) -> Callable[[Any], Any]:
    """Return the conversion of a field's value to the database value."""
    field: Any = model._meta.get_field(name)
    return lambda value: field.get_db_prep_save(value, connection)


class Version(Guarded):
    """A saved configuration. It never changes, and stores no status."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    number = models.PositiveIntegerField(editable=False)
    config_json = models.TextField(editable=False)
    digest = models.CharField(max_length=64, editable=False)
    name = models.TextField(editable=False)
    search_text = models.TextField(editable=False)
    excerpt = models.TextField(default="", db_default="", editable=False)
    """The beginning of the prompt, for lists, so that a text of up to a megabyte is not read for one line."""
    changed_fields = models.JSONField(editable=False)
    change_message = models.TextField(editable=False)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", editable=False
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    bypassed_by = models.TextField(default="", db_default="", editable=False)
    """The user name of the admin who published it without the required approvals; otherwise empty."""

    source = "database"
    read_only = False
    commit = None
    reference_models: ClassVar[tuple[type[Reference], ...]] = ()

    if TYPE_CHECKING:
        resource: Any
        resource_id: str

    objects = GuardedQuerySet.as_manager()

    class Meta:
        abstract = True
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.resource_id} version {self.number}"

    @cached_property
    def version_id(self) -> str:
        """The id in its external form."""
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


class TwoPointers(models.Model):
    """The state given by a resource's two pointers into its versions, in columns or in a file."""

    pointers: VersionPointers | None = None
    """The pointers if a file determines them; None if the row itself does."""

    if TYPE_CHECKING:
        active_version: Any
        active_version_id: UUID | None
        latest_version: Any
        latest_version_id: UUID
        published_at: Any
        unpublished_version_id: Any

    class Meta:
        abstract = True

    @property
    def active(self) -> Snapshot | None:
        active: Snapshot | None = self.pointers.active if self.pointers else self.active_version
        return active

    @property
    def latest(self) -> Snapshot:
        latest: Snapshot = self.pointers.latest if self.pointers else self.latest_version
        return latest

    @property
    def base(self) -> Snapshot:
        """The version that the next edit starts from."""
        return self.pointers.base if self.pointers else self.latest

    @property
    def active_id(self) -> str | None:
        if self.pointers is not None:
            return self.pointers.active.version_id if self.pointers.active else None
        return str(self.active_version_id) if self.active_version_id else None

    @property
    def latest_id(self) -> str:
        return self.pointers.latest.version_id if self.pointers else str(self.latest_version_id)

    @property
    def published_since(self) -> datetime.datetime | None:
        """When the editor published the live version; None if it was published otherwise, or none is live."""
        by_editor = self.active_version_id is not None and str(self.active_version_id) == self.active_id
        return self.published_at if by_editor else None

    @property
    def gone(self) -> bool:
        """Whether only its history remains."""
        return self.pointers is not None and self.pointers.gone

    @property
    def has_draft(self) -> bool:
        """Whether a version newer than the published one was saved, or none is published."""
        return self.latest_id != self.active_id

    @property
    def is_taken_down(self) -> bool:
        """Whether the newest version was live until it was unpublished or replaced by an older one."""
        return self.has_draft and self.latest_id == str(self.unpublished_version_id)

    @property
    def is_taken_back(self) -> bool:
        """Whether the newest version was live until an older one was published again."""
        return self.is_taken_down and self.active_id is not None

    @property
    def current(self) -> Snapshot:
        """The version on which to continue: the newest, or the live one if the newest was taken back."""
        active = self.active
        return active if active is not None and self.is_taken_down else self.latest

    @property
    def repeats_live(self) -> bool:
        """Whether the newest version equals another one, which is live."""
        active = self.active
        return active is not None and self.has_draft and active.digest == self.latest.digest

    @property
    def waits(self) -> bool:
        """Whether the newest version waits to be published: it would change the live version."""
        return self.has_draft and not self.is_taken_down and not self.repeats_live

    def state_of(self, version: Snapshot) -> VersionState:
        """Return the current state of one of the versions, according to the two pointers."""
        if version.version_id == self.active_id:
            return VersionState.PUBLISHED
        return VersionState.DRAFT if version.version_id == self.latest_id else VersionState.HISTORICAL


if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import Model


class OwnVersion(BaseConstraint):
    """A composite foreign key: `(owner, pointer)` must be `(resource_id, id)` of a version.

    A plain foreign key would let an agent point at a version of another agent. The check is deferred to the
    end of the transaction, so that a resource and its first version can be inserted in either order; deleting
    a version that a pointer refers to fails then.
    """

    def __init__(self, *, name: str, owner: str, pointer: str) -> None:
        super().__init__(name=name)
        self.owner = owner
        self.pointer = pointer

    def constraint_sql(self, model: Any, schema_editor: Any) -> str:
        """Return the clause for `CREATE TABLE`."""
        quote = schema_editor.quote_name
        owner, pointer = (_field(model, name) for name in (self.owner, self.pointer))
        version = pointer.related_model
        resource = _field(version, "resource")
        return (
            f"CONSTRAINT {quote(self.name)} FOREIGN KEY ({quote(owner.column)}, {quote(pointer.column)}) "
            f"REFERENCES {quote(version._meta.db_table)} ({quote(resource.column)}, {quote('id')}) "
            "DEFERRABLE INITIALLY DEFERRED"
        )

    # Django passes and expects `Statement` objects here; its stubs say str.
    def create_sql(  # type: ignore[override]
        self, model: Any, schema_editor: Any
    ) -> Statement:
        return Statement(
            "ALTER TABLE %(table)s ADD %(constraint)s",
            table=Table(model._meta.db_table, schema_editor.quote_name),
            constraint=self.constraint_sql(model, schema_editor),
        )

    def remove_sql(  # type: ignore[override]
        self, model: Any, schema_editor: Any
    ) -> Statement:
        return Statement(
            "ALTER TABLE %(table)s DROP CONSTRAINT %(name)s",
            table=Table(model._meta.db_table, schema_editor.quote_name),
            name=schema_editor.quote_name(self.name),
        )

    def validate(
        self,
        model: type[Model],
        instance: Model,
        exclude: Iterable[str] | None = None,
        using: str = DEFAULT_DB_ALIAS,
    ) -> None:
        """Raise `ValidationError` if the pointer refers to a version of another resource."""
        version = getattr(instance, self.pointer)
        owner = _field(model, self.owner).attname
        if version is not None and version.resource_id != getattr(instance, owner):
            raise ValidationError(self.get_violation_error_message())

    def deconstruct(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        path, args, kwargs = super().deconstruct()
        return path, tuple(args), {**kwargs, "owner": self.owner, "pointer": self.pointer}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnVersion) and self.deconstruct() == other.deconstruct()

    def __hash__(self) -> int:
        return hash((self.name, self.owner, self.pointer))


def _field(model: type[Model], name: str) -> Any:
    return model._meta.get_field(name)
