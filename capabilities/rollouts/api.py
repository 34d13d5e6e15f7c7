"""Rollouts over HTTP."""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple

from editor_client.shared.arms import BUCKETS, MAX_ARMS, Arm
from pydantic import Field, StrictInt
from rest_framework.request import Request
from rest_framework.response import Response
from typing_extensions import TypeAliasType

from capabilities.rollouts.models import MAX_REASON, Rollout
from capabilities.rollouts.models import RolloutState as State
from capabilities.rollouts.verbs import Rollouts
from versioning.api import addresses, parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import Paging
from versioning.api.resources import PublishOptions, read_options
from versioning.api.schemas import (
    Json,
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
)
from versioning.domain.access import Action
from versioning.domain.config import UNCHANGED

STATES = tuple(State.values)
RolloutState = TypeAliasType("RolloutState", Literal[STATES])  # type: ignore[valid-type]
_WEIGHT = Annotated[
    StrictInt,
    Field(
        json_schema_extra={"minimum": 0, "maximum": BUCKETS},
        description="The number of keys out of ten thousand that get the version.",
    ),
]


class NewArm(RequestSchema):
    """A version, and the share of the requests that get it."""

    name: NotEmpty
    version_id: NotEmpty
    weight: _WEIGHT


class RolloutCreate(PublishOptions):
    """The versions and their shares of the requests."""

    resource: ReferencedResource
    bucket_by: Annotated[
        NotEmpty,
        Field(description=("The path in the request context to the key that keeps requests together.")),
    ]
    arms: Annotated[list[NewArm], Field(json_schema_extra={"minItems": 1, "maxItems": MAX_ARMS})]

    @staticmethod
    def arms_of(body: Json) -> list[Arm]:
        """Return the arms of a valid body."""
        return [
            Arm(name=arm["name"], version_id=arm["versionId"], weight=arm["weight"]) for arm in body["arms"]
        ]


class Weight(RequestSchema):
    """A new share for an arm."""

    name: NotEmpty
    weight: _WEIGHT


class RolloutUpdate(PublishOptions):
    """New shares; unnamed arms keep theirs."""

    arms: Annotated[list[Weight], Field(max_length=MAX_ARMS)]


class RolloutStop(RequestSchema):
    """The reason for stopping it."""

    reason: Annotated[str, Field(description=f"Trimmed, up to {MAX_REASON} characters.")] = UNCHANGED


class RolloutComplete(PublishOptions):
    """The arm whose version becomes the active one."""

    arm: NotEmpty


class _Reference(NamedTuple):
    """The resource of a rollout, in the form of events."""

    resource_kind: str
    resource_id: str


class ArmAnswer(ResponseSchema):
    """A version, and the share of the requests that get it."""

    name: str
    version_id: str
    weight: int


class RolloutAnswer(ResponseSchema):
    """The versions, their shares of the requests, and the result."""

    id: Annotated[Uuid, Source(lambda rollout: str(rollout.pk))]
    workspace_id: str
    resource: Annotated[
        ResourceReference, Source(lambda rollout: _Reference(rollout.kind, rollout.resource_id))
    ]
    seed: str
    bucket_by: str
    arms: Annotated[list[ArmAnswer], Source("placed_arms")]
    state: RolloutState
    started_by: Annotated[str | None, Source(lambda rollout: rollout.author_name or None)]
    started_at: Time
    ended_at: TimeOrNull
    reason: Annotated[str | None, Source(lambda rollout: rollout.reason or None)]


class RolloutPage(PageOf):
    """Rollouts, newest first."""

    rollouts: Annotated[list[RolloutAnswer], Source("items")]


PAGING: Final = Paging(100, fields=("startedAt",))


class RolloutViewSet(EditorViewSet):
    """Other versions for a share of the requests."""

    job = "Release"
    subject = "rollout"
    actions = dict.fromkeys(("create", "update", "stop", "complete"), Action.PUBLISH)
    created = frozenset({"create"})
    errors = {
        "create": (404, 409),
        "update": (409,),
        "stop": (409,),
        "complete": (409,),
    }
    query = {
        "list": (
            *PAGING.parameters,
            parameters.KIND,
            parameters.RESOURCE_ID,
            parameters.query("state", "Only in this state.", enum=STATES),
            parameters.WORKSPACE,
        ),
    }
    requests = {
        "create": RolloutCreate,
        "update": RolloutUpdate,
        "stop": RolloutStop,
        "complete": RolloutComplete,
    }
    paths = {"id": (parameters.UUID, "The id of the rollout.")}
    responses = {
        "list": RolloutPage,
        "create": RolloutAnswer,
        "retrieve": RolloutAnswer,
        "update": RolloutAnswer,
        "stop": RolloutAnswer,
        "complete": RolloutAnswer,
    }

    @property
    def rollouts(self) -> Rollouts:
        """The verbs."""
        return Rollouts.current()

    def list(self, request: Request) -> Response:
        """List the rollouts of resources that the caller may read, newest first."""
        filters = request.query_params
        rollouts = self.rollouts.list(
            kind=filters.get("kind"),
            resource_id=filters.get("id"),
            state=filters.get("state"),
            workspace_id=filters.get("workspaceId"),
            by=self.caller,
        )
        page = PAGING.read(filters)
        return self.page_of(page, rollouts)

    def create(self, request: Request) -> Response:
        """Serve other versions to a share of the requests."""
        body = RolloutCreate.read(request)
        rollout = self.rollouts.start(
            body["resource"]["kind"],
            body["resource"]["id"],
            bucket_by=body["bucketBy"],
            arms=RolloutCreate.arms_of(body),
            by=self.caller,
            **read_options(body),
        )
        address = addresses.location(f"rollouts/{rollout.pk}")
        return with_etag(request, self.dump(rollout), status=201, headers={"Location": address})

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a rollout."""
        return self._answer(request, self.rollouts.find(id, by=self.caller))

    def update(self, request: Request, id: str) -> Response:
        """Change the shares of a rollout."""
        body = RolloutUpdate.read(request)
        weights = [(arm["name"], arm["weight"]) for arm in body["arms"]]
        rollout = self.rollouts.change(id, weights, by=self.caller, **read_options(body))
        return self._answer(request, rollout)

    def stop(self, request: Request, id: str) -> Response:
        """Serve the active version to everyone again."""
        reason = RolloutStop.read(request).get("reason", "")
        return self._answer(request, self.rollouts.stop(id, reason=reason, by=self.caller))

    def complete(self, request: Request, id: str) -> Response:
        """Make the version of an arm the active one."""
        body = RolloutComplete.read(request)
        completed = self.rollouts.complete(id, body["arm"], by=self.caller, **read_options(body))
        return self._answer(request, completed)

    def _answer(self, request: Request, rollout: Rollout) -> Response:
        return with_etag(request, self.dump(rollout))
