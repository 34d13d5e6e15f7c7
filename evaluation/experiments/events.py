"""The events of experiments, and the sentences that describe them to people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, pgettext_lazy

from studio.activity.fragments import Sentence
from versioning.domain.events import Audience, EventSubject, EventType

if TYPE_CHECKING:
    from studio.activity.names import Names
    from versioning.models import Event

_SENTENCES: Final[Mapping[str, Promise]] = {
    "experiment.started": gettext_lazy("{who} started the experiment {experiment}"),
    "experiment.finished": gettext_lazy("The experiment {experiment} has ended"),
    "experiment.cancelled": gettext_lazy("{who} cancelled the experiment {experiment}"),
}


def _of_experiment(event: Event, names: Names) -> Sentence:
    """Return the sentence about an event of an experiment."""
    name = str(event.detail.get("name") or event.detail.get("experimentId", ""))
    return Sentence(str(_SENTENCES[event.type]), {"experiment": name})


EVENTS: Final = EventSubject(
    name="experiment",
    audience=Audience.EDITORS,
    changes_rights=False,
    noun=gettext_lazy("experiment"),
    title=gettext_lazy("Experiments"),
    anything=gettext_lazy("Anything about experiments"),
    types=[
        EventType(name="started", title=pgettext_lazy("event", "started"), sentence=_of_experiment),
        EventType(name="finished", title=pgettext_lazy("event", "ended"), sentence=_of_experiment),
        EventType(name="cancelled", title=pgettext_lazy("event", "cancelled"), sentence=_of_experiment),
    ],
)
