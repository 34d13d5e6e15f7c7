"""The events of schedules, and the sentences that describe them to people.

Each sentence links to the calendar. A schedule of a release names no resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from capabilities.schedules.judging import NOT_ALLOWED
from studio.activity.fragments import Fragment, Sentence
from versioning.domain.access import Caller, Via
from versioning.domain.events import Audience, EventSubject, EventType
from versioning.editor.notifications import NotificationRule, NotificationTopic

if TYPE_CHECKING:
    from studio.activity.names import Names
    from versioning.models import Event

REASONS: Final = {
    "edit_conflict": gettext_lazy("something else had gone live"),
    "gone": gettext_lazy("it was deleted"),
    "missed": gettext_lazy("no worker was running"),
    "not_allowed": gettext_lazy("that person may no longer publish it"),
    "release_blocked": gettext_lazy("something in the release could not go live"),
    "evaluation_required": gettext_lazy("evidence was missing"),
    "review_required": gettext_lazy("approvals were missing"),
    "rollout_running": gettext_lazy("a rollout was running"),
    "unpublished_blocks": gettext_lazy("prompt blocks were not published"),
}
"""Why a schedule failed, by its code; other codes are shown as `OTHERWISE`."""
OTHERWISE: Final = gettext_lazy("a check refused it")
PROBLEMS: Final = {
    **REASONS,
    "edit_conflict": gettext_lazy("what is live, or will be by then, is not what was expected"),
    "evaluation_required": gettext_lazy("evidence is missing"),
    "review_required": gettext_lazy("approvals are missing"),
    "rollout_running": gettext_lazy("a rollout is running"),
    "unpublished_blocks": gettext_lazy("prompt blocks are not published"),
}
"""Why a schedule would currently fail."""


def _sentence(
    event: Event,
    names: Names,
    version: tuple[str, str],
    resource: tuple[str, str],
    release: tuple[str, str],
    **more: str,
) -> Sentence:
    """Return the sentence about a version, about a resource that is taken offline, or about a release.

    The first of each pair names the resource or the release. The second is for the resource's own page, or
    for a release that was deleted.
    """
    if not event.resource_id:
        named_release = names.named.get((event.position, event.ordinal))
        if named_release is None:
            return Sentence(release[1], more)
        return Sentence(release[0], {"release": named_release, **more})
    values: dict[str, Fragment | str] = dict(more)
    sentences = resource
    if event.version_id:
        sentences = version
        named = names.version(event.version_id)
        values["version"] = Fragment(named.text, names.subject(event) or named.address, number=named.number)
    if names.of_one:
        return Sentence(sentences[1], values)
    return Sentence(sentences[0], {"resource": names.resource(event), **values})


def _created(event: Event, names: Names) -> Sentence:
    return _sentence(
        event,
        names,
        (_("{who} scheduled {version} of {resource}"), _("{who} scheduled {version}")),
        (_("{who} scheduled {resource} to be unpublished"), _("{who} scheduled it to be unpublished")),
        (_("{who} scheduled the release {release}"), _("{who} scheduled a release")),
    )


def _changed(event: Event, names: Names) -> Sentence:
    problems = event.detail.get("problems")
    if problems is not None:
        return _judged(event, names, [str(PROBLEMS.get(code, OTHERWISE)) for code in problems])
    return _sentence(
        event,
        names,
        (
            _("{who} chose another time for {version} of {resource}"),
            _("{who} chose another time for {version}"),
        ),
        (
            _("{who} chose another time for unpublishing {resource}"),
            _("{who} chose another time for unpublishing it"),
        ),
        (
            _("{who} chose another time for the release {release}"),
            _("{who} chose another time for a release"),
        ),
    )


def _judged(event: Event, names: Names, reasons: list[str]) -> Sentence:
    """Return the sentence about what would now prevent a schedule, or that nothing does any more."""
    if not reasons:
        return _sentence(
            event,
            names,
            (
                _("{version} of {resource} is scheduled, and nothing stands in the way any more"),
                _("{version} is scheduled, and nothing stands in the way any more"),
            ),
            (
                _("{resource} is scheduled to be unpublished, and nothing stands in the way any more"),
                _("It is scheduled to be unpublished, and nothing stands in the way any more"),
            ),
            (
                _("The release {release} is scheduled, and nothing stands in the way any more"),
                _("A release is scheduled, and nothing stands in the way any more"),
            ),
        )
    return _sentence(
        event,
        names,
        (
            _("{version} of {resource} is to go live, but as things stand it will not: {reason}"),
            _("{version} is to go live, but as things stand it will not: {reason}"),
        ),
        (
            _("{resource} is to be unpublished, but as things stand it will not be: {reason}"),
            _("It is to be unpublished, but as things stand it will not be: {reason}"),
        ),
        (
            _("The release {release} is to go live, but as things stand it will not: {reason}"),
            _("A release is to go live, but as things stand it will not: {reason}"),
        ),
        reason=", ".join(reasons),
    )


def _cancelled(event: Event, names: Names) -> Sentence:
    return _sentence(
        event,
        names,
        (
            _("{who} cancelled the schedule of {version} of {resource}"),
            _("{who} cancelled the schedule of {version}"),
        ),
        (
            _("{who} cancelled the scheduled unpublishing of {resource}"),
            _("{who} cancelled its scheduled unpublishing"),
        ),
        (
            _("{who} cancelled the schedule of the release {release}"),
            _("{who} cancelled the schedule of a release"),
        ),
    )


def _done(event: Event, names: Names) -> Sentence:
    return _sentence(
        event,
        names,
        (
            _("{version} of {resource} went live as {who} had scheduled"),
            _("{version} went live as {who} had scheduled"),
        ),
        (
            _("{resource} was unpublished as {who} had scheduled"),
            _("It was unpublished as {who} had scheduled"),
        ),
        (
            _("The release {release} went live as {who} had scheduled"),
            _("A release went live as {who} had scheduled"),
        ),
    )


def _failed(event: Event, names: Names) -> Sentence:
    code = str(event.detail.get("code") or "")
    reason = str(REASONS.get(code, OTHERWISE))
    if code == NOT_ALLOWED and "createdByKey" in event.detail:
        reason = _("the API key that scheduled it may no longer publish it")
    return _sentence(
        event,
        names,
        (
            _("{version} of {resource} did not go live, although {who} had scheduled it: {reason}"),
            _("{version} did not go live, although {who} had scheduled it: {reason}"),
        ),
        (
            _("{resource} was not unpublished, although {who} had scheduled it: {reason}"),
            _("It was not unpublished, although {who} had scheduled it: {reason}"),
        ),
        (
            _("The release {release} did not go live, although {who} had scheduled it: {reason}"),
            _("A release did not go live, although {who} had scheduled it: {reason}"),
        ),
        reason=reason,
    )


EVENTS: Final = EventSubject(
    name="schedule",
    audience=Audience.EDITORS,
    changes_rights=False,
    noun=gettext_lazy("schedule"),
    title=gettext_lazy("Schedules"),
    anything=gettext_lazy("Anything about schedules"),
    types=[
        EventType(name="created", title=pgettext_lazy("event", "created"), sentence=_created),
        EventType(name="changed", title=pgettext_lazy("event", "changed"), sentence=_changed),
        EventType(name="cancelled", title=pgettext_lazy("event", "cancelled"), sentence=_cancelled),
        EventType(name="done", title=pgettext_lazy("event", "done"), sentence=_done),
        EventType(name="failed", title=pgettext_lazy("event", "failed"), sentence=_failed),
    ],
)


def _of_own_schedules(caller: Caller) -> Q:
    """Return the condition that an event is about the person's schedule, except that it just ran."""
    types = ("schedule.changed", "schedule.cancelled", "schedule.failed")
    return Q(type__in=types, detail__createdBy=caller.username)


def _failures(caller: Caller) -> Q:
    """Return the condition that a schedule failed that ran as the person."""
    return Q(type="schedule.failed", via=Via.SCHEDULE)


NOTIFICATIONS: Final = (
    NotificationRule(condition=_of_own_schedules),
    NotificationRule(condition=_failures, unattended=True),
)

TOPIC: Final = NotificationTopic(
    name="scheduleFailed",
    title=gettext_lazy("my schedules, if they fail"),
    types=["schedule.failed"],
)
