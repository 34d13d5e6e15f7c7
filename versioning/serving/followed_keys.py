"""The callers of API keys: read once, and valid until the log reports a change of rights."""

from __future__ import annotations

import time
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from editor_client.shared import canonical

from versioning.domain.access import Caller
from versioning.domain.bounded_cache import BoundedCache
from versioning.models.keys import LAST_USED_STEP, ApiKey, hash_secret
from versioning.models.log import name_installation
from versioning.serving.followed_log import RIGHTS, FollowedLog, Moment, log

MAX_KEYS: Final = 10_000
RIGHTS_HEADER: Final = "Editor-Rights"
"""The header of answers with the name of the rights for which they were made."""
_DIGEST_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A usable key, as read at some moment."""

    caller: Caller
    good_until: float
    """When it expires, or its use must be recorded again: seconds since 1970."""
    rights: bytes
    """A digest of the caller's rights, equal for callers with the same rights."""
    person: bytes
    """A digest of the rights and the person."""
    rights_name: str
    """The name of the rights (`rights_name`)."""


TimedKey = tuple[KnownKey, Moment]
"""A key, and the moment when it was read."""


class FollowedKeys:
    """The keys that this process has seen recently, by the stored hash of their secret."""

    def __init__(self, followed: FollowedLog = log) -> None:
        self._log = followed
        self._keys: BoundedCache[str, TimedKey] = BoundedCache(MAX_KEYS)

    def find_timed(self, authorization: str) -> TimedKey | None:
        """Return the key in the header `Authorization` as last read, still usable or not."""
        text = bearer_key(authorization)
        return self._keys.get(hash_secret(text)) if text else None

    def is_right(self, timed: TimedKey, now: Moment) -> bool:
        """Return whether a key is still usable with the same rights as when it was read."""
        key, moment = timed
        return self._log.is_right(moment, (RIGHTS,), now) and time.time() < key.good_until

    def was_usable(self, text: str) -> bool:
        """Return whether the key was usable within the last minute; takes no statement."""
        timed_key = self._keys.get(hash_secret(text))
        return timed_key is not None and time.time() < timed_key[0].good_until

    def find(self, text: str, now: Moment | None = None) -> KnownKey | None:
        """Return the usable key with this secret, or None; record that it is used.

        `now` is a moment since the request has arrived, if one is known. The use is recorded once a minute,
        so that reads seldom write.
        """
        now, timed = now or self._log.follow(), self._keys.get(hash_secret(text))
        if now is not None and timed is not None and self.is_right(timed, now):
            return timed[0]
        row = ApiKey.objects.holding(text)
        if row is None:
            return None
        key = _read(row)
        if now is not None:
            self._keys.put(row.digest, (key, now), 1)
        return key

    def clear(self) -> None:
        self._keys.clear()


def _read(row: ApiKey) -> KnownKey:
    row.installation = row.installation or name_installation()
    caller = row.caller()
    good_until = row.mark_used() + LAST_USED_STEP
    good_until = min(good_until, row.usable_until or good_until)
    return KnownKey(
        caller=caller,
        good_until=good_until.timestamp(),
        rights=rights_digest(caller),
        person=rights_digest(caller, caller.user_id),
        rights_name=rights_name(caller),
    )


def bearer_key(authorization: str) -> str | None:
    """Return the key of the header `Authorization: Bearer ek_…`; None without one or with another scheme."""
    scheme, _, text = authorization.partition(" ")
    return text.strip() or None if scheme.lower() == "bearer" else None


def rights_digest(caller: Caller, *person: int | None) -> bytes:
    """Return a digest of a caller's rights, and of the person if given."""
    roles, actions = sorted(caller.roles.items()), caller.actions and sorted(caller.actions)
    rights = (caller.everywhere, roles, actions, caller.id_prefix, *person)
    return blake2b(repr(rights).encode(), digest_size=_DIGEST_BYTES).digest()


def rights_name(caller: Caller) -> str:
    """Return the name of a key's rights, by which clients cache; empty without a key.

    It does not reveal the rights. In one installation, equal rights have equal names, in every process and
    after every restart.
    """
    if not caller.installation:
        return ""
    actions = None if caller.actions is None else sorted(caller.actions)
    rights = canonical.dump([caller.everywhere, sorted(caller.roles.items()), actions, caller.id_prefix])
    key = caller.installation.encode()
    return f"{caller.installation}-{blake2b(rights.encode(), digest_size=_DIGEST_BYTES, key=key).hexdigest()}"


keys: Final = FollowedKeys()
"""The keys that this process has cached."""
