"""The rights of those who listen, read again whenever they may have changed."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils import timezone

from delivery.streams.listeners import Listener, Rights
from delivery.streams.subscription import Subscription
from versioning.domain.access import Caller
from versioning.serving.followed_log import RIGHTS, Moment, log

Listening = list[tuple[Subscription, Caller]]
"""Open streams, each with the current rights of who listens."""


class KnownRights:
    """The rights of all who listen, as they were read at some moment."""

    def __init__(self) -> None:
        self._known: dict[Listener, tuple[Rights | None, Moment]] = {}

    def of(self, streams: Sequence[Subscription], now: Moment) -> Listening:
        """Return the streams that may go on; end those whose listener is not let in any more.

        So ends, too, what has lost the last role that it rested on. Who listens without a role, to what is
        public, may go on.
        """
        listeners = {stream.listener for stream in streams}
        self._known = {listener: self._current(listener, now) for listener in listeners}
        listening = []
        for stream in streams:
            rights = self._known[stream.listener][0]
            has_role = rights is not None and rights.caller.has_role
            if rights is None or (stream.has_role and not has_role):
                stream.end()
            else:
                stream.has_role = has_role
                listening.append((stream, rights.caller))
        return listening

    def _current(self, listener: Listener, now: Moment) -> tuple[Rights | None, Moment]:
        known = self._known.get(listener)
        if known is not None and log.is_right(known[1], (RIGHTS,), now) and _lasts(known[0]):
            return known
        return listener.rights(), now


def _lasts(rights: Rights | None) -> bool:
    return rights is not None and (rights.expire_at is None or rights.expire_at > timezone.now())
