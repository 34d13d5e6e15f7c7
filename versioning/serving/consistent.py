"""Reading several rows as they were at one moment, although each statement sees what is committed by then.

A release publishes an agent and its blocks in one transaction. Who reads the agent before that commit and
a block after it would serve half of it. A transaction around every read would prevent that, at the price of
two round trips. The log does it for one: its position is asked before and after, and where nothing was
committed in between that the answer depends on, all statements have seen the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from django.db import connection, transaction

from versioning.domain.errors import VersioningError
from versioning.serving.followed_log import Dependency, FollowedLog, log

T = TypeVar("T")

ATTEMPTS: Final = 3
"""How often something is read before a transaction is opened for it."""


def consistently(
    read: Callable[[], T], about: Callable[[T], Iterable[Dependency]], *, followed: FollowedLog = log
) -> T:
    """Return what `read` returns, all of it as it was stored at one moment.

    `read` may be called several times. `about` says what its result depends on; an error that it raises
    counts as depending on everything. Within a transaction of the caller's it is called once.
    """
    for _ in range(ATTEMPTS):
        begun = followed.follow()
        if begun is None:  # in a transaction, or the database is away
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
