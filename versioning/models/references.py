"""The references of versions, as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar
from uuid import UUID

from django.db import connection, models

from versioning.domain.config import Config
from versioning.models.statements import insert, prepared_cursor, table_of


class Reference(models.Model):
    """A version refers to a resource by id. Stored as a row, so that dependents can be found in one query."""

    target: ClassVar[type[Any]]
    """The kind of resource that is referred to."""
    fixed_by_code: ClassVar[bool] = False
    """Whether a code-defined agent has the references of its code, which no override changes."""

    target_id = models.CharField(max_length=200, db_index=True)
    target_uuid = models.UUIDField(null=True, editable=False)
    """The identity of the target if whoever published the version last was allowed to read it, otherwise
    null. The id alone is not enough: another workspace can take it once it is free."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.target_id

    @staticmethod
    def find(config: Config) -> Iterator[tuple[str, str]]:
        """Yield (field, id) for every reference of this kind in a configuration."""
        return iter(())

    @classmethod
    def write(cls, version: Any) -> None:
        """Insert the references of a new version, each target once."""
        targets = {target for _, target in cls.find(version.config)}
        insert(cls, [{"version_id": version.pk, "target_id": one, "target_uuid": None} for one in targets])

    @classmethod
    def of_version(cls, version: Any) -> list[tuple[str, UUID | None]]:
        """Return the ids of the targets of a version, each with the identity that was granted, if any."""
        version_id = _prepared(cls, "version")
        uuid: Any = cls._meta.get_field("target_uuid")
        with prepared_cursor() as cursor:
            # Only the name of the table is inserted.
            selected = f"SELECT target_id, target_uuid FROM {table_of(cls)} WHERE version_id = %s"  # noqa: S608
            cursor.execute(selected, [version_id(version.pk)])
            return [(target_id, uuid.to_python(granted)) for target_id, granted in cursor.fetchall()]

    @classmethod
    def grant(cls, version: Any, granted: Iterable[tuple[UUID | None, str]]) -> None:
        """Store which identities of its targets a version is granted; None takes a grant back."""
        version_id, identity = _prepared(cls, "version"), _prepared(cls, "target_uuid")
        # Only the name of the table is inserted.
        update = f"UPDATE {table_of(cls)} SET target_uuid = %s WHERE version_id = %s AND target_id = %s"  # noqa: S608
        rows = [(identity(uuid), version_id(version.pk), target_id) for uuid, target_id in granted]
        if rows:
            with prepared_cursor() as cursor:
                cursor.executemany(update, rows)


def _prepared(model: type[models.Model], name: str) -> Callable[[Any], Any]:
    """Return what makes of a value of a field what the database takes."""
    field: Any = model._meta.get_field(name)
    return lambda value: field.get_db_prep_save(value, connection)
