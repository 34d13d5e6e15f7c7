"""Which resources a list shows: the query parameters of the declared filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from versioning.api.parameters import TEXT, query
from versioning.conf import get_editor
from versioning.domain.errors import Invalid, Issue
from versioning.domain.kinds import ResourceKind
from versioning.editor.catalog.criteria import Unstored, Viewer
from versioning.editor.catalog.filters import Filter, filters_of
from versioning.models import VersionedResource

Rows = QuerySet[Any, Any]


class TextFilter(django_filters.CharFilter):
    """The parameter of a declared filter."""

    def __init__(self, declared: Filter, **more: Any) -> None:
        super().__init__(**more)
        self.declared = declared

    def filter(self, rows: Rows, value: Any) -> Rows:
        """Filter the rows; an empty value does not filter."""
        parsed = self.declared.value(value)
        return rows if parsed is None else self.declared.criterion.narrow(rows, parsed, self.viewer)

    def holds(self, found: Unstored, value: Any) -> bool:
        """Apply the same filter to an unstored agent."""
        parsed = self.declared.value(value)
        return parsed is None or self.declared.criterion.holds(found, parsed, self.viewer)

    @property
    def viewer(self) -> Viewer:
        """The caller: every filter of a set knows its set."""
        filters: ResourceFilter = self.parent  # type: ignore[attr-defined]
        return filters.viewer


class WordFilter(TextFilter):
    """A filter with a few allowed words, each with its value."""

    field_class = django_filters.ChoiceFilter.field_class

    def __init__(self, declared: Filter) -> None:
        choices = [(word, word) for word in declared.words or ()]
        super().__init__(declared, choices=choices, empty_label=None)


class ResourceFilter(django_filters.FilterSet):
    """The filters of a kind; `filters_for` creates a subclass from the declarations."""

    default_status = "all"

    @classmethod
    def parameters(cls) -> tuple[OpenApiParameter, ...]:
        """Return the filters as declared query parameters."""
        return tuple(
            query(
                name,
                base_filter.declared.description.replace("{default_status}", cls.default_status),
                type=dict(base_filter.declared.schema or TEXT),
                enum=None if base_filter.declared.words is None else list(base_filter.declared.words),
            )
            for name, base_filter in cast("Mapping[str, TextFilter]", cls.base_filters).items()
        )

    @property
    def chosen(self) -> Rows:
        """The filtered rows; raises `Invalid` for an invalid value."""
        rows = cast("Rows", self.queryset)
        for declared, value in self._given:
            rows = declared.filter(rows, value)
        return rows

    def holds(self, resource: VersionedResource) -> bool:
        """Return whether an override without a row passes the filters; raises as `chosen` does."""
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


def filters_for(kind: ResourceKind) -> type[ResourceFilter]:
    """Return the filters of a kind; a kind that can be public lists published resources by default."""
    members: dict[str, Any] = {
        filter_.parameter: TextFilter(filter_) if filter_.words is None else WordFilter(filter_)
        for filter_ in filters_of(kind)
        if filter_.parameter
    }
    members["default_status"] = "published" if kind.has_visibility else "all"
    return type(f"{kind.schema_name}Filter", (ResourceFilter,), members)
