"""Labels and tags as rows."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from django.conf import settings
from django.db import connection, models
from django.db.models import Count, F, Func, Q, QuerySet, TextField
from django.db.models.fields.json import KeyTransform
from django.utils import timezone
from editor_client.shared import canonical
from editor_client.shared.tags import MAX_LENGTH, read_tags

from versioning.domain.errors import Invalid, Message
from versioning.domain.kinds import ResourceKind
from versioning.models.guarded import Guarded, GuardedQuerySet, unguard
from versioning.models.statements import insert, prepared_cursor


class Tag(Guarded):
    """A tag of a resource, from its metadata."""

    name = models.CharField(max_length=MAX_LENGTH)

    if TYPE_CHECKING:
        resource_id: str

    objects = GuardedQuerySet.as_manager()

    class Meta:
        abstract = True
        ordering = ["name"]

    def __str__(self) -> str:
        return f"{self.resource_id} {self.name}"

    @classmethod
    def ids_with(cls, names: Collection[str]) -> models.QuerySet[Any, Any]:
        """Return the ids of the resources that have all of these tags, given without duplicates."""
        manager: Any = cls._default_manager
        rows = manager.filter(name__in=names).order_by().values("resource")
        tagged: models.QuerySet[Any, Any] = rows.annotate(found=models.Count("pk")).filter(found=len(names))
        return tagged.values("resource")

    @classmethod
    def begin(cls, resource: Any) -> None:
        """Write the rows of a resource that has none yet."""
        insert(cls, [{"resource_id": resource.pk, "name": tag} for tag in read_tags(resource.metadata)])

    @classmethod
    def write(cls, resource: Any) -> None:
        """Update the rows to match the metadata of a locked resource."""
        manager: Any = cls._default_manager
        rows = manager.filter(resource_id=resource.pk)
        tags = read_tags(resource.metadata)
        stored = set(rows.values_list("name", flat=True))
        if stored - set(tags):
            unguard(rows.filter(name__in=stored - set(tags))).delete()
        insert(cls, [{"resource_id": resource.pk, "name": name} for name in tags if name not in stored])


class VersionLabel(Guarded):
    """A name that points at a version and can be moved."""

    name = models.CharField(max_length=64)
    released = models.BooleanField(default=False)
    """Whether the version is served under this name to everyone who can read published versions."""
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", editable=False
    )

    if TYPE_CHECKING:
        resource_id: str
        version: Any
        version_id: uuid.UUID

    objects = GuardedQuerySet.as_manager()

    class Meta:
        abstract = True
        ordering = ["name"]

    def __str__(self) -> str:
        return f"{self.resource_id} {self.name}"


@dataclass(frozen=True, kw_only=True)
class Favorited:
    """The favorites of a resource, from one person's view."""

    by_caller: bool
    count: int
    """How many people have marked it."""


class FavoriteQuerySet(models.QuerySet["Favorite"]):
    def of(self, user_id: Any, kind: ResourceKind) -> Self:
        """Filter by person and kind; the application has no favorites."""
        return self.filter(user_id=user_id, kind=kind.slug) if user_id is not None else self.none()

    def about(self, kind: ResourceKind, resource_ids: Collection[str], user_id: Any) -> dict[str, Favorited]:
        """Return the favorites of each of these resources of a kind, in one query.

        For a single resource, which every save returns, the statement is built only once.
        """
        if len(resource_ids) == 1:
            [resource_id] = resource_ids
            return {resource_id: _about_one(kind, resource_id, user_id)}
        marks, own = Count("pk"), Count("pk", filter=Q(user_id=user_id))
        rows = self.filter(kind=kind.slug, resource_id__in=resource_ids)
        counted = rows.values_list("resource_id").annotate(marks=marks, own=own)
        favorites = {
            resource_id: Favorited(by_caller=bool(mine), count=count) for resource_id, count, mine in counted
        }
        return {
            resource_id: favorites.get(resource_id, Favorited(by_caller=False, count=0))
            for resource_id in resource_ids
        }


class Favorite(models.Model):
    """A person has marked a resource.

    There is no foreign key to the resource, because an override stored as a file may have no row.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=32)
    """The slug of its kind: an agent and a prompt block may have the same id."""
    resource_id = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)
    """The time of marking: earlier events are not news to the person."""

    objects = FavoriteQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(name="favorite_once_per_person", fields=["resource_id", "kind", "user"]),
        ]

    def __str__(self) -> str:
        return f"{self.user} likes {self.kind} {self.resource_id}"


def _about_one(kind: ResourceKind, resource_id: str, user_id: Any) -> Favorited:
    user = Favorite._meta.get_field("user").get_db_prep_value(user_id, connection)
    table, column = Favorite._meta.db_table, Favorite._meta.get_field("user").column
    with prepared_cursor() as cursor:
        # Only names of the table and of a column are inserted.
        counted = f'SELECT COUNT(*), COUNT(CASE WHEN "{column}" = %s THEN 1 END) FROM "{table}"'  # noqa: S608
        cursor.execute(f"{counted} WHERE resource_id = %s AND kind = %s", [user, resource_id, kind.slug])
        count, own = cursor.fetchone()
    return Favorited(by_caller=bool(own), count=count)


_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_KEYS: Final = 100
JSON_OBJECT: Final = {
    "type": "string",
    "contentMediaType": "application/json",
    "pattern": r"^\s*\{[\s\S]*\}\s*$",
}
"""The schema of a text that is a JSON object."""


class JsonType(Func):
    """The JSON type of a member of the metadata; without it, true and "true" are equal in SQLite."""

    output_field = TextField()

    def __init__(self, key: str) -> None:
        if not _KEY.fullmatch(key):  # it becomes part of the statement
            raise ValueError(key)
        super().__init__(F("metadata"))
        self.key = key

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = f"JSON_TYPE(%(expressions)s, '$.{self.key}')"
        return self.as_sql(compiler, connection, template=template, **context)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = f"jsonb_typeof(%(expressions)s -> '{self.key}')"
        return self.as_sql(compiler, connection, template=template, **context)


def members(text: str, *, field: str) -> dict[str, Any]:
    """Return the members to find, from a JSON object; raises `Invalid` for the field."""
    required = canonical.sorted_by_key(canonical.parse(text, field=field))
    if not isinstance(required, dict):
        raise Invalid.field(field, "must be a JSON object")
    if len(required) > MAX_KEYS:
        raise Invalid.field(field, Message("must not ask for more than {limit} keys", limit=MAX_KEYS))
    for key in required:
        if not _KEY.fullmatch(key):
            raise Invalid.field(f"{field}.{key}", "must begin with a letter or _, then letters, digits, _")
    return required


def with_members(rows: QuerySet[Any], required: Mapping[str, Any]) -> QuerySet[Any]:
    """Filter by metadata that has all these members."""
    for position, (key, value) in enumerate(required.items()):
        member, kind = f"_metadata_{position}", f"_metadata_{position}_type"
        rows = rows.alias(**{member: KeyTransform(key, "metadata"), kind: JsonType(key)})
        rows = rows.filter(**{member: value, f"{kind}__in": _type_names(value)})
    return rows


def has_members(metadata: Mapping[str, Any], required: Mapping[str, Any]) -> bool:
    """Apply the same rule to metadata in memory."""
    return all(key in metadata and canonical.same(metadata[key], value) for key, value in required.items())


def _type_names(value: Any) -> list[str]:
    """Return the names that SQLite and PostgreSQL have for the JSON type of a value."""
    if isinstance(value, bool):
        return [str(value).lower(), "boolean"]
    names: dict[type, list[str]] = {
        str: ["text", "string"],
        int: ["integer", "real", "number"],
        float: ["integer", "real", "number"],
        list: ["array"],
        dict: ["object"],
    }
    return names.get(type(value), ["null"])
