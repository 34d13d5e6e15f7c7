"""What lies under an earlier `SECRET_KEY`, and putting it under the newest, so that a fallback may go."""

from __future__ import annotations

from typing import Any, Final

from django.apps import apps
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.contrib.sessions.backends.db import SessionStore
from django.core import signing

from versioning.capabilities import session_store
from versioning.models.sealed_keys import SealedKey

_AT_ONCE: Final = 500


def sealed_keys() -> list[type[SealedKey]]:
    """Return the models of stored keys, of all applications."""
    return [model for model in apps.get_models() if issubclass(model, SealedKey)]


def rotate_sessions() -> int:
    """Sign the sessions that an earlier `SECRET_KEY` has signed under the newest; return how many.

    People stay signed in. Sessions that are not stored in the database have nothing to sign again.
    """
    store = session_store()
    if not issubclass(store, SessionStore):
        return 0
    rows = store.get_model_class()._default_manager
    changed = 0
    for row in rows.order_by("pk").iterator(_AT_ONCE):
        held = store().decode(row.session_data)
        if held and _rotated(store(), row.session_data, held):
            # A session that changed in the meantime was signed anew by that.
            changed += rows.filter(pk=row.pk, session_data=row.session_data).update(
                session_data=store().encode(held)
            )
    return changed


def _rotated(store: Any, data: str, held: dict[str, Any]) -> bool:
    """Bring the contents of a session up to date; return whether anything is under an earlier key."""
    try:
        signing.loads(data, salt=store.key_salt, serializer=store.serializer, fallback_keys=[])
        was_signed_earlier = False
    except signing.BadSignature:
        was_signed_earlier = True
    known, person_id = held.get(HASH_SESSION_KEY), held.get(SESSION_KEY)
    person = get_user_model()._default_manager.filter(pk=person_id).first() if known and person_id else None
    if person is not None and known in set(person.get_session_auth_fallback_hash()):
        held[HASH_SESSION_KEY] = person.get_session_auth_hash()
        return True
    return was_signed_earlier
