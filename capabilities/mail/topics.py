"""What this application itself sends, which people can turn off."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from capabilities.mail.models import MailKind, MailPreferences
from versioning.domain.events import types
from versioning.editor import notifications
from versioning.editor.notifications import NotificationTopic

INVITATION: Final = NotificationTopic(name=MailKind.INVITATION.value, title=_("invitations to workspaces"))
FORGOTTEN_PASSWORD: Final = NotificationTopic(
    name=MailKind.FORGOTTEN_PASSWORD.value, title=_("a new password, if I have forgotten mine")
)
OWN: Final = (INVITATION, FORGOTTEN_PASSWORD)


def offered() -> list[NotificationTopic]:
    """Return the topics that there is mail about: not those without any known event."""
    known = types()
    return [
        topic
        for topic in notifications.topics()
        if topic in OWN or any(name in known for name in topic.types)
    ]


def types_sent() -> set[str]:
    """Return the types of events that are sent."""
    known = types()
    return {name for topic in notifications.topics() for name in topic.types if name in known}


def wanted_by(preferences: MailPreferences) -> list[str]:
    """Return the names of the topics that a person has not turned off."""
    return [topic.name for topic in notifications.topics() if preferences.wants(topic.name)]
