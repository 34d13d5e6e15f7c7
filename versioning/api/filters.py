"""Which resources a list shows: the query parameters that narrow it, by criteria of the catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter
from editor_client.shared.tags import asked_for
from rest_framework.request import Request

from versioning.api.parameters import JSON_OBJECT, TEXT, query
from versioning.conf import get_editor
from versioning.domain.errors import Invalid, Issue
from versioning.domain.selectors import Status
from versioning.editor.catalog import criteria
from versioning.editor.catalog.criteria import Criterion, Unstored, Viewer
from versioning.models import VersionedResource, Visibility
from versioning.models.metadata import members
from versioning.models.search import MAX_LENGTH

Rows = QuerySet[Any, Any]


class TextFilter(django_filters.CharFilter):
    """A parameter that looks by a criterion; `parse` makes its value of the text, None narrows nothing."""

    def __init__(
        self,
        criterion: Criterion[Any],
        description: str,
        *,
        schema: Mapping[str, Any] = TEXT,
        parse: Callable[[str], Any] = str,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.criterion = criterion
        self.description = description
        self.schema = dict(schema)
        self.parse = parse

    def filter(self, rows: Rows, value: Any) -> Rows:
        """Narrow the rows; an empty value does not."""
        parsed = self.parse(value) if value else None
        return rows if parsed is None else self.criterion.narrow(rows, parsed, self.viewer)

    def holds(self, found: Unstored, value: Any) -> bool:
        """Say the same of an unstored agent."""
        parsed = self.parse(value) if value else None
        return parsed is None or self.criterion.holds(found, parsed, self.viewer)

    @property
    def viewer(self) -> Viewer:
        """Who looks: every filter of a set knows its set."""
        filters: ResourceFilter = self.parent  # type: ignore[attr-defined]
        return filters.viewer


class WordFilter(TextFilter):
    """One that takes a few words, each with its value."""

    field_class = django_filters.ChoiceFilter.field_class

    def __init__(self, criterion: Criterion[Any], words: Mapping[str, Any], description: str) -> None:
        choices = [(word, word) for word in words]
        super().__init__(criterion, description, parse=words.__getitem__, choices=choices, empty_label=None)
        self.words = words


YES_NO = {"true": True, "false": False}


class ResourceFilter(django_filters.FilterSet):
    """What the resources of every kind can be narrowed by; published or not when nobody says."""

    status = WordFilter(
        criteria.STATUS,
        {"published": Status.PUBLISHED, "draft": Status.DRAFT, "all": None},
        "`draft` = no active version; `{default_status}` when absent.",
    )
    authorId = TextFilter(criteria.AUTHOR, "Made by this user.")
    workspaceId = TextFilter(criteria.WORKSPACE, "Of this workspace.")
    metadata = TextFilter(
        criteria.METADATA,
        "A JSON object: equal in each of its keys.",
        schema=JSON_OBJECT,
        parse=lambda text: members(text, field="metadata"),
    )
    tag = TextFilter(
        criteria.TAGS,
        "With this tag: a text in the list `tags` of its metadata. Several, with commas between: with all.",
        schema={"type": "string", "pattern": r"[^,\s]"},
        parse=asked_for,
    )
    search = TextFilter(
        criteria.TEXT,
        f"In id, name, description and text, whatever the case; up to {MAX_LENGTH} characters.",
        schema={"type": "string", "minLength": 0, "maxLength": MAX_LENGTH},
    )
    hasDraft = WordFilter(criteria.HAS_DRAFT, YES_NO, "With, or without, a draft that the caller may read.")
    favoritedOnly = WordFilter(
        criteria.FAVORITE, {"true": True, "false": None}, "`true`: only the caller's favorites."
    )

    default_status = "all"

    def __init_subclass__(cls) -> None:
        """Refuse a filter that says nothing about unstored agents."""
        super().__init_subclass__()
        for name, declared in cls.declared_filters.items():
            if not isinstance(declared, TextFilter):
                raise TypeError(f"{cls.__name__}.{name} must have a criterion")

    @classmethod
    def parameters(cls) -> tuple[OpenApiParameter, ...]:
        """Return the filters as declared query parameters."""
        return tuple(
            query(
                name,
                declared.description.format(default_status=cls.default_status),
                type=declared.schema,
                enum=list(declared.words) if isinstance(declared, WordFilter) else None,
            )
            for name, declared in cast("Mapping[str, TextFilter]", cls.base_filters).items()
        )

    @property
    def chosen(self) -> Rows:
        """The narrowed rows; raises `Invalid` for a value that a filter cannot take."""
        rows = cast("Rows", self.queryset)
        for declared, value in self._given:
            rows = declared.filter(rows, value)
        return rows

    def holds(self, resource: VersionedResource) -> bool:
        """Say whether an override that no row decides about passes the filters; raises as `chosen` does."""
        found = Unstored.override_of(resource, self.viewer)
        return all(declared.holds(found, value) for declared, value in self._given)

    @cached_property
    def viewer(self) -> Viewer:
        """The caller, and the agents that code defines."""
        return Viewer(cast("Any", cast("Request", self.request).auth), get_editor().code)

    @cached_property
    def _given(self) -> Sequence[tuple[TextFilter, Any]]:
        if not self.is_valid():
            found = self.form.errors.items()
            raise Invalid([Issue(name, str(message)) for name, messages in found for message in messages])
        given = {**self.form.cleaned_data}
        if not given["status"]:
            given["status"] = self.default_status
        return [(cast("TextFilter", self.filters[name]), value) for name, value in given.items()]


class VisibilityFilter(ResourceFilter):
    """Resources of a kind that can be public; the published ones when nobody says."""

    visibility = WordFilter(
        criteria.VISIBILITY, {choice: choice for choice in Visibility.values}, "Private or public ones."
    )

    default_status = "published"
