"""Which resources a list shows: the query parameters that narrow it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

import django_filters
from django.db.models import Exists, F, Func, OuterRef, Q, QuerySet, TextField
from django.db.models.fields.json import KeyTransform
from drf_spectacular.utils import OpenApiParameter
from editor_client.shared import canonical
from rest_framework.request import Request

from versioning.api.parameters import JSON_OBJECT, TEXT, query
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid, Issue
from versioning.domain.registry import Registry
from versioning.models import Agent, Favorite, PromptBlock, VersionedResource, Visibility
from versioning.models.agents import is_visible
from versioning.models.search import MAX_LENGTH, matching, occurs
from versioning.models.versioned import within

_METADATA_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_METADATA_KEYS = 100
_STATUS = [("published", "published"), ("draft", "draft"), ("all", "all")]
_YES_NO = [("true", "true"), ("false", "false")]
_TYPES: dict[str, dict[str, Any]] = {
    "metadata": JSON_OBJECT,
    "search": {"type": "string", "minLength": 0, "maxLength": MAX_LENGTH},
}

Rows = QuerySet[Any, Any]


class JsonType(Func):
    """The type of a member of the metadata: in SQLite true and "true" compare equal without it."""

    output_field = TextField()

    def __init__(self, key: str) -> None:
        if not _METADATA_KEY.fullmatch(key):  # it becomes part of the statement
            raise ValueError(key)
        super().__init__(F("metadata"))
        self.key = key

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return SQLite's word for it."""
        template = f"JSON_TYPE(%(expressions)s, '$.{self.key}')"
        return self.as_sql(compiler, connection, template=template, **context)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return PostgreSQL's word for it."""
        template = f"jsonb_typeof(%(expressions)s -> '{self.key}')"
        return self.as_sql(compiler, connection, template=template, **context)


class RecordFilter:
    """A filter that narrows rows, and says of a record at hand whether it would be among them.

    The override of a code-defined agent can live in a file, and then no row says how it stands.
    `keeps` gets such a record, the value that is asked for, and the filter set.
    """

    def __init__(self, *args: Any, keeps: Callable[[Any, str, ResourceFilter], bool], **more: Any) -> None:
        super().__init__(*args, **more)
        self.keeps = keeps


class TextFilter(RecordFilter, django_filters.CharFilter):
    """One that takes any text."""


class WordFilter(RecordFilter, django_filters.ChoiceFilter):
    """One that takes one of a few words."""


def _has_status(record: VersionedResource, value: str, _given: ResourceFilter) -> bool:
    return value == "all" or (record.active is None) == (value == "draft")


def _has_author(record: VersionedResource, value: str, _given: ResourceFilter) -> bool:
    return record.author is not None and record.author.get_username() == value


def _is_in_workspace(record: VersionedResource, value: str, _given: ResourceFilter) -> bool:
    return record.workspace_id == value


def _has_metadata(record: VersionedResource, value: str, _given: ResourceFilter) -> bool:
    held = record.metadata
    wanted = _wanted_metadata("metadata", value)
    return all(key in held and canonical.same(held[key], member) for key, member in wanted.items())


def _has_text(record: VersionedResource, value: str, given: ResourceFilter) -> bool:
    drafts = given.caller.may(Right.READ_DRAFTS, record.workspace_id)
    shown = [record.active, record.latest if drafts else None]
    return any(occurs(value, record.pk, one.config) for one in shown if one is not None)


def _has_draft(record: VersionedResource, value: str, given: ResourceFilter) -> bool:
    drafts = given.caller.may(Right.READ_DRAFTS, record.workspace_id)
    return drafts and record.has_draft == (value == "true")


def _has_visibility(record: VersionedResource, value: str, given: ResourceFilter) -> bool:
    return isinstance(record, Agent) and record.visibility_by(given.code) == value


def _is_favorite(record: VersionedResource, value: str, given: ResourceFilter) -> bool:
    return value == "false" or (isinstance(given, AgentFilter) and record.pk in given.favorite_ids)


class ResourceFilter(django_filters.FilterSet):
    """What both kinds can be narrowed by; every filter is a `RecordFilter`."""

    status = WordFilter(choices=_STATUS, method="by_status", keeps=_has_status)
    authorId = TextFilter(field_name="author__username", keeps=_has_author)
    workspaceId = TextFilter(field_name="workspace_id", keeps=_is_in_workspace)
    metadata = TextFilter(method="by_metadata", keeps=_has_metadata)
    search = TextFilter(method="by_search", keeps=_has_text)
    hasDraft = WordFilter(choices=_YES_NO, method="by_draft", keeps=_has_draft)

    default_status = "all"

    def __init_subclass__(cls) -> None:
        """Refuse a filter that could not be asked about an override file."""
        super().__init_subclass__()
        for name, declared in cls.declared_filters.items():
            if not isinstance(declared, RecordFilter):
                raise TypeError(f"{cls.__name__}.{name} must be a RecordFilter")

    @classmethod
    def parameters(cls) -> tuple[OpenApiParameter, ...]:
        """Return the filters as declared query parameters."""
        described = {
            "status": f"`draft` = no active version; `{cls.default_status}` when absent.",
            "authorId": "Made by this user.",
            "workspaceId": "Of this workspace.",
            "visibility": "Private or public ones.",
            "metadata": "A JSON object: equal in each of its keys.",
            "search": f"In id, name, description and text, whatever the case; up to {MAX_LENGTH} characters.",
            "hasDraft": "With, or without, a draft that the caller may read.",
            "favoritedOnly": "`true`: only the caller's favorites.",
        }
        return tuple(
            query(
                name,
                described[name],
                type=_TYPES.get(name, TEXT),
                enum=[value for value, _ in declared.extra.get("choices", [])] or None,
            )
            for name, declared in cls.base_filters.items()
        )

    @property
    def chosen(self) -> Rows:
        """The narrowed rows; raises `Invalid` for a value that a filter cannot take."""
        if not self.is_valid():
            faults = self.form.errors.items()
            raise Invalid([Issue(name, str(message)) for name, messages in faults for message in messages])
        rows: Rows = self.qs
        return rows if "status" in (self.data or {}) else self.by_status(rows, "status", self.default_status)

    def keeps(self, resource: VersionedResource) -> bool:
        """Say whether a record of which no row decides passes the filters, which are valid by now.

        Each filter says it itself.
        """
        given = {name: value for name, value in self.form.cleaned_data.items() if value not in {None, ""}}
        given.setdefault("status", self.default_status)
        filters = cast("dict[str, RecordFilter]", self.filters)
        return all(filters[name].keeps(resource, value, self) for name, value in given.items())

    @property
    def caller(self) -> Caller:
        """Who is asking."""
        caller: Caller = cast("Request", self.request).auth  # type: ignore[assignment]
        return caller

    @property
    def code(self) -> Registry:
        """The agents that code defines: of their overrides it says who may read them."""
        return get_editor().code

    def by_status(self, rows: Rows, _name: str, value: str) -> Rows:
        """Keep those with an active version, those without, or all."""
        return rows if value == "all" else rows.filter(active_version__isnull=value == "draft")

    def by_draft(self, rows: Rows, _name: str, value: str) -> Rows:
        """Keep those that have a draft, or have none, of those whose drafts are the caller's to read."""
        published = Q(active_version=F("latest_version"))
        rows = rows.filter(within("workspace_id", self.caller.scope(Right.READ_DRAFTS)))
        return rows.exclude(published) if value == "true" else rows.filter(published)

    def by_metadata(self, rows: Rows, name: str, value: str) -> Rows:
        """Keep those whose metadata has these members, equal in type and value."""
        for position, (key, member) in enumerate(_wanted_metadata(name, value).items()):
            rows = self._with_member(rows, f"_metadata_{position}", key, member)
        return rows

    def by_search(self, rows: Rows, _name: str, value: str) -> Rows:
        """Keep those in which the text occurs, in what the caller may read of them."""
        return matching(rows, value, self.caller)

    def _with_member(self, rows: Rows, alias: str, key: str, value: Any) -> Rows:
        typed: Rows = rows.alias(**{alias: KeyTransform(key, "metadata"), f"{alias}_type": JsonType(key)})
        return typed.filter(**{alias: value, f"{alias}_type__in": _type_names(value)})


class PromptBlockFilter(ResourceFilter):
    """Prompt blocks, published or not."""

    class Meta:
        model = PromptBlock
        fields: list[str] = []


class AgentFilter(ResourceFilter):
    """Agents; the published ones when nobody says."""

    visibility = WordFilter(choices=Visibility.choices, method="by_visibility", keeps=_has_visibility)
    favoritedOnly = WordFilter(choices=_YES_NO, method="by_favorite", keeps=_is_favorite)

    default_status = "published"

    def by_visibility(self, rows: Rows, _name: str, value: str) -> Rows:
        """Keep the private ones, or the public ones."""
        return rows.filter(is_visible(value, self.code))

    class Meta:
        model = Agent
        fields: list[str] = []

    def by_favorite(self, rows: Rows, _name: str, value: str) -> Rows:
        """Keep the caller's favorites, or all."""
        own = self.favorites.filter(agent_id=OuterRef("pk"))
        return rows.filter(Exists(own)) if value == "true" else rows

    @property
    def favorites(self) -> QuerySet[Favorite]:
        """The caller's own marks."""
        return Favorite.objects.of(self.caller.user_id)

    @cached_property
    def favorite_ids(self) -> frozenset[str]:
        """The ids of the agents that the caller has marked; one query for all records."""
        return frozenset(self.favorites.values_list("agent_id", flat=True))


def _wanted_metadata(name: str, value: str) -> dict[str, Any]:
    """Return the members that the metadata must have; raises `Invalid` for anything else."""
    wanted = canonical.sorted_by_key(canonical.parse(value, field=name))
    if not isinstance(wanted, dict):
        raise Invalid.field(name, "must be a JSON object")
    if len(wanted) > MAX_METADATA_KEYS:
        raise Invalid.field(name, f"must not ask for more than {MAX_METADATA_KEYS} keys")
    for key in wanted:
        if not _METADATA_KEY.fullmatch(key):
            raise Invalid.field(f"{name}.{key}", "must begin with a letter or _, then letters, digits, _")
    return wanted


def _type_names(value: Any) -> list[str]:
    """Return what SQLite and PostgreSQL call the JSON type of a value."""
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
