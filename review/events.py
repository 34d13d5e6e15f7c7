"""The events of reviews and comments, and the sentences that describe them to people.

In the sentences about reviews, the version links to the page of the review, if there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from studio.activity.names import Fragment, Sentence, people_in
from versioning.domain.events import Audience, EventSubject, EventType

if TYPE_CHECKING:
    from studio.activity.names import Names
    from versioning.models import Event


def _sentence(event: Event, names: Names, sentence: str, alone: str, **more: Fragment | str) -> Sentence:
    """Return the sentence that names the resource, or the form for the resource's own page."""
    version = names.version(event.version_id)
    address = names.subject(event)
    words = version.text if event.version_id else _("a deleted version")
    values: dict[str, Fragment | str] = {
        "version": Fragment(words, address or version.address, number=version.number),
        **more,
    }
    if names.of_one:
        return Sentence(alone, values)
    return Sentence(sentence, {"resource": names.resource(event), **values})


def _requested(event: Event, names: Names) -> Sentence:
    people = event.detail.get("reviewers") or ()
    if people:
        return _sentence(
            event,
            names,
            _("{who} asked {people} to review {version} of {resource}"),
            _("{who} asked {people} to review {version}"),
            people=people_in(people),
        )
    return _sentence(
        event,
        names,
        _("{who} asked for a review of {version} of {resource}"),
        _("{who} asked for a review of {version}"),
    )


def _approved(event: Event, names: Names) -> Sentence:
    return _sentence(event, names, _("{who} approved {version} of {resource}"), _("{who} approved {version}"))


def _changes_requested(event: Event, names: Names) -> Sentence:
    return _sentence(
        event,
        names,
        _("{who} asked for changes to {version} of {resource}"),
        _("{who} asked for changes to {version}"),
    )


def _withdrawn(event: Event, names: Names) -> Sentence:
    return _sentence(
        event,
        names,
        _("{who} withdrew their verdict on {version} of {resource}"),
        _("{who} withdrew their verdict on {version}"),
    )


def _bypassed(event: Event, names: Names) -> Sentence:
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


def _closed(event: Event, names: Names) -> Sentence:
    return _sentence(
        event,
        names,
        _("{who} closed the review of {version} of {resource}"),
        _("{who} closed the review of {version}"),
    )


def _commented(event: Event, names: Names) -> Sentence:
    return _sentence(
        event, names, _("{who} commented on {version} of {resource}"), _("{who} commented on {version}")
    )


def _rewritten(event: Event, names: Names) -> Sentence:
    return _sentence(
        event,
        names,
        _("{who} edited a comment on {version} of {resource}"),
        _("{who} edited a comment on {version}"),
    )


def _resolved(event: Event, names: Names) -> Sentence:
    return _sentence(
        event,
        names,
        _("{who} resolved a comment on {version} of {resource}"),
        _("{who} resolved a comment on {version}"),
    )


def _reopened(event: Event, names: Names) -> Sentence:
    return _sentence(
        event,
        names,
        _("{who} reopened a comment on {version} of {resource}"),
        _("{who} reopened a comment on {version}"),
    )


def _uncommented(event: Event, names: Names) -> Sentence:
    return _sentence(
        event,
        names,
        _("{who} deleted a comment on {version} of {resource}"),
        _("{who} deleted a comment on {version}"),
    )


EVENTS: Final = (
    EventSubject(
        name="review",
        audience=Audience.EDITORS,
        noun=gettext_lazy("review"),
        title=gettext_lazy("Reviews"),
        anything=gettext_lazy("Anything about reviews"),
        types=[
            EventType(name="requested", title=pgettext_lazy("event", "requested"), sentence=_requested),
            EventType(name="approved", title=pgettext_lazy("event", "approved"), sentence=_approved),
            EventType(
                name="changesRequested",
                title=pgettext_lazy("event", "changes requested"),
                sentence=_changes_requested,
            ),
            EventType(name="withdrawn", title=pgettext_lazy("event", "withdrawn"), sentence=_withdrawn),
            EventType(name="bypassed", title=pgettext_lazy("event", "bypassed"), sentence=_bypassed),
            EventType(name="closed", title=pgettext_lazy("event", "closed"), sentence=_closed),
        ],
    ),
    EventSubject(
        name="comment",
        audience=Audience.EDITORS,
        noun=gettext_lazy("comment"),
        title=gettext_lazy("Comments"),
        anything=gettext_lazy("Anything about comments"),
        types=[
            EventType(name="added", title=pgettext_lazy("event", "added"), sentence=_commented),
            EventType(name="changed", title=pgettext_lazy("event", "changed"), sentence=_rewritten),
            EventType(name="resolved", title=pgettext_lazy("event", "resolved"), sentence=_resolved),
            EventType(name="reopened", title=pgettext_lazy("event", "reopened"), sentence=_reopened),
            EventType(name="deleted", title=pgettext_lazy("event", "deleted"), sentence=_uncommented),
        ],
    ),
)
