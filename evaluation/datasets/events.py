"""The events of datasets, and the sentences that describe them to people."""

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
    "dataset.created": gettext_lazy("{who} created the dataset {dataset}"),
    "dataset.updated": gettext_lazy("{who} changed the dataset {dataset}"),
    "dataset.deleted": gettext_lazy("{who} deleted the dataset {dataset}"),
}


def _of_dataset(event: Event, names: Names) -> Sentence:
    """Return the sentence about an event of a dataset."""
    return Sentence(str(_SENTENCES[event.type]), {"dataset": str(event.detail.get("name", ""))})


EVENTS: Final = EventSubject(
    name="dataset",
    audience=Audience.EDITORS,
    changes_rights=False,
    noun=gettext_lazy("dataset"),
    title=gettext_lazy("Datasets"),
    anything=gettext_lazy("Anything about datasets"),
    types=[
        EventType(name="created", title=pgettext_lazy("event", "created"), sentence=_of_dataset),
        EventType(name="updated", title=pgettext_lazy("event", "changed"), sentence=_of_dataset),
        EventType(name="deleted", title=pgettext_lazy("event", "deleted"), sentence=_of_dataset),
    ],
)
