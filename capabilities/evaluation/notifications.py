"""The bell's rule for experiments."""

from __future__ import annotations

from typing import Final

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from versioning.domain.access import Caller
from versioning.editor.notifications import NotificationRule, NotificationTopic

_FINISHED: Final = "experiment.finished"


def _own_experiments(caller: Caller) -> Q:
    """Return the condition that an experiment has ended that the person had started.

    Of a pair that is the one that was asked for, and not what it is compared with.
    """
    return Q(type=_FINISHED, detail__createdBy=caller.username, detail__baselineOf__isnull=True)


OF_EXPERIMENTS: Final = NotificationRule(condition=_own_experiments)
TOPIC: Final = NotificationTopic(
    name="experimentFinished", title=_("my experiments, when they have ended"), types=[_FINISHED]
)
