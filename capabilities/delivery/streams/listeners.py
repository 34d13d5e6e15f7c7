"""Listeners of streams: an API key or a person, whose rights are read again when they may have changed."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from rest_framework.authentication import get_authorization_header
from rest_framework.request import Request

from versioning.capabilities import session_store
from versioning.domain.access import Caller, Via
from versioning.models import ApiKey, caller_for, events
from versioning.models.accounts import accounts
from versioning.models.followers import Follower
from versioning.models.keys import hash_secret
from versioning.serving.followed_keys import bearer_key

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class Rights(NamedTuple):
    """The rights of a listener."""

    caller: Caller
    expire_at: datetime.datetime | None = None
    """When they expire."""


class Listener(Protocol):
    """The listener of a stream. Streams of equal listeners share their rights."""

    def rights(self) -> Rights | None:
        """Read the current rights; None if the listener no longer has access."""


@dataclass(frozen=True)
class KeyListener:
    """A program with an API key."""

    digest: str

    def rights(self) -> Rights | None:
        """Read the rights of the key; None if it is unknown, expired or revoked."""
        key = ApiKey.objects.find_by_digest(self.digest)
        return None if key is None else Rights(key.caller(), key.usable_until)


@dataclass(frozen=True)
class PersonListener:
    """A person who is signed in to the studio."""

    user_id: Any
    session: str

    def rights(self) -> Rights | None:
        """Read the rights of the person; None if signed out, deactivated, or after a password change."""
        user = accounts().filter(pk=self.user_id).first()
        if user is None or not user.is_active or not self._is_session_of(user):
            return None
        return Rights(caller_for(user, Via.API))

    def _is_session_of(self, user: User) -> bool:
        # Django's `get_user` would give a session from before a change of SECRET_KEY another id.
        held = session_store()(self.session).get(HASH_SESSION_KEY, "")
        known = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
        return any(constant_time_compare(held, one) for one in known)


def listener_of(request: Request) -> Listener:
    """Return the listener for an authenticated request."""
    text = bearer_key(get_authorization_header(request).decode("latin-1"))
    if text is not None:
        return KeyListener(hash_secret(text))
    session = request._request.session  # noqa: SLF001  REST framework hands over no sessions
    return PersonListener(request.user.pk, session.session_key or "")


def _note_sign_out(*, instance: Any, **_signal: Any) -> None:
    # Expired sessions are removed in bulk; their listeners have already lost access.
    if instance.expire_date > timezone.now() and SESSION_KEY in instance.get_decoded():
        events.touch()


FOLLOWER: Final = Follower(call=_note_sign_out, rows="sessions.Session")
