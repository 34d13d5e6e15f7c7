"""Reading several rows as of one moment, although each statement sees everything committed before it.

A release publishes an agent and its blocks in one transaction. A request that read the agent before that
commit and a block after it would serve half of the release. A transaction around every read would prevent
that at the price of two round trips. The log needs only one: its position is read before and after, and if
nothing relevant was committed in between, all statements have seen the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from django.db import connection, transaction

from versioning.domain.errors import VersioningError
from versioning.serving.followed_log import Dependency, FollowedLog, log

T = TypeVar("T")

ATTEMPTS: Final = 3
"""How often to read before a transaction is opened."""


def consistently(
    read: Callable[[], T], about: Callable[[T], Iterable[Dependency]], *, followed: FollowedLog = log
) -> T:
    """Return the result of `read`, with everything in it read as of one moment.

    `read` may be called several times. `about` returns the dependencies of its result; an error depends on
    everything. Within a transaction of the caller, it is called once.
    """
    for _ in range(ATTEMPTS):
        begun = followed.follow()
        if begun is None:  # in a transaction, or the database is unavailable
            break
        try:
            found = read()
        except VersioningError:
            ended = followed.follow()
            if ended is None or ended.step == begun.step:
                raise
            continue
        ended = followed.follow()
        if ended is None or followed.is_right(begun, about(found), ended):
            return found
    if connection.in_atomic_block:
        return read()
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        return read()
