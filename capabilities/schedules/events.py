"""The events of schedules, and the sentences that describe them to people.

Each sentence links to the calendar. A schedule of a release names no resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db.models import Q
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from capabilities.schedules.judging import NOT_ALLOWED
from studio.activity.fragments import Fragment, Sentence
from versioning.domain.access import Caller, Via
from versioning.domain.events import Audience, EventSubject, EventType
from versioning.editor.notifications import NotificationRule, NotificationTopic

if TYPE_CHECKING:
    from studio.activity.names import Names
    from versioning.models import Event

REASONS: Final = {
    "edit_conflict": _("something else had gone live"),
    "gone": _("it was deleted"),
    "missed": _("no worker was running"),
    "not_allowed": _("that person may no longer publish it"),
    "release_blocked": _("something in the release could not go live"),
    "evaluation_required": _("evidence was missing"),
    "review_required": _("approvals were missing"),
    "rollout_running": _("a rollout was running"),
    "unpublished_blocks": _("prompt blocks were not published"),
}
"""Why a schedule failed, by its code; other codes are shown as `OTHERWISE`."""
OTHERWISE: Final = _("a check refused it")
PROBLEMS: Final = {
    **REASONS,
    "edit_conflict": _("what is live, or will be by then, is not what was expected"),
    "evaluation_required": _("evidence is missing"),
    "review_required": _("approvals are missing"),
    "rollout_running": _("a rollout is running"),
    "unpublished_blocks": _("prompt blocks are not published"),
}
"""Why a schedule would currently fail."""


SENTENCES: Final = {
    "created": (
        (_("{who} scheduled {version} of {resource}"), _("{who} scheduled {version}")),
        (_("{who} scheduled {resource} to be unpublished"), _("{who} scheduled it to be unpublished")),
        (_("{who} scheduled the release {release}"), _("{who} scheduled a release")),
    ),
    "changed": (
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
    ),
    "cleared": (
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
    ),
    "threatened": (
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
    ),
    "cancelled": (
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
    ),
    "done": (
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
    ),
    "failed": (
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
    ),
}
"""The sentences about a version, about a resource that is taken offline, and about a release.

The first of each pair names the resource or the release. The second is for the resource's own page, or for a
release that was deleted. Of a change, there are three: of the time, and of what would prevent the schedule.
"""


def _describe(event: Event, names: Names) -> Sentence:
    what, values = event.type.rpartition(".")[2], {}
    problems = event.detail.get("problems")
    if what == "changed" and problems is not None:
        what = "threatened" if problems else "cleared"
        if problems:
            values["reason"] = ", ".join(str(PROBLEMS.get(code, OTHERWISE)) for code in problems)
    elif what == "failed":
        code = str(event.detail.get("code") or "")
        values["reason"] = str(REASONS.get(code, OTHERWISE))
        if code == NOT_ALLOWED and "createdByKey" in event.detail:
            values["reason"] = gettext("the API key that scheduled it may no longer publish it")
    version, resource, release = SENTENCES[what]
    if not event.resource_id:
        named_release = names.named.get((event.position, event.ordinal))
        if named_release is None:
            return Sentence(str(release[1]), values)
        return Sentence(str(release[0]), {"release": named_release, **values})
    fragments: dict[str, Fragment | str] = dict(values)
    if event.version_id:
        named = names.version(event.version_id)
        address = names.subject(event) or named.address
        fragments["version"] = Fragment(named.text, address, number=named.number)
    sentences = version if event.version_id else resource
    if names.of_one:
        return Sentence(str(sentences[1]), fragments)
    return Sentence(str(sentences[0]), {"resource": names.resource(event), **fragments})


EVENTS: Final = EventSubject(
    name="schedule",
    audience=Audience.EDITORS,
    changes_rights=False,
    noun=_("schedule"),
    title=_("Schedules"),
    anything=_("Anything about schedules"),
    types=[
        EventType(name="created", title=pgettext_lazy("event", "created"), sentence=_describe),
        EventType(name="changed", title=pgettext_lazy("event", "changed"), sentence=_describe),
        EventType(name="cancelled", title=pgettext_lazy("event", "cancelled"), sentence=_describe),
        EventType(name="done", title=pgettext_lazy("event", "done"), sentence=_describe),
        EventType(name="failed", title=pgettext_lazy("event", "failed"), sentence=_describe),
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
    title=_("my schedules, if they fail"),
    types=["schedule.failed"],
)
