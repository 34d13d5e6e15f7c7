"""What was scheduled, and what came of it, as sentences. Pure.

Each leads to the calendar. A schedule of a release names no resource.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studio.activity.names import Names
from studio.activity.parts import Part, Said
from versioning.models import Event

REASONS: Final = {
    "edit_conflict": gettext_lazy("something else had gone live"),
    "gone": gettext_lazy("it was deleted"),
    "missed": gettext_lazy("no worker was running"),
    "not_allowed": gettext_lazy("they may not publish it any more"),
    "review_required": gettext_lazy("approvals were missing"),
}
"""Why a schedule failed, by its code; others are told as they are."""


def _sentence(
    event: Event,
    names: Names,
    version: tuple[str, str],
    resource: tuple[str, str],
    release: tuple[str, str],
    **more: str,
) -> Said:
    """Return the sentence about a version, about a resource that goes off, or about a release.

    Of the pairs, the first names the resource or the release. The second is for a page about the resource,
    or for a release that is not there any more.
    """
    if not event.resource_id:
        named_release = names.named.get((event.position, event.ordinal))
        if named_release is None:
            return Said(release[1], more)
        return Said(release[0], {"release": named_release, **more})
    values: dict[str, Part | str] = dict(more)
    sentences = resource
    if event.version_id:
        sentences = version
        named = names.version(event.version_id)
        values["version"] = Part(named.text, names.subject(event) or named.address, number=named.number)
    if names.of_one:
        return Said(sentences[1], values)
    return Said(sentences[0], {"resource": names.resource(event), **values})


def _created(event: Event, names: Names) -> Said:
    return _sentence(
        event,
        names,
        (_("{who} scheduled {version} of {resource}"), _("{who} scheduled {version}")),
        (_("{who} scheduled the end of {resource}"), _("{who} scheduled its end")),
        (_("{who} scheduled the release {release}"), _("{who} scheduled a release")),
    )


def _changed(event: Event, names: Names) -> Said:
    return _sentence(
        event,
        names,
        (
            _("{who} chose another time for {version} of {resource}"),
            _("{who} chose another time for {version}"),
        ),
        (_("{who} chose another time for the end of {resource}"), _("{who} chose another time for its end")),
        (
            _("{who} chose another time for the release {release}"),
            _("{who} chose another time for a release"),
        ),
    )


def _cancelled(event: Event, names: Names) -> Said:
    return _sentence(
        event,
        names,
        (
            _("{who} cancelled the schedule of {version} of {resource}"),
            _("{who} cancelled the schedule of {version}"),
        ),
        (_("{who} cancelled the scheduled end of {resource}"), _("{who} cancelled its scheduled end")),
        (
            _("{who} cancelled the schedule of the release {release}"),
            _("{who} cancelled the schedule of a release"),
        ),
    )


def _done(event: Event, names: Names) -> Said:
    return _sentence(
        event,
        names,
        (
            _("{version} of {resource} went live as {who} had scheduled it"),
            _("{version} went live as {who} had scheduled it"),
        ),
        (_("{resource} went off as {who} had scheduled it"), _("It went off as {who} had scheduled it")),
        (
            _("The release {release} went live as {who} had scheduled it"),
            _("A release went live as {who} had scheduled it"),
        ),
    )


def _failed(event: Event, names: Names) -> Said:
    code = str(event.detail.get("code") or "")
    return _sentence(
        event,
        names,
        (
            _("{version} of {resource} did not go live as {who} had scheduled it: {reason}"),
            _("{version} did not go live as {who} had scheduled it: {reason}"),
        ),
        (
            _("{resource} did not go off as {who} had scheduled it: {reason}"),
            _("It did not go off as {who} had scheduled it: {reason}"),
        ),
        (
            _("The release {release} did not go live as {who} had scheduled it: {reason}"),
            _("A release did not go live as {who} had scheduled it: {reason}"),
        ),
        reason=str(REASONS.get(code, code)),
    )


OF_SCHEDULES: Final[Mapping[str, Callable[[Event, Names], Said]]] = {
    "schedule.created": _created,
    "schedule.changed": _changed,
    "schedule.cancelled": _cancelled,
    "schedule.done": _done,
    "schedule.failed": _failed,
}
