"""The JSON objects of rollouts."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from editor_client.shared.arms import BUCKETS, MAX_ARMS, Arm
from pydantic import Field, StrictInt
from typing_extensions import TypeAliasType

from capabilities.rollouts.models import MAX_REASON, Rollout, State
from versioning.api.schemas.base import Json, RequestSchema, ResponseSchema, Source, Time, TimeOrNull, Uuid
from versioning.api.schemas.common import NotEmpty, PageOf, ReferencedResource
from versioning.api.schemas.events import ResourceReference
from versioning.api.schemas.records import PublishOptions
from versioning.domain.config import UNCHANGED

STATES = tuple(State.values)
RolloutState = TypeAliasType("RolloutState", Literal[STATES])  # type: ignore[valid-type]

_WEIGHT = Annotated[
    StrictInt,
    Field(
        json_schema_extra={"minimum": 0, "maximum": BUCKETS},
        description="How many of ten thousand keys get the version.",
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
        NotEmpty, Field(description="The path in the request context to what makes requests belong together.")
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


def _reference(rollout: Rollout) -> _Reference:
    return _Reference(rollout.kind, rollout.resource_id)


class ArmAnswer(ResponseSchema):
    """A version, and the share of the requests that get it."""

    name: str
    version_id: str
    weight: int


class RolloutAnswer(ResponseSchema):
    """The versions, their shares of the requests, and the result."""

    id: Annotated[Uuid, Source(lambda rollout: str(rollout.pk))]
    workspace_id: str
    resource: Annotated[ResourceReference, Source(_reference)]
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
