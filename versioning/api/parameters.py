"""Query parameters, as they are declared and documented; `versioning.api.base` checks them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Final, Literal, TypeVar, cast

import django_filters
from django.db.models import Expression, QuerySet
from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter
from editor_client.shared.request_contexts import PARAMETER, read_context
from pydantic.alias_generators import to_snake
from rest_framework.request import Request

from versioning.conf import get_editor
from versioning.domain.errors import Invalid, Issue
from versioning.domain.kinds import KINDS, ResourceKind
from versioning.domain.selectors import Selector, Status
from versioning.editor import gate
from versioning.editor.catalog.criteria import Unstored, Viewer
from versioning.editor.catalog.filters import Filter, list_filters
from versioning.models import VersionedResource
from versioning.models.merging import merged_slice
from versioning.serving import overlays

MAX_PER_PAGE = 1000
MAX_PAGE = 999_999_999

TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
"""A parameter that can be given several times."""
UUID: dict[str, Any] = {"type": "string", "format": "uuid"}
JSON_OBJECT_IN_BASE64 = {
    "type": "string",
    "contentMediaType": "application/json",
    "contentEncoding": "base64",
    "pattern": "^e[w-z0-9+/]",  # the encoded start of a JSON object
}


def query(
    name: str,
    description: str,
    *,
    type: dict[str, Any] = TEXT,
    enum: Sequence[str] | None = None,
    required: bool = False,
) -> OpenApiParameter:
    """Declare a query parameter; `type` is its JSON Schema, whose lengths are checked too."""
    schema = {"type": "string"} if enum else type
    return OpenApiParameter(
        name, schema, OpenApiParameter.QUERY, description=description, enum=enum, required=required
    )


def is_repeated(parameter: OpenApiParameter) -> bool:
    """Return whether a parameter can be given several times."""
    return isinstance(parameter.type, dict) and parameter.type.get("type") == "array"


CONTEXT = query(
    "requestContext", "Values for templates and rules: a JSON object in base64.", type=JSON_OBJECT_IN_BASE64
)
UNUSED_CONTEXT = query("requestContext", "Accepted by every operation; this one ignores it.")
KIND = query("kind", "Only about resources of this kind.", enum=[kind.slug for kind in KINDS])
RESOURCE_ID = query("id", "Only about the resource of this id.")
DRY_RUN = query("dryRun", "`true` checks the request and stores nothing.", enum=["true", "false"])
WORKSPACE = query("workspaceId", "Only of this workspace.")
"""Filters lists by workspace."""
KIND_OF_RESOURCE = query("kind", "The kind of the resource.", enum=KIND.enum, required=True)
ID_OF_RESOURCE = query("id", "The id of the resource.", required=True)
"""Required by lists about one resource."""
SELECTOR = (
    query(
        "status",
        "The published version (the default) or the latest draft.",
        enum=[status.value for status in Status],
    ),
    query("versionId", "Exactly this version."),
    query("label", "The version that carries this label."),
    *(query(selector.name, selector.description) for selector in overlays.list_selectors()),
)
SELECTOR_NAMES = tuple(parameter.name for parameter in SELECTOR)
PARTIAL = query("partial", "`true` leaves `instructions` and `blocks` out.", enum=["true", "false"])
FORM = OpenApiParameter("form", {"type": "string"}, enum=["parts"], exclude=True)
"""The former address of an agent's parts; OpenAPI documents only one shape for an operation."""
IF_UNUSED = query(
    "ifUnused",
    "`true` refuses while a published agent, or another dependent, refers to it.",
    enum=["true", "false"],
)
DEPENDENTS_STATUS = query(
    "status",
    "References of published agents (the default), or of the latest drafts.",
    enum=[status.value for status in Status],
)
COMPARED = (
    query("from", "The id of the earlier version.", required=True),
    query("to", "The id of the later version.", required=True),
)
SOURCE = query("source", "Only versions kept there.", enum=["database", "git"])


Direction = Literal["ASC", "DESC"]


def numbers(default_size: int) -> tuple[OpenApiParameter, ...]:
    """Declare the parameters that select a page of a list."""
    return (
        query("page", "From 0.", type={"type": "integer", "minimum": 0, "maximum": MAX_PAGE}),
        query(
            "perPage",
            f"Up to {MAX_PER_PAGE}, {default_size} when absent; 0 gives no items.",
            type={"type": "integer", "minimum": 0, "maximum": MAX_PER_PAGE},
        ),
    )


def selector(query: QueryDict) -> Selector:
    """Return the selector of a request; the published version by default."""
    return Selector.parse({name: str(value) for name, value in query.items()})


def context(query: QueryDict) -> dict[str, Any]:
    """Return the request context, an object; raises `Invalid` unless it is JSON in base64."""
    text = query.get(PARAMETER)
    return {} if text is None else read_context(text)


def take_down_options() -> list[OpenApiParameter]:
    """Return the query parameters of a deletion for the checks of the gate."""
    return [
        query(option.member, f"The reason: {option.help}.")
        if option.reason_against
        else query(option.member, f"`true`: {option.help}.", enum=["true", "false"])
        for option in gate.options(for_take_down=True).values()
    ]


def given_options(query: Mapping[str, str]) -> dict[str, Any]:
    """Return the options among the query parameters of a deletion, by their Python names."""
    return {
        name: option.from_body(
            {"reason": query[option.member]} if option.reason_against else query[option.member] == "true"
        )
        for name, option in gate.options(for_take_down=True).items()
        if option.member in query
    }


Rows = QuerySet[Any, Any]


class TextFilter(django_filters.CharFilter):
    """The query parameter of a declared filter."""

    def __init__(self, declared: Filter, **more: Any) -> None:
        super().__init__(**more)
        self.declared = declared

    def filter(self, rows: Rows, value: Any) -> Rows:
        """Filter the rows; an empty value does not filter."""
        parsed = self.declared.value(value)
        return rows if parsed is None else self.declared.criterion.narrow(rows, parsed, self.viewer)

    def holds(self, unstored: Unstored, value: Any) -> bool:
        """Apply the same filter to an unstored agent."""
        parsed = self.declared.value(value)
        return parsed is None or self.declared.criterion.holds(unstored, parsed, self.viewer)

    @property
    def viewer(self) -> Viewer:
        """The caller, from the filter's set."""
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
        for declared, value in self._filter_values:
            rows = declared.filter(rows, value)
        return rows

    def holds(self, resource: VersionedResource) -> bool:
        """Return whether an override without a row passes the filters; raises as `chosen` does."""
        unstored = Unstored.override_of(resource, self.viewer)
        return all(declared.holds(unstored, value) for declared, value in self._filter_values)

    @cached_property
    def viewer(self) -> Viewer:
        """The caller, and the agents that code defines."""
        return Viewer(cast("Any", cast("Request", self.request).auth), get_editor().code)

    @cached_property
    def _filter_values(self) -> Sequence[tuple[TextFilter, Any]]:
        if not self.is_valid():
            errors = self.form.errors.items()
            raise Invalid([Issue(name, str(message)) for name, messages in errors for message in messages])
        values = {**self.form.cleaned_data}
        if not values["status"]:
            values["status"] = self.default_status
        return [(cast("TextFilter", self.filters[name]), value) for name, value in values.items()]


def filters_for(kind: ResourceKind) -> type[ResourceFilter]:
    """Return the filters of a kind; a kind that can be public lists published resources by default."""
    members: dict[str, Any] = {
        filter_.parameter: TextFilter(filter_) if filter_.words is None else WordFilter(filter_)
        for filter_ in list_filters(kind)
        if filter_.parameter
    }
    members["default_status"] = "published" if kind.has_visibility else "all"
    return type(f"{kind.schema_name}Filter", (ResourceFilter,), members)


MAX_BYTES: Final = 16 * 2**20
"""The maximum size of a page in bytes, unless it holds a single item."""
Default = TypeVar("Default", int, None)
View = Callable[[list[Any]], Sequence[Any]]
"""Prepares the rows of a page."""
_FEW: Final = 4
"""Up to this number, rows are read without measuring them first; the answer is measured anyway."""
_NUMBER = re.compile(r"[0-9]{1,9}")


class PageTooLarge(Invalid):
    """A page would be longer than `MAX_BYTES`; the error contains how many items fit."""

    def __init__(self, parameter: str, fits: int) -> None:
        message = f"is too many: a page has up to {MAX_BYTES // 2**20} MiB, enough for {fits}"
        super().__init__([Issue(parameter, message)], code="page_too_large")
        self.parameter, self.fits = parameter, fits

    def details(self) -> dict[str, Any]:
        return {**super().details(), self.parameter: self.fits}


def fitting(sizes: Iterable[int], around: int = 0) -> int:
    """Return how many items of these sizes, from the first, fit next to the envelope; at least one."""
    return max(sum(together + around <= MAX_BYTES for together in accumulate(sizes)), 1)


@dataclass(frozen=True, kw_only=True)
class PageOfItems:
    """A page of a list, with the members of the schema `PageOf`."""

    items: Sequence[Any]
    total: int
    page: int
    per_page: int
    has_more: bool
    is_cut: bool = False
    """Whether it was cut to the items that fit."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """The requested part of a list, and its order."""

    number: int
    size: int
    order: tuple[str, ...]

    @property
    def slice(self) -> slice:
        return slice(self.number * self.size, (self.number + 1) * self.size)

    def ordered_by(self, *fields: str) -> Page:
        """Return the same page of a list in another order, in the requested direction."""
        sign = "-" if self.order[0].startswith("-") else ""
        return replace(self, order=tuple(f"{sign}{field}" for field in fields))

    def of(
        self,
        rows: QuerySet[Any],
        view: View = list,
        *,
        select: Callable[[QuerySet[Any]], QuerySet[Any]] = QuerySet.all,
        unstored: Sequence[Any] = (),
        weight: Expression | None = None,
    ) -> PageOfItems:
        """Return the page of a list, in its order.

        Takes two queries and those of `view`, which prepares the items.

        `select` adds columns for the rows of the page only, because joins would make counting slow.
        `unstored` are the few items that are not rows; they are merged into the order. `weight` is the
        approximate size of a row in bytes. With it, a third query measures the rows, and only those that fit
        are read.
        """
        total = rows.count() + len(unstored)
        start, stop = self.slice.start, min(self.slice.stop, total)
        fits = self._fits(rows, len(unstored), start, stop, weight) if stop - start > _FEW else self.size
        is_cut = fits < stop - start
        stop = start + fits if is_cut else stop
        items = merged_slice(select(rows), unstored, self.order, start, stop) if start < stop else []
        return PageOfItems(
            items=view(items),
            total=total,
            page=self.number,
            per_page=self.size,
            has_more=bool(items) and start + len(items) < total,
            is_cut=is_cut,
        )

    def _fits(
        self, rows: QuerySet[Any], unstored: int, start: int, stop: int, weight: Expression | None
    ) -> int:
        """Return how many items of the page fit, considering only rows."""
        if weight is None:
            return self.size
        first = max(0, start - unstored)
        measured = rows.order_by(*self.order).annotate(bytes_of_row=weight)
        sizes = measured.values_list("bytes_of_row", flat=True)[first:stop]
        together = [size or 0 for size in sizes]
        if sum(together) <= MAX_BYTES:
            return self.size
        return max(fitting(together) - (start - first), 1)


@dataclass(frozen=True)
class Paging:
    """The parameters of a list: they are documented, and read from a request."""

    size: int
    """The number of items on a page by default."""
    _: KW_ONLY
    fields: Sequence[str] = ("createdAt",)
    """The values of `orderBy[field]`; the first is the default."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """The columns of the fields whose columns have other names."""
    direction: Direction = "DESC"
    then: str = "pk"
    """The column that orders equal rows."""

    @property
    def parameters(self) -> tuple[OpenApiParameter, ...]:
        return (
            *numbers(self.size),
            query("orderBy[field]", "The field to order by.", enum=list(self.fields)),
            query("orderBy[direction]", f"`{self.direction}` when absent.", enum=["ASC", "DESC"]),
        )

    def read(self, query: QueryDict) -> Page:
        """Return the requested page; raises `Invalid`."""
        name = query.get("orderBy[field]", self.fields[0])
        sign = "" if query.get("orderBy[direction]", self.direction) == "ASC" else "-"
        number = number_in(query, "page", 0)
        size = number_in(query, "perPage", self.size)
        if size > MAX_PER_PAGE:
            raise Invalid.field("perPage", f"must not be larger than {MAX_PER_PAGE}")
        column = self.columns.get(name) or to_snake(name)
        return Page(number=number, size=size, order=(f"{sign}{column}", self.then))


def number_in(query: QueryDict, name: str, default: Default) -> int | Default:
    """Return the whole number in a query parameter, of up to nine digits; raises `Invalid`."""
    text = query.get(name)
    if text is None:
        return default
    if not _NUMBER.fullmatch(text):
        raise Invalid.field(name, "must be a whole number from 0 on")
    return int(text)
