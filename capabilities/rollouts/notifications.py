"""The bell's rule for rollouts: a step that fails concerns the person who planned it."""

from __future__ import annotations

from typing import Final

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from capabilities.rollouts.events import FAILED_STEP
from versioning.domain.access import Caller, Via
from versioning.editor.notifications import NotificationRule, NotificationTopic

_CHANGED: Final = "rollout.changed"
TOPIC: Final = NotificationTopic(
    name="stepFailed", title=_("the steps of my rollouts, if they fail"), types=[_CHANGED], has_rules=True
)


def _failed_steps(caller: Caller) -> Q:
    """Return the condition that a step failed that ran as the person."""
    return Q(type=_CHANGED, via=Via.SCHEDULE, **{f"detail__{FAILED_STEP}__isnull": False})


RULE: Final = NotificationRule(condition=_failed_steps, unattended=True, topic=TOPIC.name)
