"""Query parameters, as they are declared and documented; `versioning.api.base` checks them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter
from editor_client.shared.request_contexts import PARAMETER, read_context

from versioning.domain.kinds import KINDS
from versioning.domain.selectors import Selector, Status
from versioning.editor import gate
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
UNUSED_CONTEXT = query("requestContext", "Taken everywhere; nothing depends on it here.")
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
        "What is published (the default), or the latest draft.",
        enum=[status.value for status in Status],
    ),
    query("versionId", "Exactly this version."),
    query("label", "The version that carries this label."),
    *(query(one.name, one.description) for one in overlays.registered()),
)
SELECTOR_NAMES = tuple(parameter.name for parameter in SELECTOR)
PARTIAL = query("partial", "`true` leaves `instructions` and `blocks` out.", enum=["true", "false"])
FORM = OpenApiParameter("form", {"type": "string"}, enum=["parts"], exclude=True)
"""The former address of the parts of an agent: no other shape is documented for the same operation."""
IF_UNUSED = query("ifUnused", "`true` refuses while a published agent refers to it.", enum=["true", "false"])
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


def paging(
    default_size: int, fields: Iterable[str], *, direction: Direction = "DESC"
) -> tuple[OpenApiParameter, ...]:
    """Declare the parameters of a list with these order fields and this default direction."""
    return (
        *numbers(default_size),
        query("orderBy[field]", "What to order by.", enum=list(fields)),
        query("orderBy[direction]", f"`{direction}` when absent.", enum=["ASC", "DESC"]),
    )


def numbers(default_size: int) -> tuple[OpenApiParameter, ...]:
    """Declare the parameters that name a page of a list."""
    return (
        query("page", "From 0.", type={"type": "integer", "minimum": 0, "maximum": MAX_PAGE}),
        query(
            "perPage",
            f"Up to {MAX_PER_PAGE}, {default_size} when absent; 0 gives no items.",
            type={"type": "integer", "minimum": 0, "maximum": MAX_PER_PAGE},
        ),
    )


def selector(given: QueryDict) -> Selector:
    """Return the selector of a request; the published version by default."""
    return Selector.parse({name: str(value) for name, value in given.items()})


def context(given: QueryDict) -> dict[str, Any]:
    """Return the request context, an object; raises `Invalid` unless it is JSON in base64."""
    text = given.get(PARAMETER)
    return {} if text is None else read_context(text)


def take_down_options() -> list[OpenApiParameter]:
    """Return the query parameters of a deletion for the checks of the gate."""
    return [
        query(option.member, f"The reason: {option.help}.")
        if option.reason_against
        else query(option.member, f"`true`: {option.help}.", enum=["true", "false"])
        for option in gate.options(for_take_down=True).values()
    ]


def given_options(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the options among the query parameters of a deletion, by their Python names."""
    return {
        name: option.from_body(
            {"reason": given[option.member]} if option.reason_against else given[option.member] == "true"
        )
        for name, option in gate.options(for_take_down=True).items()
        if option.member in given
    }
