"""The events of reviews and comments, and the sentences that describe them to people.

In the sentences about reviews, the version links to the page of the review, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from studio.activity.sentences import Fragment, Sentence, people_in
from versioning.domain.events import Audience, EventSubject, EventType

if TYPE_CHECKING:
    from studio.activity.sentences import Names
    from versioning.models import Event


Words = Callable[["Event", "Names"], Sentence]


def _sentence(
    event: Event, names: Names, sentence: Promise, alone: Promise, **more: Fragment | str
) -> Sentence:
    """Return the sentence that names the resource, or the form for the resource's own page."""
    version = names.version(event.version_id)
    address = names.subject(event)
    words = version.text if event.version_id else gettext("a deleted version")
    values: dict[str, Fragment | str] = {
        "version": Fragment(words, address or version.address, number=version.number),
        **more,
    }
    if names.of_one:
        return Sentence(str(alone), values)
    return Sentence(str(sentence), {"resource": names.resource(event), **values})


def _worded(sentence: Promise, alone: Promise) -> Words:
    """Return what puts events of a type into these words; `alone` is for the resource's own page."""
    return partial(_sentence, sentence=sentence, alone=alone)


def _requested(event: Event, names: Names) -> Sentence:
    people = event.detail.get("reviewers") or ()
    if people:
        sentence = _("{who} asked {people} to review {version} of {resource}")
        alone = _("{who} asked {people} to review {version}")
        return _sentence(event, names, sentence, alone, people=people_in(people))
    sentence = _("{who} asked for a review of {version} of {resource}")
    return _sentence(event, names, sentence, _("{who} asked for a review of {version}"))


def _bypassed(event: Event, names: Names) -> Sentence:
    reason = str(event.detail.get("reason") or "")
    if reason:
        sentence = _("{who} bypassed the review of {version} of {resource}: “{reason}”")
        alone = _("{who} bypassed the review of {version}: “{reason}”")
        return _sentence(event, names, sentence, alone, reason=reason)
    sentence = _("{who} bypassed the review of {version} of {resource}")
    return _sentence(event, names, sentence, _("{who} bypassed the review of {version}"))


EVENTS: Final = (
    EventSubject(
        name="review",
        audience=Audience.EDITORS,
        noun=_("review"),
        title=_("Reviews"),
        anything=_("Anything about reviews"),
        types=[
            EventType(name="requested", title=pgettext_lazy("event", "requested"), sentence=_requested),
            EventType(
                name="approved",
                title=pgettext_lazy("event", "approved"),
                sentence=_worded(_("{who} approved {version} of {resource}"), _("{who} approved {version}")),
            ),
            EventType(
                name="changesRequested",
                title=pgettext_lazy("event", "changes requested"),
                sentence=_worded(
                    _("{who} asked for changes to {version} of {resource}"),
                    _("{who} asked for changes to {version}"),
                ),
            ),
            EventType(
                name="withdrawn",
                title=pgettext_lazy("event", "withdrawn"),
                sentence=_worded(
                    _("{who} withdrew their decision on {version} of {resource}"),
                    _("{who} withdrew their decision on {version}"),
                ),
            ),
            EventType(name="bypassed", title=pgettext_lazy("event", "bypassed"), sentence=_bypassed),
            EventType(
                name="closed",
                title=pgettext_lazy("event", "closed"),
                sentence=_worded(
                    _("{who} closed the review of {version} of {resource}"),
                    _("{who} closed the review of {version}"),
                ),
            ),
        ],
    ),
    EventSubject(
        name="comment",
        audience=Audience.EDITORS,
        noun=_("comment"),
        title=_("Comments"),
        anything=_("Anything about comments"),
        types=[
            EventType(
                name="added",
                title=pgettext_lazy("event", "added"),
                sentence=_worded(
                    _("{who} commented on {version} of {resource}"), _("{who} commented on {version}")
                ),
            ),
            EventType(
                name="changed",
                title=pgettext_lazy("event", "changed"),
                sentence=_worded(
                    _("{who} edited a comment on {version} of {resource}"),
                    _("{who} edited a comment on {version}"),
                ),
            ),
            EventType(
                name="resolved",
                title=pgettext_lazy("event", "resolved"),
                sentence=_worded(
                    _("{who} resolved a comment on {version} of {resource}"),
                    _("{who} resolved a comment on {version}"),
                ),
            ),
            EventType(
                name="reopened",
                title=pgettext_lazy("event", "reopened"),
                sentence=_worded(
                    _("{who} reopened a comment on {version} of {resource}"),
                    _("{who} reopened a comment on {version}"),
                ),
            ),
            EventType(
                name="deleted",
                title=pgettext_lazy("event", "deleted"),
                sentence=_worded(
                    _("{who} deleted a comment on {version} of {resource}"),
                    _("{who} deleted a comment on {version}"),
                ),
            ),
        ],
    ),
)
