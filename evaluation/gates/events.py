"""The events of gates, and the sentences that describe them to people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from studio.activity.fragments import Fragment, Sentence
from versioning.domain.events import Audience, EventSubject, EventType

if TYPE_CHECKING:
    from studio.activity.names import Names
    from versioning.models import Event

_SENTENCES: Final[Mapping[str, Promise]] = {
    "gate.created": gettext_lazy("{who} made a gate that asks for an evaluation over {dataset}"),
    "gate.changed": gettext_lazy("{who} changed the gate that asks for an evaluation over {dataset}"),
    "gate.deleted": gettext_lazy("{who} deleted the gate that asked for an evaluation over {dataset}"),
}


def _of_gate(event: Event, names: Names) -> Sentence:
    """Return the sentence about an event of a gate."""
    return Sentence(str(_SENTENCES[event.type]), {"dataset": str(event.detail.get("dataset", ""))})


def _bypassed(event: Event, names: Names) -> Sentence:
    """Return the sentence that a version was published without evidence, and why."""
    values: dict[str, Fragment | str] = {
        "version": names.version(event.version_id),
        "dataset": str(event.detail.get("dataset", "")),
        "reason": str(event.detail.get("reason") or ""),
    }
    if names.of_one:
        return Sentence(
            _("{who} published {version} without the evaluation over {dataset}: “{reason}”"), values
        )
    values["resource"] = names.resource(event)
    return Sentence(
        _("{who} published {version} of {resource} without the evaluation over {dataset}: “{reason}”"), values
    )


EVENTS: Final = EventSubject(
    name="gate",
    audience=Audience.EDITORS,
    changes_rights=False,
    noun=gettext_lazy("gate"),
    title=gettext_lazy("Gates"),
    anything=gettext_lazy("Anything about gates"),
    types=[
        EventType(name="created", title=pgettext_lazy("event", "created"), sentence=_of_gate),
        EventType(name="changed", title=pgettext_lazy("event", "changed"), sentence=_of_gate),
        EventType(name="deleted", title=pgettext_lazy("event", "deleted"), sentence=_of_gate),
        EventType(name="bypassed", title=pgettext_lazy("event", "bypassed"), sentence=_bypassed),
    ],
)
