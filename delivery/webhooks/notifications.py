"""The bell's rule for webhooks."""

from __future__ import annotations

from typing import Final

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from versioning.domain.access import Caller, Right
from versioning.editor.notifications import NotificationRule, NotificationTopic
from versioning.models.querysets import within

_DISABLED: Final = "webhook.disabled"


def _disabled(caller: Caller) -> Q:
    """Return the condition that a webhook of a workspace that the person administers was disabled."""
    return Q(type=_DISABLED) & within("workspace_id", caller.scope(Right.ADMINISTER))


OF_WEBHOOKS: Final = NotificationRule(condition=_disabled)
TOPIC: Final = NotificationTopic(
    name="webhookDisabled", title=_("webhooks that were disabled, to admins"), types=[_DISABLED]
)
