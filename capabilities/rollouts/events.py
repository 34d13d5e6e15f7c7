"""The events of rollouts, and the sentences that describe them to people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from studio.activity.sentences import Sentence
from versioning.domain.access import Via
from versioning.domain.events import Audience, EventSubject, EventType
from versioning.editor.notifications import NotificationRule, NotificationTopic

if TYPE_CHECKING:
    from studio.activity.sentences import Names
    from versioning.models import Event


FAILED_STEP: Final = "failedStep"
"""The member of the detail of `rollout.changed` with the name of the arm that a step did not widen."""
_SENTENCES: Final[Mapping[str, tuple[Promise, Promise]]] = {
    "rollout.started": (
        gettext_lazy("{who} started a rollout of {resource}: {shares}"),
        gettext_lazy("{who} started a rollout: {shares}"),
    ),
    "rollout.changed": (
        gettext_lazy("{who} changed the rollout of {resource}: {shares}"),
        gettext_lazy("{who} changed the rollout: {shares}"),
    ),
    "rollout.stopped": (
        gettext_lazy("{who} stopped the rollout of {resource}"),
        gettext_lazy("{who} stopped the rollout"),
    ),
    "rollout.completed": (
        gettext_lazy("{who} made “{arm}” of the rollout of {resource} live"),
        gettext_lazy("{who} made “{arm}” of the rollout live"),
    ),
}
"""By type: the sentence that names the resource, and the form for the resource's own page."""
_FAILED_STEP: Final = (
    gettext_lazy(
        "The rollout of {resource} was not widened, although {who} had planned it. It stays at {shares}"
    ),
    gettext_lazy("The rollout was not widened, although {who} had planned it. It stays at {shares}"),
)


def _describe_rollout(event: Event, names: Names) -> Sentence:
    weights = event.detail.get("weights") or {}
    shares = ", ".join(f"{name} {percentage(weight)}" for name, weight in weights.items())
    values = {"shares": shares, "arm": str(event.detail.get("arm") or "")}
    sentence, short = _FAILED_STEP if FAILED_STEP in event.detail else _SENTENCES[event.type]
    if names.of_one:
        return Sentence(str(short), values)
    return Sentence(str(sentence), {"resource": names.resource(event), **values})


def percentage(weight: int) -> str:
    return gettext("%(share)s%%") % {"share": f"{weight / 100:g}"}


EVENTS: Final = EventSubject(
    name="rollout",
    audience=Audience.READERS,
    noun=gettext_lazy("rollout"),
    title=gettext_lazy("Rollouts"),
    anything=gettext_lazy("Anything about rollouts"),
    types=[
        EventType(name="started", title=pgettext_lazy("event", "started"), sentence=_describe_rollout),
        EventType(name="changed", title=pgettext_lazy("event", "changed"), sentence=_describe_rollout),
        EventType(name="stopped", title=pgettext_lazy("event", "stopped"), sentence=_describe_rollout),
        EventType(name="completed", title=pgettext_lazy("event", "completed"), sentence=_describe_rollout),
    ],
)
_CHANGED: Final = "rollout.changed"
TOPIC: Final = NotificationTopic(
    name="stepFailed", title=_("the steps of my rollouts, if they fail"), types=[_CHANGED], has_rules=True
)


RULE: Final = NotificationRule(
    condition=lambda _caller: Q(type=_CHANGED, via=Via.SCHEDULE, **{f"detail__{FAILED_STEP}__isnull": False}),
    unattended=True,
    topic=TOPIC.name,
)
