"""Which answers an event makes stale: those that it concerns, and all answers if that is uncertain."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from editor_client.calls import Answer, Resource
from editor_client.reads.cache import Entry, Ticket
from editor_client.reads.feed import LogEvent
from editor_client.reads.following import TRUSTED_SECONDS, Freshness

WRITER, TONE = Resource("agents", "writer"), Resource("prompt-blocks", "tone")


class Held:
    """Answers that were requested in sequence, and the events received meanwhile."""

    def __init__(self) -> None:
        self.now = 0.0
        numbers = count()
        self._number = lambda: next(numbers)
        self.freshness = Freshness(lambda: self.now, self._number)

    def follow(self) -> None:
        """Begin to listen, and go on for long."""
        self.freshness.begin()
        self.freshness.until(10**9)

    def ask(self, *concerns: Resource) -> Entry:
        """Return an answer that is requested now."""
        ticket = Ticket(self._number(), self.now, 0)
        return Entry(ticket, Answer(200, {}, b""), None, concerns=concerns)

    def hear(self, kind: str | None, resource_id: str = "", event_type: str = "x.y") -> None:
        """Receive an event about a resource, or about none."""
        resource = None if kind is None else {"kind": kind, "id": resource_id}
        raw: dict[str, Any] = {
            "position": 1,
            "id": "1",
            "type": event_type,
            "createdAt": "2026-01-01T00:00:00Z",
        }
        self.freshness.hear([LogEvent.of({**raw, "resource": resource, "actor": {"via": "api"}})])


@pytest.fixture
def held() -> Held:
    held = Held()
    held.follow()
    return held


def test_no_answer_from_before_the_log_was_followed_is_fresh() -> None:
    held = Held()
    early = held.ask(WRITER)
    assert not held.freshness.covers(early)
    held.follow()
    assert not held.freshness.covers(early) and held.freshness.covers(held.ask(WRITER))


def test_an_event_concerns_its_resource_and_all_of_an_unknown_kind(held: Held) -> None:
    for kind, resource_id, writer, shows_tone in (
        ("agent", "writer", False, False),
        ("agent", "other", True, True),
        ("promptBlock", "tone", True, False),
        ("promptBlock", "writer", True, True),
        ("recipe", "writer", False, False),
        (None, "", False, False),
    ):
        plain, showing = held.ask(WRITER), held.ask(WRITER, TONE)
        held.hear(kind, resource_id)
        assert (held.freshness.covers(plain), held.freshness.covers(showing)) == (writer, shows_tone)
        assert held.freshness.covers(held.ask(WRITER, TONE))


def test_an_answer_that_was_requested_before_the_event_is_stale(held: Held) -> None:
    on_its_way = held.ask(WRITER)
    held.hear("agent", "writer")
    held.hear("agent", "other")
    assert not held.freshness.covers(on_its_way)


def test_an_answer_is_fresh_for_a_limited_time(held: Held) -> None:
    entry = held.ask(WRITER)
    held.now = TRUSTED_SECONDS - 1
    assert held.freshness.covers(entry)
    held.now = TRUSTED_SECONDS
    assert not held.freshness.covers(entry)
    entry = held.ask(WRITER)
    held.freshness.until(held.now + 10)
    held.now += 9.9
    assert held.freshness.covers(entry)
    held.now += 0.1
    assert not held.freshness.covers(entry)


def test_with_too_many_changes_to_remember_all_answers_are_stale(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("editor_client.reads.following.MAX_RESOURCES", 3)
    entry = held.ask(WRITER)
    for number in range(3):
        held.hear("agent", f"other-{number}")
    assert held.freshness.covers(entry)
    held.hear("agent", "one-more")
    assert not held.freshness.covers(entry) and held.freshness.covers(held.ask(WRITER))
