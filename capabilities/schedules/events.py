"""The events of schedules, and the sentences that describe them to people.

Each sentence links to the calendar. A schedule of a release names no resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from capabilities.schedules.judging import NOT_ALLOWED
from studio.activity.sentences import Fragment, Sentence
from versioning.domain.access import Via
from versioning.domain.events import Audience, EventSubject, EventType
from versioning.editor.notifications import NotificationRule, NotificationTopic

if TYPE_CHECKING:
    from studio.activity.sentences import Names
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


SENTENCES: Final = {
    "created": (
        (gettext_lazy("{who} scheduled {version} of {resource}"), gettext_lazy("{who} scheduled {version}")),
        (
            gettext_lazy("{who} scheduled {resource} to be unpublished"),
            gettext_lazy("{who} scheduled it to be unpublished"),
        ),
        (gettext_lazy("{who} scheduled the release {release}"), gettext_lazy("{who} scheduled a release")),
    ),
    "changed": (
        (
            gettext_lazy("{who} chose another time for {version} of {resource}"),
            gettext_lazy("{who} chose another time for {version}"),
        ),
        (
            gettext_lazy("{who} chose another time for unpublishing {resource}"),
            gettext_lazy("{who} chose another time for unpublishing it"),
        ),
        (
            gettext_lazy("{who} chose another time for the release {release}"),
            gettext_lazy("{who} chose another time for a release"),
        ),
    ),
    "cleared": (
        (
            gettext_lazy("{version} of {resource} is scheduled, and nothing stands in the way any more"),
            gettext_lazy("{version} is scheduled, and nothing stands in the way any more"),
        ),
        (
            gettext_lazy("{resource} is scheduled to be unpublished, and nothing stands in the way any more"),
            gettext_lazy("It is scheduled to be unpublished, and nothing stands in the way any more"),
        ),
        (
            gettext_lazy("The release {release} is scheduled, and nothing stands in the way any more"),
            gettext_lazy("A release is scheduled, and nothing stands in the way any more"),
        ),
    ),
    "threatened": (
        (
            gettext_lazy("{version} of {resource} is to go live, but as things stand it will not: {reason}"),
            gettext_lazy("{version} is to go live, but as things stand it will not: {reason}"),
        ),
        (
            gettext_lazy("{resource} is to be unpublished, but as things stand it will not be: {reason}"),
            gettext_lazy("It is to be unpublished, but as things stand it will not be: {reason}"),
        ),
        (
            gettext_lazy("The release {release} is to go live, but as things stand it will not: {reason}"),
            gettext_lazy("A release is to go live, but as things stand it will not: {reason}"),
        ),
    ),
    "cancelled": (
        (
            gettext_lazy("{who} cancelled the schedule of {version} of {resource}"),
            gettext_lazy("{who} cancelled the schedule of {version}"),
        ),
        (
            gettext_lazy("{who} cancelled the scheduled unpublishing of {resource}"),
            gettext_lazy("{who} cancelled its scheduled unpublishing"),
        ),
        (
            gettext_lazy("{who} cancelled the schedule of the release {release}"),
            gettext_lazy("{who} cancelled the schedule of a release"),
        ),
    ),
    "done": (
        (
            gettext_lazy("{version} of {resource} went live as {who} had scheduled"),
            gettext_lazy("{version} went live as {who} had scheduled"),
        ),
        (
            gettext_lazy("{resource} was unpublished as {who} had scheduled"),
            gettext_lazy("It was unpublished as {who} had scheduled"),
        ),
        (
            gettext_lazy("The release {release} went live as {who} had scheduled"),
            gettext_lazy("A release went live as {who} had scheduled"),
        ),
    ),
    "failed": (
        (
            gettext_lazy(
                "{version} of {resource} did not go live, although {who} had scheduled it: {reason}"
            ),
            gettext_lazy("{version} did not go live, although {who} had scheduled it: {reason}"),
        ),
        (
            gettext_lazy("{resource} was not unpublished, although {who} had scheduled it: {reason}"),
            gettext_lazy("It was not unpublished, although {who} had scheduled it: {reason}"),
        ),
        (
            gettext_lazy("The release {release} did not go live, although {who} had scheduled it: {reason}"),
            gettext_lazy("A release did not go live, although {who} had scheduled it: {reason}"),
        ),
    ),
}
"""The sentences about a version, about a resource that is taken offline, and about a release.

The first of each pair names the resource or the release. The second is for the resource's own page, or for a
release that was deleted. A change has three pairs: for the time, for new problems, and for problems that are
gone.
"""


def _describe(event: Event, names: Names) -> Sentence:
    change, values = event.type.rpartition(".")[2], {}
    problems = event.detail.get("problems")
    if change == "changed" and problems is not None:
        change = "threatened" if problems else "cleared"
        if problems:
            values["reason"] = ", ".join(str(PROBLEMS.get(code, OTHERWISE)) for code in problems)
    elif change == "failed":
        code = str(event.detail.get("code") or "")
        values["reason"] = str(REASONS.get(code, OTHERWISE))
        if code == NOT_ALLOWED and "createdByKey" in event.detail:
            values["reason"] = _("the API key that scheduled it may no longer publish it")
    version, resource, release = SENTENCES[change]
    if not event.resource_id:
        named_release = names.named.get((event.position, event.ordinal))
        if named_release is None:
            return Sentence(str(release[1]), values)
        return Sentence(str(release[0]), {"release": named_release, **values})
    fragments: dict[str, Fragment | str] = dict(values)
    if event.version_id:
        version_name = names.version(event.version_id)
        address = names.subject(event) or version_name.address
        fragments["version"] = Fragment(version_name.text, address, number=version_name.number)
    sentences = version if event.version_id else resource
    if names.of_one:
        return Sentence(str(sentences[1]), fragments)
    return Sentence(str(sentences[0]), {"resource": names.resource(event), **fragments})


EVENTS: Final = EventSubject(
    name="schedule",
    audience=Audience.EDITORS,
    changes_rights=False,
    noun=gettext_lazy("schedule"),
    title=gettext_lazy("Schedules"),
    anything=gettext_lazy("Anything about schedules"),
    types=[
        EventType(name="created", title=pgettext_lazy("event", "created"), sentence=_describe),
        EventType(name="changed", title=pgettext_lazy("event", "changed"), sentence=_describe),
        EventType(name="cancelled", title=pgettext_lazy("event", "cancelled"), sentence=_describe),
        EventType(name="done", title=pgettext_lazy("event", "done"), sentence=_describe),
        EventType(name="failed", title=pgettext_lazy("event", "failed"), sentence=_describe),
    ],
)


NOTIFICATIONS: Final = (
    # The person's schedule was changed, cancelled or failed; that it just ran is no news.
    NotificationRule(
        condition=lambda caller: Q(
            type__in=("schedule.changed", "schedule.cancelled", "schedule.failed"),
            detail__createdBy=caller.username,
        )
    ),
    # A schedule that ran as the person failed.
    NotificationRule(condition=lambda _caller: Q(type="schedule.failed", via=Via.SCHEDULE), unattended=True),
)

TOPIC: Final = NotificationTopic(
    name="scheduleFailed",
    title=gettext_lazy("my schedules, if they fail"),
    types=["schedule.failed"],
)
