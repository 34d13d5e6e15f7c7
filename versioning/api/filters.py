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
from rest_framework.request import Request

from versioning import canonical
from versioning.access import Caller, Right
from versioning.api.parameters import query
from versioning.config import searchable_text
from versioning.errors import Invalid, Issue
from versioning.models import Agent, Favorite, PromptBlock, VersionedResource, Visibility
from versioning.models.versioned import within

_METADATA_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_METADATA_KEYS = 100
MAX_SEARCH = 40_000  # bytes: the database takes no pattern of more than 50 000
_STATUS = [("published", "published"), ("draft", "draft"), ("all", "all")]
_YES_NO = [("true", "true"), ("false", "false")]

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


class ResourceFilter(django_filters.FilterSet):
    """What both kinds can be narrowed by."""

    status = django_filters.ChoiceFilter(choices=_STATUS, method="by_status")
    authorId = django_filters.CharFilter(field_name="author__username")
    workspaceId = django_filters.CharFilter(field_name="workspace_id")
    metadata = django_filters.CharFilter(method="by_metadata")
    search = django_filters.CharFilter(method="by_search")
    hasDraft = django_filters.ChoiceFilter(choices=_YES_NO, method="by_draft")

    default_status = "all"

    @classmethod
    def parameters(cls) -> tuple[OpenApiParameter, ...]:
        """Return the filters as declared query parameters."""
        described = {
            "status": f"`draft` = no active version; `{cls.default_status}` when absent.",
            "authorId": "Made by this user.",
            "workspaceId": "Of this workspace.",
            "visibility": "Private or public ones.",
            "metadata": "A JSON object: equal in each of its keys.",
            "search": "In id, name, description and text, whatever the case.",
            "hasDraft": "With, or without, a draft that the caller may read.",
            "favoritedOnly": "`true`: only the caller's favorites.",
        }
        return tuple(
            query(
                name, described[name], enum=[value for value, _ in declared.extra.get("choices", [])] or None
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

        Each of these is the condition of the same name below, for a record at hand.
        """
        given = {name: value for name, value in self.form.cleaned_data.items() if value not in {None, ""}}
        given.setdefault("status", self.default_status)
        return all(_KEEPS[name](resource, value, self.caller) for name, value in given.items())

    @property
    def caller(self) -> Caller:
        """Who is asking."""
        caller: Caller = cast("Request", self.request).auth  # type: ignore[assignment]
        return caller

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


def matching(rows: Rows, value: str, caller: Caller) -> Rows:
    """Keep the resources in which the text occurs, in what the caller may read of them."""
    text = value.casefold()
    if not text:
        return rows
    if len(text.encode()) > MAX_SEARCH:
        raise Invalid.field("search", f"must not be longer than {MAX_SEARCH} bytes")
    drafts = within("workspace_id", caller.scope(Right.READ_DRAFTS))
    return rows.filter(
        Q(active_version__search_text__contains=text)
        | (drafts & Q(latest_version__search_text__contains=text))
    )


class PromptBlockFilter(ResourceFilter):
    """Prompt blocks, published or not."""

    class Meta:
        model = PromptBlock
        fields: list[str] = []


class AgentFilter(ResourceFilter):
    """Agents; the published ones when nobody says."""

    visibility = django_filters.ChoiceFilter(choices=Visibility.choices)
    favoritedOnly = django_filters.ChoiceFilter(choices=_YES_NO, method="by_favorite")

    default_status = "published"

    class Meta:
        model = Agent
        fields: list[str] = []

    def by_favorite(self, rows: Rows, _name: str, value: str) -> Rows:
        """Keep the caller's favorites, or all."""
        own = self._favorites.filter(agent_id=OuterRef("pk"))
        return rows.filter(Exists(own)) if value == "true" else rows

    def keeps(self, resource: VersionedResource) -> bool:
        """Say whether a record of which no row decides passes the filters, which are valid by now."""
        only_own = self.form.cleaned_data["favoritedOnly"] == "true"
        return (not only_own or resource.pk in self._favorite_ids) and super().keeps(resource)

    @property
    def _favorites(self) -> QuerySet[Favorite]:
        return Favorite.objects.of(self.caller.user_id)

    @cached_property
    def _favorite_ids(self) -> frozenset[str]:
        return frozenset(self._favorites.values_list("agent_id", flat=True))


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


def _has_metadata(resource: VersionedResource, value: str, _caller: Caller) -> bool:
    held = resource.metadata
    wanted = _wanted_metadata("metadata", value)
    return all(key in held and canonical.same(held[key], member) for key, member in wanted.items())


def _has_text(resource: VersionedResource, value: str, caller: Caller) -> bool:
    drafts = caller.may(Right.READ_DRAFTS, resource.workspace_id)
    shown = [resource.active, resource.latest if drafts else None]
    texts = (f"{resource.pk.casefold()}\n{searchable_text(one.config)}" for one in shown if one is not None)
    return any(value.casefold() in text for text in texts)


def _has_draft(resource: VersionedResource, value: str, caller: Caller) -> bool:
    drafts = caller.may(Right.READ_DRAFTS, resource.workspace_id)
    return drafts and resource.has_draft == (value == "true")


_KEEPS: dict[str, Callable[[Any, str, Caller], bool]] = {
    "status": lambda found, value, _: value == "all" or (found.active is None) == (value == "draft"),
    "authorId": lambda found, value, _: found.author is not None and found.author.get_username() == value,
    "workspaceId": lambda found, value, _: found.workspace_id == value,
    "visibility": lambda found, value, _: found.visibility == value,
    "metadata": _has_metadata,
    "search": _has_text,
    "hasDraft": _has_draft,
    "favoritedOnly": lambda *_: True,  # `AgentFilter.keeps` reads them all at once
}


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
