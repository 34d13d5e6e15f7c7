"""Run due schedules as their authors, with the current rights, policy and gate.

The change and the state of the schedule are stored in one transaction, so a schedule runs exactly once, with
any number of workers and even if one is killed.
"""

from __future__ import annotations

import datetime
import logging
from typing import Final

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from capabilities.releases.items import Versions, read_ahead
from capabilities.releases.models import ReleaseItem
from capabilities.releases.verbs import Releases
from capabilities.schedules.deletions import GONE
from capabilities.schedules.facts import person
from capabilities.schedules.forecast import is_unexpected
from capabilities.schedules.models import Action, NotWaiting, Schedule, ScheduleQuerySet, State
from capabilities.schedules.refusals import SomethingElseIsLive, code_of, message_of
from capabilities.schedules.subjects import Subject, locked_release, locked_resource
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.domain.errors import Message, NotFound, VersioningError
from versioning.domain.snapshots import Snapshot
from versioning.editor.locking import retry_on_conflict
from versioning.models import VersionedResource, events
from versioning.models.due_work import Turns
from versioning.serving.resolution import find_version

MISSED: Final = "missed"
PUNCTUAL: Final = datetime.timedelta(minutes=1)
"""The gate is asked about a schedule's own time if it runs within its minute, otherwise about now."""
AGAIN: Final = datetime.timedelta(seconds=30)
"""How long a schedule waits after a fault."""
SOON: Final = datetime.timedelta(seconds=2)
"""How long it waits after an error of the database, which may be over soon."""

logger = logging.getLogger(__name__)


class Runner:
    """Runs due schedules in one worker; the workspaces take turns.

    Every worker does this every second, so a killed one delays nothing: its transaction was rolled back.
    """

    def __init__(self) -> None:
        self._versions, self._releases = Turns(), Turns()

    def run_versions(self) -> None:
        """Run all due schedules of single resources."""
        while _run_next(Schedule.objects.due().of_resources(), self._versions):
            pass

    def run_releases(self) -> None:
        """Run due releases, until a schedule of a single resource is due.

        This has its own thread. A release may take a second, and blocks other writes on SQLite: so single
        resources go first, and the releases continue afterwards.
        """
        while not Schedule.objects.due().of_resources().exists():
            if not _run_next(Schedule.objects.due().of_releases(), self._releases):
                break


def _run_next(due: ScheduleQuerySet, turns: Turns) -> bool:
    """Run the first schedule of the workspace whose turn it is; return whether any was due."""
    owner = next(iter(turns.in_order(due.workspaces())), None)
    if owner is None:
        return False
    turns.begin(owner)
    try:
        # Random among schedules for the same time, so that several workers seldom try the same.
        mine = due.filter(workspace=owner[0]).order_by("run_at", "?")
        schedule = mine.select_related("author").first()
        if schedule is not None:
            _run_or_postpone(schedule)
    finally:
        turns.end(owner)
    return True


def _run_or_postpone(schedule: Schedule) -> None:
    try:
        run(schedule)
    except NotWaiting:
        return  # another worker was faster, or it was just cancelled
    except (OperationalError, InterfaceError):
        # If the database is unavailable, this fails as well. But if a lock is held, or a statement was too
        # slow, the fault is this schedule's, and must not delay others.
        schedule.postpone(SOON)
        raise
    except Exception:
        logger.exception("a schedule cannot be run", extra={"schedule": str(schedule.pk)})
        schedule.postpone(AGAIN)


def run(schedule: Schedule) -> None:
    """Run a schedule, and record the result; raises `NotWaiting` if it ended or was cancelled."""
    grace = datetime.timedelta(seconds=settings.EDITOR_SCHEDULE_GRACE)
    if timezone.now() > schedule.run_at + grace:
        _fail(schedule, State.MISSED, MISSED, Message("No worker was running then, nor for long afterwards."))
        return
    try:
        _act(schedule, by=person(schedule))
    except VersioningError as error:
        _fail(schedule, State.FAILED, code_of(error), message_of(error))


@retry_on_conflict
def _act(schedule: Schedule, *, by: Caller) -> None:
    """Perform the action and finish the schedule, in one transaction."""
    # Before the transaction, which blocks other writes on SQLite.
    items = ReleaseItem.objects.none()
    if schedule.release_id is not None:
        items = ReleaseItem.objects.filter(release=schedule.release_id)
    versions = read_ahead(get_editor(), items)
    at = schedule.run_at if timezone.now() < schedule.run_at + PUNCTUAL else timezone.now()
    with events.transaction():
        schedule.refuse_ended()  # on SQLite, another worker waited for the one that ran it
        if schedule.release_id is not None:
            _publish_release(schedule, str(schedule.release_id), versions, by, at)
        else:
            _move_resource(schedule, by, at)
            schedule.end(State.DONE)
        schedule.record("done", by)


def _move_resource(schedule: Schedule, by: Caller, at: datetime.datetime) -> None:
    """Publish or unpublish a resource.

    Raises what the gate raises, and `SomethingElseIsLive` if the live version is not the expected one.
    """
    with locked_resource(get_editor(), schedule.kind, schedule.resource_id, by) as subject:
        if subject.columns["identity"] != schedule.identity:
            raise NotFound("The resource was deleted.", code=GONE)
        _refuse_unexpected(schedule, subject)
        if schedule.action == Action.PUBLISH:
            version = _version(subject.change.resource, schedule.version_id)
            subject.change.activate(version, at=at, scheduleId=str(schedule.pk))
        else:
            subject.change.deactivate(at=at, scheduleId=str(schedule.pk))


def _version(resource: VersionedResource, version_id: str) -> Snapshot:
    """Return a version of a resource; raises `NotFound` with the code of what is gone, such as a file."""
    try:
        return find_version(resource, version_id)
    except NotFound:
        raise NotFound("The version was deleted.", code=GONE) from None


def _publish_release(
    schedule: Schedule, release_id: str, versions: Versions, by: Caller, at: datetime.datetime
) -> None:
    """Publish a release, and end the schedule; raises as `_move_resource` does, and `ReleaseBlocked`."""
    editor = get_editor()
    with locked_release(editor, release_id, by) as subject:
        _refuse_unexpected(schedule, subject)
        schedule.end(State.DONE)  # before its release is published, which cancels what still waits
        editor.capability(Releases).publish(release_id, versions=versions, at=at, by=by)


def _refuse_unexpected(schedule: Schedule, subject: Subject) -> None:
    for name, live in subject.live.items():
        if is_unexpected(live, expects=schedule.expects.get(name), is_forced=schedule.force):
            raise SomethingElseIsLive


def _fail(schedule: Schedule, state: State, code: str, problem: str) -> None:
    with events.transaction():
        schedule.end(state, code=code, problem=problem)
        schedule.record("failed", schedule.unattended, code=code)
