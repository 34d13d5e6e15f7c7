"""The events of the log."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Annotated, Any, Literal

from pydantic import Field

from versioning.api.schemas.base import ResponseSchema, Source, Time
from versioning.domain.config import JsonObject
from versioning.domain.kinds import KINDS


def _or_null(attribute: str) -> Callable[[Any], Any]:
    """Return a function that reads a text of a row, with null for an empty one."""
    get = attrgetter(attribute)
    return lambda event: get(event) or None


class ResourceReference(ResponseSchema):
    """A reference to a resource."""

    kind: Annotated[
        str,
        Source("resource_kind"),
        Field(json_schema_extra={"enum": [kind.slug for kind in KINDS]}),
    ]
    id: Annotated[str, Source("resource_id")]


class Actor(ResponseSchema):
    """Who made a change, and how; without a name if it was the application itself."""

    id: Annotated[str | None, Source(_or_null("actor"))]
    via: Literal["studio", "api", "python", "schedule", "command", "file"]
    key_prefix: Annotated[str | None, Source(_or_null("key_prefix"))]


class EventAnswer(ResponseSchema):
    """A change. Members that do not apply are null."""

    position: int
    id: Annotated[str, Source(lambda event: str(event.uuid)), Field(json_schema_extra={"format": "uuid"})]
    type: str
    created_at: Time
    workspace_id: Annotated[str | None, Source(_or_null("workspace_id"))]
    resource: Annotated[ResourceReference | None, Source(lambda event: event if event.resource_id else None)]
    version_id: Annotated[str | None, Source(_or_null("version_id"))]
    version_number: int | None
    previous_version_id: Annotated[str | None, Source(_or_null("previous_version_id"))]
    label: Annotated[str | None, Source(_or_null("label"))]
    actor: Annotated[Actor, Source(lambda event: event)]
    detail: JsonObject


class EventPage(ResponseSchema):
    """Events, and the start of the next page."""

    events: list[EventAnswer]
    next: int
    has_more: bool
    epoch: str
