"""The actions that a running rollout prevents, and its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final
from uuid import UUID

from capabilities.rollouts.models import Rollout, RolloutState
from versioning.conf import get_editor
from versioning.domain.errors import Conflict, Message, NotFound
from versioning.domain.events import Target
from versioning.domain.uuids import parse_uuid
from versioning.editor import gate
from versioning.editor.gate import PublishRequest, TakeDownRequest
from versioning.editor.pins import KeptVersions
from versioning.models import VersionedResource
from versioning.models.followers import Follower
from versioning.serving.grants import target_of

END_ROLLOUT: Final = "end_rollout"


class RolloutRunning(Conflict):
    """A rollout of the resource is running, so that the active version must not change."""

    code = "rollout_running"

    def __init__(self, *, publishing: bool = False) -> None:
        super().__init__(
            Message("A rollout is running. Stop it before publishing.")
            if publishing
            else Message("A rollout is running. Stop it first.")
        )


def target(resource: VersionedResource) -> Target:
    """Return the columns by which a rollout refers to a resource."""
    return target_of(resource, get_editor().code)


def find_running(resource: VersionedResource) -> Rollout | None:
    return Rollout.objects.running().about(target(resource)).first()


def refuse_running(resource: VersionedResource) -> None:
    """Raise `RolloutRunning` if a rollout of the resource is running."""
    if find_running(resource) is not None:
        raise RolloutRunning


def _decide(requests: Sequence[PublishRequest | TakeDownRequest]) -> list[gate.Decision]:
    """Refuse to move the active version of resources with a running rollout, unless the request ends it."""
    # Labels are not affected: their versions are requested by name, and no arm replaces them. Nor is an arm.
    targets = {
        number: target(request.resource)
        for number, request in enumerate(requests)
        if isinstance(request, TakeDownRequest) or (request.label is None and not request.keeps_active)
    }
    running = Rollout.objects.running_by_resource(targets.values()) if targets else {}
    decisions = [gate.Decision()] * len(requests)
    for number, resource in targets.items():
        request, rollout = requests[number], running.get((resource.kind, resource.id, resource.identity))
        if rollout is None:
            continue
        if request.options.get(END_ROLLOUT):
            end = partial(rollout.end, RolloutState.STOPPED, request.caller, resource)
            decisions[number] = gate.Decision(then=end)
        else:
            publishing = isinstance(request, PublishRequest)
            decisions[number] = gate.Decision(RolloutRunning(publishing=publishing))
    return decisions


WHILE_ONE_RUNS: Final = gate.Check(
    decide=_decide,
    decide_take_down=_decide,
    needed_by=Rollout.objects.running,
    options={
        END_ROLLOUT: gate.Option(
            member="endRollout",
            schema=bool,
            from_body=lambda member: member,
            help="stop the rollout that is running",
            is_for_take_down=True,
        )
    },
)


def _versions_of_arms(resource: VersionedResource) -> Iterable[UUID]:
    running = find_running(resource)
    for arm in running.placed_arms if running else ():
        with suppress(NotFound):
            yield parse_uuid(arm.version_id)


VERSIONS_OF_ARMS: Final = KeptVersions(pinned=_versions_of_arms, refusal=RolloutRunning)
FOLLOWER: Final = Follower(
    call=lambda _by, resource, *_about: Rollout.objects.about(resource).delete(), events=["deleted"]
)
