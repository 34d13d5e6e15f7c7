"""Who calls with an API key, and with which rights: read once, and right until the log says otherwise."""

from __future__ import annotations

import time
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from versioning.domain.access import Caller
from versioning.domain.bounded_cache import BoundedCache
from versioning.models.keys import LAST_USED_STEP, ApiKey, digest_of
from versioning.serving.followed_log import RIGHTS, FollowedLog, Moment, log

MAX_KEYS: Final = 10_000
_DIGEST_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A usable key, as it was at some moment."""

    caller: Caller
    good_until: float
    """When it expires, or its use is to be noted again: seconds since 1970."""
    rights: bytes
    """A digest of what the caller may do, the same for all who may do the same."""
    person: bytes
    """A digest of that and of who the caller is."""


TimedKey = tuple[KnownKey, Moment]
"""A key, and when it was read."""


class FollowedKeys:
    """The keys that this process has met lately, by what is stored of their secret."""

    def __init__(self, followed: FollowedLog = log) -> None:
        self._log = followed
        self._known: BoundedCache[str, TimedKey] = BoundedCache(MAX_KEYS)

    def timed(self, text: str) -> TimedKey | None:
        """Return the key with this secret text as the process has met it, usable at this moment or not."""
        return self._known.get(digest_of(text))

    def is_right(self, timed: TimedKey, now: Moment) -> bool:
        """Say whether a key is usable at this moment, with the same rights as when it was met."""
        key, made = timed
        return self._log.is_right(made, (RIGHTS,), now) and time.time() < key.good_until

    def known(self, text: str, now: Moment) -> KnownKey | None:
        """Return the usable key with this secret text, if the process knows it without any statement."""
        timed = self.timed(text)
        return timed[0] if timed is not None and self.is_right(timed, now) else None

    def was_usable(self, text: str) -> bool:
        """Say whether the key was usable at some moment of the last minute; takes no statement."""
        known = self._known.get(digest_of(text))
        return known is not None and time.time() < known[0].good_until

    def find(self, text: str) -> KnownKey | None:
        """Return the usable key with this secret text, None when there is none; note that it is used.

        The use is noted once a minute, so that reads seldom write.
        """
        now = self._log.follow()
        known = self.known(text, now) if now else None
        if known is not None:
            return known
        row = ApiKey.objects.holding(text)
        if row is None:
            return None
        key = _read(row)
        if now is not None:
            self._known.put(row.digest, (key, now), 1)
        return key

    def clear(self) -> None:
        """Forget every key."""
        self._known.clear()


def _read(row: ApiKey) -> KnownKey:
    caller = row.caller()
    good_until = row.mark_used() + LAST_USED_STEP
    if row.expires_at is not None:
        good_until = min(good_until, row.expires_at)
    return KnownKey(
        caller=caller,
        good_until=good_until.timestamp(),
        rights=rights_digest(caller),
        person=rights_digest(caller, caller.user_id),
    )


def rights_digest(caller: Caller, *person: int | None) -> bytes:
    """Return a digest of what a caller may do, and of who it is where that is given."""
    roles = sorted(caller.roles.items())
    return blake2b(repr((caller.everywhere, roles, *person)).encode(), digest_size=_DIGEST_BYTES).digest()


keys: Final = FollowedKeys()
"""The keys as this process knows them."""
