"""What another server lacks that has replayed the log to an earlier position."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.db import connection

from versioning.models.events import Change
from versioning.serving.followed_log import FollowedLog, Moment, consistently


class Log:
    """A log with an entry about a different agent at each position, and a clock."""

    def __init__(self) -> None:
        self.position, self.time = 10, 100.0
        self.followed = FollowedLog(lambda: self.position, self.read, lambda: self.time)
        self.followed.follow()

    def read(self, after: int, until: int, _limit: int) -> Sequence[Change]:
        return [
            Change(position, "agent.published", "agent", f"agent-{position}")
            for position in range(after + 1, until + 1)
        ]

    def advance(self, positions: int) -> Moment:
        self.position += positions
        now = self.followed.follow()
        assert now is not None
        return now

    def lacks(self, position: int, *numbers: int) -> list[int]:
        """Return which agents have changed since a server was at the position."""
        since, now = self.followed.moment_at(position, 5), self.followed.current_moment
        assert since is not None
        return [one for one in numbers if not self.followed.is_right(since, [("agent", f"agent-{one}")], now)]


def test_a_server_lacks_what_came_after_its_position_and_nothing_else() -> None:
    log = Log()
    log.advance(3)
    log.advance(2)
    assert log.lacks(12, *range(8, 16)) == [13, 14, 15]
    assert log.lacks(14, *range(8, 16)) == [15]
    assert log.lacks(15, *range(8, 16)) == log.lacks(99, *range(8, 16)) == []


def test_a_server_that_was_late_for_too_long_has_no_moment() -> None:
    log = Log()
    log.advance(1)
    log.time += 4
    log.advance(1)
    log.time += 2
    assert log.followed.moment_at(10, 5) is None  # it has lacked 11 for six seconds
    assert log.followed.moment_at(11, 5) is not None
    assert log.followed.moment_at(12, 0) is not None


@pytest.mark.parametrize("position", [9, 0])
def test_a_position_before_this_process_began_has_no_moment(position: int) -> None:
    assert Log().followed.moment_at(position, 5) is None


def test_positions_before_a_restore_have_no_moment() -> None:
    log = Log()
    log.advance(5)
    log.position = 7
    log.followed.follow()
    log.advance(5)
    assert log.followed.moment_at(11, 5) is not None
    assert log.lacks(10, 11, 12) == [11, 12]
    assert log.followed.moment_at(6, 5) is None


@pytest.mark.usefixtures("committed_db")
def test_what_is_read_while_the_position_is_unknown_is_read_in_a_transaction() -> None:
    blind = FollowedLog(lambda: None)
    read = lambda: connection.in_atomic_block  # noqa: E731  says how it was called
    assert consistently(read, lambda _: [("agent", "writer")], followed=blind) is True
    assert consistently(read, lambda _: [("agent", "writer")], followed=Log().followed) is False
