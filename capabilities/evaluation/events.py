"""The events of datasets, experiments and gates, and the sentences that describe them to people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from studio.activity.sentences import Fragment, Sentence
from versioning.domain.events import Audience, EventSubject, EventType
from versioning.editor.notifications import NotificationRule, NotificationTopic

if TYPE_CHECKING:
    from studio.activity.sentences import Names
    from versioning.models import Event


_SENTENCES: Final[Mapping[str, Promise]] = {
    "dataset.created": gettext_lazy("{who} created the dataset {dataset}"),
    "dataset.updated": gettext_lazy("{who} changed the dataset {dataset}"),
    "dataset.deleted": gettext_lazy("{who} deleted the dataset {dataset}"),
    "experiment.started": gettext_lazy("{who} started the experiment {experiment}"),
    "experiment.finished": gettext_lazy("The experiment {experiment} has ended"),
    "experiment.cancelled": gettext_lazy("{who} cancelled the experiment {experiment}"),
    "experiment.deleted": gettext_lazy("{who} deleted the experiment {experiment}"),
    "gate.created": gettext_lazy("{who} created a gate that requires a test on {dataset}"),
    "gate.changed": gettext_lazy("{who} changed the gate that requires a test on {dataset}"),
    "gate.deleted": gettext_lazy("{who} deleted the gate that required a test on {dataset}"),
}
_BASELINE: Final = gettext_lazy("The baseline {experiment} has ended")
"""For `experiment.finished` of a baseline."""
_NAMES: Final = {
    "dataset": ("dataset", "name"),
    "experiment": ("experiment", "name", "experimentId"),
    "gate": ("dataset", "dataset"),
}
"""By subject: the placeholder in its sentences, and the members of the detail of which one has the value."""


def _make_sentence(event: Event, names: Names) -> Sentence:
    placeholder, *members = _NAMES[event.type.partition(".")[0]]
    name = next((event.detail[member] for member in members if event.detail.get(member)), "")
    fragment = names.named.get((event.position, event.ordinal))
    words = _BASELINE if event.detail.get("baselineOf") else _SENTENCES[event.type]
    return Sentence(str(words), {placeholder: str(name) if fragment is None else fragment})


def _make_bypass_sentence(event: Event, names: Names) -> Sentence:
    """Return the sentence about a version that was published without evidence, with the reason."""
    values: dict[str, Fragment | str] = {
        "version": names.version(event.version_id),
        "dataset": str(event.detail.get("dataset", "")),
        "reason": str(event.detail.get("reason") or ""),
    }
    if names.of_one:
        return Sentence(
            gettext("{who} published {version} without the test on {dataset}: “{reason}”"), values
        )
    values["resource"] = names.resource(event)
    return Sentence(
        gettext("{who} published {version} of {resource} without the test on {dataset}: “{reason}”"), values
    )


DATASETS: Final = EventSubject(
    name="dataset",
    audience=Audience.EDITORS,
    changes_rights=False,
    noun=gettext_lazy("dataset"),
    title=gettext_lazy("Datasets"),
    anything=gettext_lazy("Anything about datasets"),
    types=[
        EventType(name="created", title=pgettext_lazy("event", "created"), sentence=_make_sentence),
        EventType(name="updated", title=pgettext_lazy("event", "changed"), sentence=_make_sentence),
        EventType(name="deleted", title=pgettext_lazy("event", "deleted"), sentence=_make_sentence),
    ],
)
EXPERIMENTS: Final = EventSubject(
    name="experiment",
    audience=Audience.EDITORS,
    changes_rights=False,
    noun=gettext_lazy("experiment"),
    title=gettext_lazy("Experiments"),
    anything=gettext_lazy("Anything about experiments"),
    types=[
        EventType(name="started", title=pgettext_lazy("event", "started"), sentence=_make_sentence),
        EventType(name="finished", title=pgettext_lazy("event", "ended"), sentence=_make_sentence),
        EventType(name="cancelled", title=pgettext_lazy("experiment", "cancelled"), sentence=_make_sentence),
        EventType(name="deleted", title=pgettext_lazy("event", "deleted"), sentence=_make_sentence),
    ],
)
GATES: Final = EventSubject(
    name="gate",
    audience=Audience.EDITORS,
    noun=gettext_lazy("gate"),
    title=gettext_lazy("Gates"),
    anything=gettext_lazy("Anything about gates"),
    types=[
        EventType(name="created", title=pgettext_lazy("event", "created"), sentence=_make_sentence),
        EventType(name="changed", title=pgettext_lazy("event", "changed"), sentence=_make_sentence),
        EventType(name="deleted", title=pgettext_lazy("event", "deleted"), sentence=_make_sentence),
        EventType(name="bypassed", title=pgettext_lazy("event", "bypassed"), sentence=_make_bypass_sentence),
    ],
)


_FINISHED: Final = "experiment.finished"

OF_EXPERIMENTS: Final = NotificationRule(
    condition=lambda caller: Q(
        type=_FINISHED, detail__createdBy=caller.username, detail__baselineOf__isnull=True
    )
)
"""An experiment of the person has ended. Of a pair, that is the requested experiment, not its baseline."""
TOPIC: Final = NotificationTopic(
    name="experimentFinished", title=_("my experiments, when they have ended"), types=[_FINISHED]
)
