"""Recipients of mail: their addresses, languages, time zones and preferences."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Q
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from capabilities.mail.models import MailKind, MailPreferences
from studio.models import Preferences
from studio.preferences import LANGUAGES
from versioning.domain.events import types
from versioning.domain.zones import UTC, known_zones
from versioning.editor import notifications
from versioning.editor.notifications import NotificationTopic
from versioning.models import Membership
from versioning.models.accounts import accounts, is_mail_address

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.db.models import QuerySet


def address_field() -> str | None:
    """Return the name of the field with the mail address; None if a project's accounts have none."""
    model = get_user_model()
    name = str(model.get_email_field_name())
    try:
        model._meta.get_field(name)
    except FieldDoesNotExist:
        return None
    return name


def mail_address(user: User | None) -> str:
    """Return the address of an account; empty without a valid one, and for deactivated accounts."""
    field = address_field()
    address = str(getattr(user, field) or "") if user is not None and user.is_active and field else ""
    return address if is_mail_address(address) else ""


def wanted_address(user: Any, topic: str) -> str:
    """Return the address of an account, if there is one and it wants mail about a topic."""
    address = mail_address(user)
    is_wanted = address and MailPreferences.objects.of([user.pk])[user.pk].wants(topic)
    return address if is_wanted else ""


def reachable_in(workspace_ids: Collection[str]) -> QuerySet[User]:
    """Return the people with an address who are members of workspaces, and superusers."""
    field = address_field()
    if field is None:
        return accounts().none()
    members = Membership.objects.filter(workspace_id__in=workspace_ids, is_service=False)
    people = accounts().filter(Q(pk__in=members.values("user")) | Q(is_superuser=True), is_active=True)
    return people.exclude(**{field: ""})


def chosen_zone(preferences: Preferences) -> ZoneInfo:
    """Return the time zone that a person has chosen; UTC without a choice."""
    return ZoneInfo(preferences.time_zone if preferences.time_zone in known_zones() else UTC)


@contextmanager
def in_language(user: User | None) -> Iterator[None]:
    """Write in the language and the time zone that a person has chosen; otherwise in English, in UTC."""
    preferences = Preferences() if user is None else Preferences.objects.of(user.pk)
    language = preferences.language if preferences.language in LANGUAGES else "en"
    with translation.override(language), timezone.override(chosen_zone(preferences)):
        yield


INVITATION: Final = NotificationTopic(name=MailKind.INVITATION.value, title=_("invitations to workspaces"))
FORGOTTEN_PASSWORD: Final = NotificationTopic(
    name=MailKind.FORGOTTEN_PASSWORD.value, title=_("a new password, if I have forgotten mine")
)
OWN: Final = (INVITATION, FORGOTTEN_PASSWORD)


def list_topics() -> list[NotificationTopic]:
    """Return the topics with mail: those with at least one known event."""
    declared = types()
    return [
        topic
        for topic in notifications.topics()
        if topic in OWN or any(name in declared for name in topic.types)
    ]


def types_sent() -> set[str]:
    """Return the types of events that are sent."""
    declared = types()
    return {name for topic in notifications.topics() for name in topic.types if name in declared}


def wanted_by(preferences: MailPreferences) -> list[str]:
    """Return the names of the topics that a person has not turned off."""
    return [topic.name for topic in notifications.topics() if preferences.wants(topic.name)]
