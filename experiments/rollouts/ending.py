"""What a running rollout prevents, and what ends it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from experiments.rollouts.models import Rollout, State
from versioning.conf import get_editor
from versioning.domain.errors import Conflict, Message, NotFound, VersioningError
from versioning.domain.events import Target
from versioning.domain.uuids import uuid_of
from versioning.editor import gate
from versioning.editor.pins import KeptVersions
from versioning.editor.publish_requests import PublishRequest, TakeDownRequest
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


def running_of(resource: VersionedResource) -> Rollout | None:
    """Return the running rollout of a resource, if any."""
    return Rollout.objects.running().about(target(resource)).first()


def refuse_running(resource: VersionedResource) -> None:
    """Raise `RolloutRunning` if a rollout of the resource is running."""
    if running_of(resource) is not None:
        raise RolloutRunning


def _check_publication(request: PublishRequest) -> gate.Then | None:
    # Labels are not affected: their versions are requested by name, and no arm replaces them. Nor is an arm.
    return None if request.label is not None or request.keeps_active else _check_end(request)


def _check_end(request: PublishRequest | TakeDownRequest) -> gate.Then | None:
    running = running_of(request.resource)
    if running is None:
        return None
    if not request.options.get(END_ROLLOUT):
        raise RolloutRunning(publishing=isinstance(request, PublishRequest))
    return partial(running.end, State.STOPPED, request.caller, target(request.resource))


def _refusals(requests: Sequence[PublishRequest]) -> list[VersioningError | None]:
    """Return what `_check_publication` would raise for many requests, in one statement."""
    moves = [
        one
        for one in requests
        if one.label is None and not one.keeps_active and not one.options.get(END_ROLLOUT)
    ]
    targets = {id(one): target(one.resource) for one in moves}
    wanted = Q(pk=None)
    for about in targets.values():
        wanted |= Q(kind=about.kind, resource_id=about.id, identity=about.identity)
    rows = Rollout.objects.running().filter(wanted).values_list("kind", "identity", "resource_id")
    running = set(rows) if moves else set()
    found: list[VersioningError | None] = []
    for one in requests:
        moved = targets.get(id(one))
        is_running = moved is not None and (moved.kind, moved.identity, moved.id) in running
        found.append(RolloutRunning(publishing=True) if is_running else None)
    return found


def _as_given(member: Any) -> object:
    return member


WHILE_ONE_RUNS: Final = gate.Check(
    check=_check_publication,
    take_down=_check_end,
    needed_by=Rollout.objects.running,
    refusals=_refusals,
    options={
        END_ROLLOUT: gate.Option(
            member="endRollout",
            schema=bool,
            from_body=_as_given,
            help="stop the rollout that is running",
            is_for_take_down=True,
        )
    },
)


def _versions_of_arms(resource: VersionedResource) -> Iterable[UUID]:
    running = running_of(resource)
    for arm in running.placed_arms if running else ():
        with suppress(NotFound):
            yield uuid_of(arm.version_id)


VERSIONS_OF_ARMS: Final = KeptVersions(pinned=_versions_of_arms, refusal=RolloutRunning)
FOLLOWER: Final = Follower(
    call=lambda _by, resource, *_about: Rollout.objects.about(resource).delete(), events=["deleted"]
)
