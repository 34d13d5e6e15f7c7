"""What teams said of versions, as sentences: reviews and comments. Pure.

In the sentences about reviews the version leads to the review, if there is a page about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from django.utils.translation import gettext as _

from studio.activity.names import Names
from studio.activity.parts import Part, Said
from versioning.models import Event


def _sentence(event: Event, names: Names, sentence: str, alone: str, **more: str) -> Said:
    """Return the sentence that names the resource, or the one for a page about it."""
    version = names.version(event.version_id)
    address = names.subject(event)
    words = version.text if event.version_id else _("a deleted version")
    values: dict[str, Part | str] = {
        "version": Part(words, address or version.address, number=version.number),
        **more,
    }
    if names.of_one:
        return Said(alone, values)
    return Said(sentence, {"resource": names.resource(event), **values})


def _requested(event: Event, names: Names) -> Said:
    people = ", ".join(event.detail.get("reviewers") or ())
    if people:
        return _sentence(
            event,
            names,
            _("{who} asked {people} to review {version} of {resource}"),
            _("{who} asked {people} to review {version}"),
            people=people,
        )
    return _sentence(
        event,
        names,
        _("{who} asked for a review of {version} of {resource}"),
        _("{who} asked for a review of {version}"),
    )


def _approved(event: Event, names: Names) -> Said:
    return _sentence(event, names, _("{who} approved {version} of {resource}"), _("{who} approved {version}"))


def _changes_requested(event: Event, names: Names) -> Said:
    return _sentence(
        event,
        names,
        _("{who} asked for changes to {version} of {resource}"),
        _("{who} asked for changes to {version}"),
    )


def _withdrawn(event: Event, names: Names) -> Said:
    return _sentence(
        event,
        names,
        _("{who} withdrew what they had said of {version} of {resource}"),
        _("{who} withdrew what they had said of {version}"),
    )


def _bypassed(event: Event, names: Names) -> Said:
    reason = str(event.detail.get("reason") or "")
    if reason:
        return _sentence(
            event,
            names,
            _("{who} bypassed the review of {version} of {resource}: “{reason}”"),
            _("{who} bypassed the review of {version}: “{reason}”"),
            reason=reason,
        )
    return _sentence(
        event,
        names,
        _("{who} bypassed the review of {version} of {resource}"),
        _("{who} bypassed the review of {version}"),
    )


def _closed(event: Event, names: Names) -> Said:
    return _sentence(
        event,
        names,
        _("{who} closed the review of {version} of {resource}"),
        _("{who} closed the review of {version}"),
    )


def _commented(event: Event, names: Names) -> Said:
    return _sentence(
        event, names, _("{who} commented on {version} of {resource}"), _("{who} commented on {version}")
    )


def _rewritten(event: Event, names: Names) -> Said:
    return _sentence(
        event,
        names,
        _("{who} rewrote a comment on {version} of {resource}"),
        _("{who} rewrote a comment on {version}"),
    )


def _resolved(event: Event, names: Names) -> Said:
    return _sentence(
        event,
        names,
        _("{who} resolved a comment on {version} of {resource}"),
        _("{who} resolved a comment on {version}"),
    )


def _reopened(event: Event, names: Names) -> Said:
    return _sentence(
        event,
        names,
        _("{who} reopened a comment on {version} of {resource}"),
        _("{who} reopened a comment on {version}"),
    )


def _uncommented(event: Event, names: Names) -> Said:
    return _sentence(
        event,
        names,
        _("{who} deleted a comment on {version} of {resource}"),
        _("{who} deleted a comment on {version}"),
    )


OF_TEAMS: Final[Mapping[str, Callable[[Event, Names], Said]]] = {
    "review.requested": _requested,
    "review.approved": _approved,
    "review.changesRequested": _changes_requested,
    "review.withdrawn": _withdrawn,
    "review.bypassed": _bypassed,
    "review.closed": _closed,
    "comment.added": _commented,
    "comment.changed": _rewritten,
    "comment.resolved": _resolved,
    "comment.reopened": _reopened,
    "comment.deleted": _uncommented,
}
