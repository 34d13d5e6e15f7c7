"""Schedules over HTTP."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from django.urls import URLPattern, re_path
from pydantic import Field
from pydantic.alias_generators import to_camel
from rest_framework.request import Request
from rest_framework.response import Response
from typing_extensions import TypeAliasType

from capabilities.schedules.models import Action, Schedule
from capabilities.schedules.models import ScheduleState as State
from capabilities.schedules.verbs import Schedules, Times
from versioning.api import addresses, parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import Paging
from versioning.api.schemas import (
    NotEmpty,
    Nothing,
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
from versioning.domain.access import Action as KeyAction
from versioning.domain.config import UNCHANGED
from versioning.domain.errors import Invalid, Issue

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
        description=(
            "Instead of `runAt`: a local time in `timeZone`. A time that does not exist is refused; for "
            "one that exists twice the first is used, and `ambiguous` is true in the answer."
        ),
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
            description=(
                "The time at which the version of `then` is live again; in `timeZone`, if it has no "
                "offset. It becomes a separate schedule, and the two are `pairedWith` each other."
            )
        ),
    ] = UNCHANGED
    then: Then | None = UNCHANGED
    expects: Annotated[
        NotEmpty | None,
        Field(description="The version that has to be live by then; the currently live one when absent."),
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
    release_id: Annotated[
        UuidOrNull, Source(lambda schedule: None if schedule.release_id is None else str(schedule.release_id))
    ]
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
        Source(lambda schedule: None if schedule.paired_with is None else str(schedule.paired_with)),
        Field(description="The other schedule of a pair, in which one begins and one ends a publication."),
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
            description=(
                "The problems that would prevent it if it ran now, as its author; empty without problems "
                "and after its end."
            )
        ),
    ]
    created_by: Annotated[str | None, Source(lambda schedule: schedule.author_name or None)]
    created_by_key: Annotated[
        str | None,
        Source(lambda schedule: schedule.key_prefix or None),
        Field(
            description=(
                "The prefix of the API key that created it: it runs within the limits of that key, and "
                "fails once the key is revoked or has expired."
            )
        ),
    ]
    created_at: Time
    executed_at: TimeOrNull


class SchedulePage(PageOf):
    """Schedules, by default the latest time first."""

    schedules: Annotated[list[ScheduleAnswer], Source("items")]


PAGING: Final = Paging(100, fields=("runAt", "createdAt"))


class ScheduleViewSet(EditorViewSet):
    """Scheduled versions and releases."""

    job = "Release"
    subject = "schedule"
    actions = dict.fromkeys(("create", "update", "destroy"), KeyAction.PUBLISH)
    created = frozenset({"create"})
    errors = {"create": (404, 409), "update": (409,), "destroy": (409,)}
    query = {
        "list": (
            *PAGING.parameters,
            parameters.KIND,
            parameters.RESOURCE_ID,
            parameters.query("releaseId", "Only of this release."),
            parameters.query("state", "Only in this state.", enum=STATES),
            parameters.WORKSPACE,
        ),
    }
    requests = {"create": ScheduleCreate, "update": ScheduleUpdate, "destroy": Nothing}
    paths = {"id": (parameters.UUID, "The id of the schedule.")}
    responses = {
        "list": SchedulePage,
        "create": ScheduleAnswer,
        "retrieve": ScheduleAnswer,
        "update": ScheduleAnswer,
        "destroy": ScheduleAnswer,
    }

    @property
    def schedules(self) -> Schedules:
        """The verbs."""
        return Schedules.current()

    def list(self, request: Request) -> Response:
        """List the schedules that the caller may read."""
        filters = request.query_params
        schedules = self.schedules.list(
            kind=filters.get("kind"),
            resource_id=filters.get("id"),
            release_id=filters.get("releaseId"),
            state=filters.get("state"),
            workspace_id=filters.get("workspaceId"),
            by=self.caller,
        )
        page = PAGING.read(filters)
        return self.page_of(page, schedules.select_related("followed_by"), self.schedules.judge)

    def create(self, request: Request) -> Response:
        """Schedule a version of a resource, or a release."""
        payload = ScheduleCreate.read_arguments(request)
        if ("resource" in payload) == ("release_id" in payload):
            raise Invalid.field("resource", "is required, unless releaseId is given")
        names = {"run_at", "local_time", "time_zone"} & payload.keys()
        times = Times(**{name: payload.pop(name) for name in names})
        if "release_id" in payload:
            # The release determines everything else.
            refused = [
                name for name in ("version_id", "until", "then", "expects") if payload.get(name) is not None
            ]
            if payload.get("action", Action.PUBLISH) != Action.PUBLISH:
                refused.append("action")
            if refused:
                raise Invalid([Issue(to_camel(name), "is not for a release") for name in refused])
            schedule = self.schedules.create_for_release(
                payload["release_id"], times, force=payload.get("force", False), by=self.caller
            )
        else:
            resource, then = payload.pop("resource"), payload.pop("then", None)
            if then is not None:
                payload["then"] = then["versionId"]
            schedule = self.schedules.create(
                resource["kind"], resource["id"], times, **payload, by=self.caller
            )
        address = addresses.location(f"schedules/{schedule.pk}")
        return with_etag(request, self.dump(schedule), status=201, headers={"Location": address})

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a schedule."""
        return self._answer(request, self.schedules.find(id, by=self.caller))

    def update(self, request: Request, id: str) -> Response:
        """Change the time of a schedule."""
        times = Times(**ScheduleUpdate.read_arguments(request))
        return self._answer(request, self.schedules.change(id, times, by=self.caller))

    def destroy(self, request: Request, id: str) -> Response:
        """Cancel a schedule, and with a beginning its end; the record stays."""
        Nothing.read(request)
        return self._answer(request, self.schedules.cancel(id, by=self.caller))

    def _answer(self, request: Request, schedule: Schedule) -> Response:
        [judged] = self.schedules.judge([schedule])
        return with_etag(request, self.dump(judged))


urlpatterns: list[URLPattern] = [
    re_path(r"^schedules\Z", ScheduleViewSet.as_view({"get": "list", "post": "create"})),
    re_path(
        r"^schedules/(?P<id>[^/]+)\Z",
        ScheduleViewSet.as_view({"get": "retrieve", "patch": "update", "delete": "destroy"}),
    ),
]
