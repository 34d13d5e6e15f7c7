"""Find schedules, as far as the caller may read the drafts that they are about."""

from __future__ import annotations

from schedules.models import Schedule, ScheduleQuerySet
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import NotFound
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.uuids import uuid_of
from versioning.editor.parts import EditorPart
from versioning.editor.resources import Who, caller_of
from versioning.models.querysets import within


def find(schedules: EditorPart, schedule_id: str, *, by: Who = APPLICATION) -> Schedule:
    """Return a schedule.

    Raises `NotFound` if there is none or the caller may not read what it is about, and `Forbidden` if the
    caller may read that but not its drafts.
    """
    by = caller_of(by)
    found = Schedule.objects.filter(pk=uuid_of(schedule_id)).first()
    if found is None:
        raise NotFound
    refuse_unreadable(schedules, found, by)
    return found


def list_readable(
    schedules: EditorPart,
    *,
    kind: str | None = None,
    resource_id: str | None = None,
    release_id: str | None = None,
    state: str | None = None,
    workspace_id: str | None = None,
    by: Who = APPLICATION,
) -> ScheduleQuerySet:
    """Return the schedules that the caller may read; all arguments narrow the list.

    Raises `NotFound` for a `release_id` that can be none.
    """
    found = Schedule.objects.filter(within("workspace", caller_of(by).scope(Right.READ_DRAFTS)))
    narrowed = {
        "kind": kind,
        "resource_id": resource_id,
        "release_id": release_id,
        "state": state,
        "workspace": workspace_id,
    }
    if release_id is not None:
        uuid_of(release_id)
    return found.filter(**{name: value for name, value in narrowed.items() if value is not None})


def refuse_unreadable(schedules: EditorPart, schedule: Schedule, by: Caller) -> None:
    """Raise unless the caller may read the drafts that a schedule is about.

    That is `Forbidden` for who may read the resource, or for a release the workspace, and `NotFound` for all
    others.
    """
    if by.may(Right.READ_DRAFTS, schedule.workspace_id):
        return
    if schedule.release_id is None:
        collection = schedules.editor.collection(KINDS_BY_SLUG[schedule.kind])
        collection.versions(schedule.resource_id, by=by)  # refuses, in either way
    elif by.may(Right.READ, schedule.workspace_id):
        by.require(Right.READ_DRAFTS, schedule.workspace_id)
    raise NotFound
