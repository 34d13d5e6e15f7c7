"""Make schedules: one, or the pair of a beginning and an end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.utils import timezone

from schedules.models import Action, Schedule
from schedules.news import remember
from schedules.subjects import ResourceSubject, Subject, locked_release, locked_resource
from schedules.times import When, in_utc, in_zone, is_local
from versioning.domain.access import APPLICATION, Caller
from versioning.domain.errors import Invalid, Issue, Message
from versioning.editor.locking import retried
from versioning.editor.parts import EditorPart
from versioning.editor.resources import Who, caller_of

AS_IT_IS: Final = "\0as it is"
"""Stands for the version that is live when the schedule is made."""


@dataclass(frozen=True, kw_only=True)
class Times:
    """When something is to happen, as it was named: in UTC, or as a local time in a time zone."""

    run_at: str | None = None
    local_time: str | None = None
    time_zone: str | None = None

    @property
    def field(self) -> str:
        """What the time is called in problems."""
        return "localTime" if self.run_at is None else "runAt"

    def begin(self) -> When:
        """Return when it begins; raises `Invalid`."""
        now = timezone.now()
        if self.run_at is not None:
            if self.local_time is not None or self.time_zone is not None:
                raise Invalid.field("runAt", "must not be given together with localTime and timeZone")
            return in_utc(self.run_at, field="runAt", now=now)
        if self.local_time is None or self.time_zone is None:
            named = {"localTime": self.local_time, "timeZone": self.time_zone}
            missing = [name for name, given in named.items() if given is None]
            raise Invalid([Issue(name, "is required, unless runAt is given") for name in missing])
        return in_zone(self.local_time, self.time_zone, field="localTime", now=now)

    def end(self, until: str, begin: When) -> When:
        """Return when it ends, which is after its beginning; without an offset it is in the same time zone.

        Raises `Invalid`.
        """
        now = timezone.now()
        if self.time_zone is not None and is_local(until):
            end = in_zone(until, self.time_zone, field="until", now=now)
        else:
            end = in_utc(until, field="until", now=now)
        if end.run_at <= begin.run_at:
            raise Invalid.field("until", "must be after the beginning")
        return end


@retried
def create(
    schedules: EditorPart,
    kind: str,
    resource_id: str,
    times: Times,
    *,
    version_id: str | None = None,
    action: str = Action.PUBLISH,
    until: str | None = None,
    then: str | None = None,
    expects: str | None = AS_IT_IS,
    force: bool = False,
    by: Who = APPLICATION,
) -> Schedule:
    """Schedule a version of a resource for a time; needs the right to publish.

    With `until` and the version `then` there are two schedules: the second makes that version live again.
    What is live now, or what `expects` names, has to be live by then, unless `force` is set. The gate refuses
    nothing before then; what it has against the version now is in `problems` of the schedule. Raises
    `Invalid`, `NotFound` and `Forbidden`.
    """
    by = caller_of(by)
    begin = times.begin()
    end = times.end(until, begin) if until is not None else None
    if (until is None) != (then is None):
        missing, given = ("until", "then") if until is None else ("then", "until")
        raise Invalid.field(missing, Message("is required together with {field}", field=given))
    with locked_resource(schedules.editor, kind, resource_id, by) as found:
        pinned = found.pinned(version_id, action)
        subject = found if expects is AS_IT_IS else found.expecting(_known(found, expects))
        made = _insert(subject, begin, by, action=action, force=force, **pinned)
        pair = [made]
        if end is not None:
            back = subject.pinned(then, Action.PUBLISH, field="then.versionId")
            after = subject.expecting(version_id)
            pair += [_insert(after, end, by, action=Action.PUBLISH, force=force, follows=made, **back)]
        remember(schedules, pair)
        return made


@retried
def create_for_release(
    schedules: EditorPart, release_id: str, times: Times, *, force: bool = False, by: Who = APPLICATION
) -> Schedule:
    """Schedule a release for a time; needs the right to publish.

    What is live now of all that is in the release has to be live by then, unless `force` is set. Raises
    `Invalid`, `NotFound`, `Forbidden`, and `Conflict` for a release that is published already.
    """
    by = caller_of(by)
    begin = times.begin()
    with locked_release(schedules.editor, release_id, by) as subject:
        made = _insert(subject, begin, by, force=force)
        remember(schedules, [made])
        return made


def _insert(subject: Subject, when: When, by: Caller, **columns: Any) -> Schedule:
    """Insert a schedule and record it."""
    schedule = Schedule(
        **subject.columns,
        expects=dict(subject.live),
        author_id=by.user_id,
        author_name=by.username or "",
        **columns,
    )
    schedule.set_time(when)
    schedule.save(force_insert=True)
    schedule.record("created", by)
    return schedule


def _known(subject: ResourceSubject, version_id: str | None) -> str | None:
    """Return the id of a version of the resource, or None for nothing; raises `Invalid` for any other."""
    if version_id is not None:
        subject.pinned(version_id, Action.PUBLISH, field="expects")
    return version_id
