"""The events of webhooks, and the sentences that describe them to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from studio.activity.sentences import Sentence, split_words_of_name
from versioning.domain.access import Right
from versioning.domain.events import Audience, EventSubject, EventType
from versioning.editor.notifications import NotificationRule, NotificationTopic
from versioning.models.querysets import within

if TYPE_CHECKING:
    from studio.activity.sentences import Names
    from versioning.models import Event


def _describe(event: Event, names: Names) -> Sentence:
    action = event.type.rpartition(".")[2]
    if action == "changed":
        fields = ", ".join(map(split_words_of_name, event.detail.get("fields") or ()))
        return Sentence(_("{who} changed a webhook: {fields}"), {"fields": fields})
    webhook = names.named.get((event.position, event.ordinal))
    if action == "disabled" and not event.actor and webhook is not None:
        return Sentence(
            _("The webhook {webhook} was disabled: its receiver takes no messages"), {"webhook": webhook}
        )
    sentences = {
        "created": _("{who} created a webhook"),
        "deleted": _("{who} deleted a webhook"),
        "disabled": _("{who} disabled a webhook"),
    }
    return Sentence(sentences[action])


EVENTS: Final = EventSubject(
    name="webhook",
    audience=Audience.ADMINS,
    noun=gettext_lazy("webhook"),
    title=gettext_lazy("Webhooks"),
    anything=gettext_lazy("Anything about webhooks"),
    types=[
        EventType(name="created", title=pgettext_lazy("event", "created"), sentence=_describe),
        EventType(name="changed", title=pgettext_lazy("event", "changed"), sentence=_describe),
        EventType(name="disabled", title=pgettext_lazy("event", "disabled"), sentence=_describe),
        EventType(name="deleted", title=pgettext_lazy("event", "deleted"), sentence=_describe),
    ],
)


_DISABLED: Final = "webhook.disabled"

OF_WEBHOOKS: Final = NotificationRule(
    condition=lambda caller: Q(type=_DISABLED) & within("workspace_id", caller.scope(Right.ADMINISTER))
)
"""A webhook of a workspace that the person administers was disabled."""
TOPIC: Final = NotificationTopic(
    name="webhookDisabled", title=gettext_lazy("webhooks that were disabled, to admins"), types=[_DISABLED]
)
