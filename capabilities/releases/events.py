"""The events of releases, and the sentences that describe them to people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, pgettext_lazy

from studio.activity.sentences import Sentence
from versioning.domain.events import Audience, EventSubject, EventType

if TYPE_CHECKING:
    from studio.activity.sentences import Names
    from versioning.models import Event

_SENTENCES: Final[Mapping[str, tuple[Promise, Promise]]] = {
    "release.created": (
        gettext_lazy("{who} created the release {release}"),
        gettext_lazy("{who} created a release"),
    ),
    "release.changed": (
        gettext_lazy("{who} changed the release {release}"),
        gettext_lazy("{who} changed a release"),
    ),
    "release.published": (
        gettext_lazy("{who} published the release {release}"),
        gettext_lazy("{who} published a release"),
    ),
    "release.reverted": (
        gettext_lazy("{who} reverted the release {release}"),
        gettext_lazy("{who} reverted a release"),
    ),
    "release.deleted": (
        gettext_lazy("{who} deleted the release {release}"),
        gettext_lazy("{who} deleted a release"),
    ),
}
"""By type: the sentence that names the release, and the form for a release that was deleted."""


def _describe(event: Event, names: Names) -> Sentence:
    """Return the sentence about an event of a release."""
    with_name, without = _SENTENCES[event.type]
    release = names.named.get((event.position, event.ordinal))
    return Sentence(str(without)) if release is None else Sentence(str(with_name), {"release": release})


EVENTS: Final = EventSubject(
    name="release",
    audience=Audience.EDITORS,
    changes_rights=False,
    noun=gettext_lazy("release"),
    title=gettext_lazy("Releases"),
    anything=gettext_lazy("Anything about releases"),
    types=[
        EventType(name="created", title=pgettext_lazy("event", "created"), sentence=_describe),
        EventType(name="changed", title=pgettext_lazy("event", "changed"), sentence=_describe),
        EventType(name="published", title=pgettext_lazy("event", "published"), sentence=_describe),
        EventType(name="reverted", title=pgettext_lazy("event", "reverted"), sentence=_describe),
        EventType(name="deleted", title=pgettext_lazy("event", "deleted"), sentence=_describe),
    ],
)
