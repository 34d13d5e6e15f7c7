"""People who get mail: their addresses, languages and time zones."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Q
from django.utils import timezone, translation

from studio.models import Preferences
from studio.preferences import LANGUAGES
from versioning.domain.zones import UTC, known_zones
from versioning.models import Membership
from versioning.models.accounts import accounts, is_mail_address

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.db.models import QuerySet

_ENGLISH: Final = "en"


def address_field() -> str | None:
    """Return the name of the field with the mail address; None if a project's accounts have none."""
    model = get_user_model()
    name = str(model.get_email_field_name())
    try:
        model._meta.get_field(name)
    except FieldDoesNotExist:
        return None
    return name


def address_of(user: User | None) -> str:
    """Return the address of an account; empty without one, for what is none, and for deactivated accounts."""
    field = address_field()
    address = str(getattr(user, field) or "") if user is not None and user.is_active and field else ""
    return address if is_mail_address(address) else ""


def reachable_in(workspace_ids: Collection[str]) -> QuerySet[User]:
    """Return the people with an address who are members of workspaces, and superusers."""
    field = address_field()
    if field is None:
        return accounts().none()
    members = Membership.objects.filter(workspace_id__in=workspace_ids, is_service=False)
    found = accounts().filter(Q(pk__in=members.values("user")) | Q(is_superuser=True), is_active=True)
    return found.exclude(**{field: ""})


def zone_of(user_id: Any) -> ZoneInfo:
    """Return the time zone that a person has chosen; UTC without a choice."""
    return _zone(Preferences.objects.of(user_id))


def _zone(preferences: Preferences) -> ZoneInfo:
    chosen = preferences.time_zone
    return ZoneInfo(chosen if chosen in known_zones() else UTC)


@contextmanager
def in_language_of(user: User | None) -> Iterator[None]:
    """Write in the language and the time zone that a person has chosen; otherwise in English, in UTC."""
    preferences = Preferences() if user is None else Preferences.objects.of(user.pk)
    language = preferences.language if preferences.language in LANGUAGES else _ENGLISH
    with ExitStack() as stack:
        stack.enter_context(translation.override(language))
        stack.enter_context(timezone.override(_zone(preferences)))
        yield
