"""The JSON objects of schedules."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from capabilities.schedules.models import Action, State
from versioning.api.schemas import (
    NotEmpty,
    PageOf,
    ReferencedResource,
    RequestSchema,
    ResourceReference,
    ResponseSchema,
    Source,
    Time,
    TimeOrNull,
    Uuid,
    UuidOrNull,
)
from versioning.domain.config import UNCHANGED

STATES = tuple(State.values)
ScheduleState = TypeAliasType("ScheduleState", Literal[STATES])  # type: ignore[valid-type]
ACTIONS = tuple(Action.values)
ScheduleAction = TypeAliasType("ScheduleAction", Literal[ACTIONS])  # type: ignore[valid-type]

_RUN_AT = Annotated[
    str,
    Field(
        description="A whole minute in the future, at most five years away, in ISO 8601 with an offset.",
        json_schema_extra={"format": "date-time", "examples": ["2026-12-24T08:00:00Z"]},
    ),
]
_LOCAL_TIME = Annotated[
    str,
    Field(
        description="Instead of `runAt`: a local time in `timeZone`. One that does not exist is refused; one "
        "that exists twice is the first, and the answer says `ambiguous`.",
        json_schema_extra={"examples": ["2026-12-24T09:00"]},
    ),
]
_TIME_ZONE = Annotated[
    str, Field(description="An IANA time zone.", json_schema_extra={"examples": ["Europe/Berlin"]})
]


class Then(RequestSchema):
    """The version that is live again afterwards."""

    version_id: NotEmpty


class ScheduleCreate(RequestSchema):
    """The action on a resource or a release, and its time."""

    resource: ReferencedResource = UNCHANGED
    release_id: Annotated[NotEmpty, Field(description="Instead of `resource`.")] = UNCHANGED
    action: ScheduleAction = UNCHANGED
    version_id: Annotated[NotEmpty | None, Field(description="The version to publish.")] = UNCHANGED
    run_at: _RUN_AT = UNCHANGED
    local_time: _LOCAL_TIME = UNCHANGED
    time_zone: _TIME_ZONE = UNCHANGED
    until: Annotated[
        NotEmpty,
        Field(
            description="When the version of `then` is to be live again; in `timeZone`, if it has no offset. "
            "That is a schedule of its own, and the two are `pairedWith` each other."
        ),
    ] = UNCHANGED
    then: Then | None = UNCHANGED
    expects: Annotated[
        NotEmpty | None,
        Field(description="The version that has to be live by then; the one that is live now when absent."),
    ] = UNCHANGED
    force: Annotated[bool, Field(description="Whether it runs even if another version is live by then.")] = (
        UNCHANGED
    )


class ScheduleUpdate(RequestSchema):
    """A new time."""

    run_at: _RUN_AT = UNCHANGED
    local_time: _LOCAL_TIME = UNCHANGED
    time_zone: _TIME_ZONE = UNCHANGED


class ThenAnswer(ResponseSchema):
    """The version that is live again afterwards."""

    version_id: str


class ScheduleProblem(ResponseSchema):
    """A problem that would prevent a schedule if it ran now."""

    code: str
    message: str


class ScheduleAnswer(ResponseSchema):
    """A schedule, with its result once it ended."""

    id: Annotated[Uuid, Source(lambda schedule: str(schedule.pk))]
    workspace_id: str
    resource: Annotated[
        ResourceReference | None,
        Source(lambda schedule: None if schedule.release_id else schedule),
    ]
    release_id: Annotated[UuidOrNull, Source(lambda schedule: _text(schedule.release_id))]
    action: ScheduleAction
    version_id: Annotated[str | None, Source(lambda schedule: schedule.version_id or None)]
    version_number: int | None
    then: ThenAnswer | None
    run_at: Time
    local_time: Annotated[str | None, Source(lambda schedule: schedule.local_time or None)]
    time_zone: Annotated[str | None, Source(lambda schedule: schedule.time_zone or None)]
    ambiguous: Annotated[
        bool,
        Source("is_ambiguous"),
        Field(description="Whether the local time exists twice; it runs at the first."),
    ]
    paired_with: Annotated[
        UuidOrNull,
        Source(lambda schedule: _text(schedule.paired_with)),
        Field(description="The other schedule, where one begins and one ends something."),
    ]
    expects: Annotated[
        str | None,
        Source("expected_version_id"),
        Field(description="The version that has to be live by then; null for none, and for a release."),
    ]
    force: bool
    state: ScheduleState
    code: Annotated[
        str | None, Source(lambda schedule: schedule.code or None), Field(description="Why it failed.")
    ]
    error: Annotated[
        str | None,
        Source(lambda schedule: schedule.problem or None),
        Field(description="Why it failed, in a sentence."),
    ]
    problems: Annotated[
        list[ScheduleProblem],
        Field(
            description="What would keep it from happening if it ran now, as the person who made it; empty "
            "if nothing would, and when it is over."
        ),
    ]
    created_by: Annotated[str | None, Source(lambda schedule: schedule.author_name or None)]
    created_by_key: Annotated[
        str | None,
        Source(lambda schedule: schedule.key_prefix or None),
        Field(
            description="The prefix of the API key that it was made with: it runs within the limits of that "
            "key, and fails once the key is revoked or has expired."
        ),
    ]
    created_at: Time
    executed_at: TimeOrNull


class SchedulePage(PageOf):
    """Schedules, by default the latest time first."""

    schedules: Annotated[list[ScheduleAnswer], Source("items")]


def _text(found: object) -> str | None:
    return None if found is None else str(found)
