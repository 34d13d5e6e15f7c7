"""The verbs of rollouts (start, find, change the weights, stop, complete) and the filter of lists."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, Final
from uuid import uuid4

from django.utils.translation import gettext_lazy
from editor_client.shared.arms import Arm, place_arms, refuse_path, reweight_arms

from capabilities.rollouts.ending import refuse_running, target
from capabilities.rollouts.models import Rollout, RolloutQuerySet, RolloutState, RolloutStep
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Conflict, Invalid, Issue, Message, NotFound
from versioning.domain.kinds import KINDS_BY_SLUG, ResourceKind, kind_named
from versioning.domain.snapshots import Snapshot
from versioning.domain.uuids import parse_uuid
from versioning.editor import gate
from versioning.editor.catalog.criteria import Viewer, among
from versioning.editor.catalog.filters import Filter
from versioning.editor.gate import NO_OPTIONS, Options, PublishRequest
from versioning.editor.locking import Change, changing, retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import VersionedResource, events
from versioning.models.querysets import within
from versioning.models.rules import validate
from versioning.serving.resolution import find_version
from versioning.verbs import Verbs


class RolloutEnded(Conflict):
    """A rollout has ended and can no longer be changed."""

    code = "rollout_ended"

    def __init__(self, rollout: Rollout) -> None:
        super().__init__(
            Message("This rollout is {state} and can no longer be changed.", state=rollout.state)
        )


@retry_on_conflict
def start(
    rollouts: Verbs,
    kind: str,
    resource_id: str,
    *,
    bucket_by: str,
    arms: Sequence[Arm],
    by: Who = APPLICATION,
    **options: Any,
) -> Rollout:
    """Serve the versions of the arms to a share of the requests; requires the right to publish.

    Every version passes the gate, which accepts `options`. Raises `RolloutRunning` if one is running,
    `Invalid` for invalid arms, and if no version is active or the override is a file. Also raises the errors
    of the gate.
    """
    by, gate_options = caller_of(by), gate.only_options(options)
    refuse_path("bucketBy", bucket_by)
    placed_arms = place_arms(arms)
    collection = rollouts.editor.collection(kind_named(kind))
    with changing(collection, resource_id, Right.PUBLISH, by) as locked:
        resource = locked.resource
        refuse_running(resource)
        if resource.pointers is not None:
            raise Invalid.field("resource", "is an override that is stored as a file", code="code_source")
        if resource.active_id is None:
            raise Invalid.field("resource", "has no active version for all other requests")
        versions = _find_versions(resource, placed_arms)
        _pass_gate(rollouts, resource, versions, by, gate_options)
        about = target(resource)
        rollout = Rollout(
            workspace_id=about.workspace_id,
            kind=about.kind,
            resource_id=about.id,
            identity=about.identity,
            seed=str(uuid4()),
            bucket_by=bucket_by,
            arms=[
                asdict(replace(arm, version_id=version.version_id))
                for arm, version in zip(placed_arms, versions, strict=True)
            ],
            author_id=by.user_id,
            author_name=by.username or "",
            live_version_id=str(resource.active_id),
        )
        rollout.usage_before = rollout.usage_of_day(rollout.started_at.date())
        rollout.save(force_insert=True)
        rollout.record("started", by, about)
    return rollout


def find(rollouts: Verbs, rollout_id: str, *, by: Who = APPLICATION) -> Rollout:
    """Return a rollout to callers who can read its resource; raises `NotFound`."""
    rollout = Rollout.objects.filter(pk=parse_uuid(rollout_id)).first()
    if rollout is None:
        raise NotFound
    resource = rollouts.editor.collection(KINDS_BY_SLUG[rollout.kind]).find(rollout.resource_id, by=by)
    if target(resource).identity != rollout.identity:
        raise NotFound
    return rollout


def list_readable(
    rollouts: Verbs,
    *,
    kind: str | None = None,
    resource_id: str | None = None,
    state: str | None = None,
    workspace_id: str | None = None,
    by: Who = APPLICATION,
) -> RolloutQuerySet:
    """Return the rollouts of the resources that the caller may read; all arguments filter the list."""
    by = caller_of(by)
    filters = {"kind": kind, "resource_id": resource_id, "state": state, "workspace": workspace_id}
    matching = Rollout.objects.filter(**{name: value for name, value in filters.items() if value is not None})
    readable = matching.none()
    for slug, resource_kind in KINDS_BY_SLUG.items():
        rows = (
            rollouts.editor.collection(resource_kind)
            .model.objects.readable_by(by, rollouts.editor.code)
            .values("pk")
        )
        readable |= matching.filter(kind=slug, resource_id__in=rows)
    return readable


@retry_on_conflict
def change(
    rollouts: Verbs,
    rollout_id: str,
    weights: Sequence[tuple[str, int]],
    *,
    by: Who = APPLICATION,
    **options: Any,
) -> Rollout:
    """Change the weights of arms by name.

    The version of an arm that gets more passes the gate again, which accepts `options`. Raises
    `RolloutEnded`, `Invalid` for invalid weights, and the errors of the gate.
    """
    by, gate_options = caller_of(by), gate.only_options(options)
    with changing_rollout(rollouts, rollout_id, by) as (rollout, locked):
        reweigh(rollouts, rollout, locked.resource, weights, by=by, options=gate_options)
    return rollout


def reweigh(
    rollouts: Verbs,
    rollout: Rollout,
    resource: VersionedResource,
    weights: Sequence[tuple[str, int]],
    *,
    by: Caller,
    options: Options,
) -> None:
    """Change the weights of a locked rollout, as `change` does.

    The steps of an arm that gets less are cancelled, because they would undo the change.
    """
    before, after = rollout.placed_arms, reweight_arms(rollout.placed_arms, weights)
    pairs = list(zip(before, after, strict=True))
    widened = [new for old, new in pairs if new.weight > old.weight]
    shrunk_arms = [new.name for old, new in pairs if new.weight < old.weight]
    versions = [find_version(resource, arm.version_id) for arm in widened]
    _pass_gate(rollouts, resource, versions, by, options)
    if after != before:
        rollout.arms = [asdict(arm) for arm in after]
        rollout.save(update_fields=["arms"])
        rollout.record("changed", by, target(resource))
    if shrunk_arms:
        RolloutStep.objects.of(rollout, shrunk_arms).cancel()


@retry_on_conflict
def stop(rollouts: Verbs, rollout_id: str, *, reason: str = "", by: Who = APPLICATION) -> Rollout:
    """Serve the active version to everyone again; raises `RolloutEnded`."""
    by, reason = caller_of(by), reason.strip()
    validate(Rollout(reason=reason), ["reason"])
    with changing_rollout(rollouts, rollout_id, by) as (rollout, locked):
        rollout.end(RolloutState.STOPPED, by, target(locked.resource), reason=reason)
    return rollout


@retry_on_conflict
def complete(rollouts: Verbs, rollout_id: str, arm: str, *, by: Who = APPLICATION, **options: Any) -> Rollout:
    """Make the version of an arm the active one, in the transaction that ends the rollout.

    Raises `RolloutEnded`, `Invalid` for an unknown arm, and the errors of the gate.
    """
    by, gate_options = caller_of(by), gate.only_options(options)
    with changing_rollout(rollouts, rollout_id, by, options=gate_options) as (rollout, locked):
        winner = next((placed_arm for placed_arm in rollout.placed_arms if placed_arm.name == arm), None)
        if winner is None:
            raise Invalid.field("arm", "is not an arm of this rollout")
        rollout.end(RolloutState.COMPLETED, by, target(locked.resource), arm=arm)
        version = find_version(locked.resource, winner.version_id)
        locked.activate(version, rolloutId=str(rollout.pk))
    return rollout


def _find_versions(resource: VersionedResource, arms: Sequence[Arm]) -> list[Snapshot]:
    versions, issues = list[Snapshot](), list[Issue]()
    for number, arm in enumerate(arms):
        try:
            versions.append(find_version(resource, arm.version_id))
        except NotFound:
            issues.append(Issue(f"arms.{number}.versionId", "is not a version of this resource"))
    if issues:
        raise Invalid(issues)
    return versions


def _pass_gate(
    rollouts: Verbs,
    resource: VersionedResource,
    versions: Sequence[Snapshot],
    by: Caller,
    options: Options,
) -> None:
    """Raise the errors of the gate for versions that a share of the requests will get."""
    for version in {version.version_id: version for version in versions}.values():
        request = PublishRequest(
            resource=resource, version=version, caller=by, options=options, keeps_active=True
        )
        gate.check(request, rollouts.editor.code)


@contextmanager
def changing_rollout(
    rollouts: Verbs, rollout_id: str, by: Caller, *, options: Options = NO_OPTIONS
) -> Iterator[tuple[Rollout, Change[Any]]]:
    """Lock the resource of a running rollout, and then the rollout, for this transaction.

    Requires the right to publish. Raises `NotFound`, and `RolloutEnded`.
    """
    rollout = find(rollouts, rollout_id, by=by)
    collection = rollouts.editor.collection(KINDS_BY_SLUG[rollout.kind])
    with (
        events.transaction(),
        changing(collection, rollout.resource_id, Right.PUBLISH, by, options=options) as locked,
    ):
        current = Rollout.objects.with_lock().filter(pk=rollout.pk).first()
        if current is None or target(locked.resource).identity != current.identity:
            raise NotFound
        if current.state != RolloutState.RUNNING:
            raise RolloutEnded(current)
        yield current, locked


class Rollouts(Verbs):
    """Other versions for a share of the requests.

        arms = [Arm(name="short", version_id=version_id, weight=500)]  # five percent
        editor.rollouts.start("agent", "writer", bucket_by="userId", arms=arms, by=user)

    `by` is the caller, with their rights; the default is the application.
    """

    start = start
    find = find
    list = list_readable
    change = change
    stop = stop
    complete = complete


def _in_a_rollout(kind: ResourceKind, _value: str, viewer: Viewer) -> Collection[str]:
    running = Rollout.objects.running().filter(kind=kind.slug).order_by()
    readable = running.filter(within("workspace", viewer.caller.scope(Right.READ_DRAFTS)))
    return list(readable.values_list("resource_id", flat=True))


FILTER: Final = Filter(
    criterion=among(_in_a_rollout),
    field="share",
    choices=[("running", gettext_lazy("In a rollout"))],
    is_quick=True,
)
