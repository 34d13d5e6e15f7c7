"""One read of the log for all streams: its cost, and streams that lag behind."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from capabilities.delivery.streams import (
    COMMENT,
    MAX_PENDING,
    PAGE,
    BlockingSubscription,
    DatabaseSilent,
    FanOut,
    KeyListener,
    Subscription,
)
from tests.conftest import Cast, cast_with
from tests.support.api import AGENTS, Api
from tests.support.people import give_role, key_of, make_cast
from versioning.domain.access import APPLICATION
from versioning.editor.event_log import EventFilter
from versioning.models import LogPosition, events
from versioning.models.keys import hash_secret
from versioning.models.log import new_epoch
from versioning.serving.followed_log import log

pytestmark = pytest.mark.usefixtures("committed_db")


@pytest.fixture
def cast(committed_db: None) -> Cast:
    """The cast, with transactions that are committed."""
    return cast_with(make_cast())


class Listener:
    """A stream without a server, and the events handed over to it, as its client would read them."""

    def __init__(self, api: Api, after: int | None = None, **only: Any) -> None:
        start = events.position() if after is None else after
        key, epoch = KeyListener(hash_secret(api.key)), events.extent().epoch
        self.stream = BlockingSubscription(key, EventFilter(**only), start, epoch, has_role=True)
        self.parts = iter(self.stream)
        next(self.parts)
        self.text = ""

    def read(self) -> list[dict[str, Any]]:
        """Read the waiting events, and return all events so far."""
        if not self.is_drained:
            self.text += next(self.parts).decode()
        datas = [line for line in self.text.split("\n") if line.startswith("data: ")]
        return [json.loads(data.removeprefix("data: ")) for data in datas]

    @property
    def is_drained(self) -> bool:
        """Whether nothing waits."""
        return not self.stream.is_waiting

    @property
    def types(self) -> list[str]:
        """The types of the events so far."""
        return [event["type"] for event in self.read()]

    @property
    def has_ended(self) -> bool:
        """Whether the server has ended it."""
        return next(self.parts, None) is None


def streams(*listeners: Listener) -> list[Subscription]:
    return [listener.stream for listener in listeners]


def cost(fan_out: FanOut, listeners: list[Listener]) -> int:
    log.follow()  # which the process does for its cached answers, too
    with CaptureQueriesContext(connection) as statements:
        fan_out.turn(streams(*listeners))
    return len(statements)


def record(count: int = 1) -> None:
    with events.transaction():
        for _ in range(count):
            events.record(
                "workspace.updated", by=APPLICATION, workspace_id="acme", fields=["name"], to="x" * 100
            )


def test_reading_the_log_costs_the_same_for_any_number_of_streams(cast: Cast) -> None:
    AGENTS.make(cast.alice, autoPublish=True)
    filters: list[dict[str, str]] = [
        {},
        {"resource_kind": "agent"},
        {"resource_id": "writer"},
        {"actor": "bob"},
    ]
    few = [Listener(cast.vera), Listener(cast.edgar)]
    more = [Listener(api, **only) for api in (cast.vera, cast.edgar) for only in filters for _ in range(5)]
    one, other = FanOut(), FanOut()
    one.turn(streams(*few))
    other.turn(streams(*few, *more))
    assert cost(one, few) == cost(other, [*few, *more]) == 0
    AGENTS.save(cast.alice, autoPublish=True)
    assert cost(one, few) == cost(other, [*few, *more]) > 0
    assert {tuple(listener.types) for listener in more[::5]} == {
        ("agent.published",),
        ("agent.versionCreated", "agent.published"),
        (),
    }


def test_rights_are_checked_when_an_event_is_read(cast: Cast) -> None:
    listeners = Listener(cast.edgar), Listener(cast.vera)
    fan_out = FanOut()
    fan_out.turn(streams(*listeners))
    give_role("edgar", "acme", "viewer")
    give_role("vera", "acme", "editor")
    AGENTS.make(cast.alice)
    fan_out.turn(streams(*listeners))
    assert [listener.types for listener in listeners] == [[], ["agent.created"]]


def test_callers_without_a_role_hear_public_events_and_those_who_lose_their_last_role_end(cast: Cast) -> None:
    User.objects.create(username="nobody")
    homeless, leaving = Listener(key_of("nobody")), Listener(cast.vera)
    homeless.stream.has_role = False
    fan_out = FanOut()
    fan_out.turn(streams(homeless, leaving))
    User.objects.get(username="vera").delete()
    AGENTS.make(cast.alice, visibility="public", autoPublish=True)
    fan_out.turn(streams(homeless, leaving))
    assert homeless.types == ["agent.published"]
    assert leaving.has_ended


def test_a_slow_client_gets_events_at_its_own_pace_and_misses_none(cast: Cast) -> None:
    slow, quick = Listener(cast.alice), Listener(cast.alice)
    fan_out = FanOut()
    fan_out.turn(streams(slow, quick))
    written = 0
    while not slow.stream.is_full:
        record(100)
        written += 100
        fan_out.turn(streams(slow, quick))
        quick.read()
    for _ in range(5):
        record(100)
        fan_out.turn(streams(slow, quick))
        quick.read()
    assert len(quick.read()) == written + 500
    while len(slow.read()) < written + 500:
        assert slow.is_drained
        fan_out.turn(streams(slow, quick))
    assert slow.read() == quick.read()
    assert len(slow.text) > MAX_PENDING


def test_a_stream_that_lags_behind_does_not_delay_other_streams(cast: Cast) -> None:
    record(3 * PAGE)
    behind, current = Listener(cast.alice, after=0), Listener(cast.alice)
    fan_out = FanOut()
    assert fan_out.turn(streams(behind, current))
    record()
    assert fan_out.turn(streams(behind, current))
    assert len(current.read()) == 1
    while behind.read()[-1:] != current.read():
        assert len(behind.read()) <= 3 * PAGE
        fan_out.turn(streams(behind, current))
    assert len(behind.read()) == 3 * PAGE + 1


def test_a_stream_ends_when_its_next_events_were_pruned(cast: Cast) -> None:
    record(3 * PAGE)
    behind, current = Listener(cast.alice, after=0), Listener(cast.alice)
    fan_out = FanOut()
    fan_out.turn(streams(behind, current))
    events.prune(timezone.now())
    fan_out.turn(streams(behind, current))
    record()
    fan_out.turn(streams(behind, current))
    assert len(current.read()) == 1
    assert behind.has_ended


def test_an_idle_stream_gets_comments_and_ends_eventually(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("capabilities.delivery.streams.LIFETIME", 0.3)
    monkeypatch.setattr(BlockingSubscription, "heartbeat", 0.01)
    key = KeyListener(hash_secret(cast.vera.key))
    parts = list(BlockingSubscription(key, EventFilter(), 0, "", has_role=True))
    assert len(parts) > 2 and set(parts) == {COMMENT}


@pytest.mark.parametrize("change", [-1, 1])
def test_streams_end_when_an_earlier_state_of_the_database_is_restored(cast: Cast, change: int) -> None:
    record(2)
    listener = Listener(cast.alice)
    fan_out = FanOut()
    fan_out.turn(streams(listener))
    newest = events.position() + change
    LogPosition.objects.update(position=newest, epoch=new_epoch())
    fan_out.turn(streams(listener))
    said = next(listener.parts).decode()
    assert said.startswith("event: error\ndata: ") and said.endswith("\n\n")
    body = json.loads(said.splitlines()[1].removeprefix("data: "))
    assert (body["code"], body["newest"], bool(body["error"])) == ("cursor_ahead", newest, True)
    assert listener.has_ended


def test_uncommitted_events_are_not_handed_over(cast: Cast) -> None:
    listener = Listener(cast.alice)
    fan_out = FanOut()
    fan_out.turn(streams(listener))
    with transaction.atomic():
        record()
        with pytest.raises(DatabaseSilent):
            fan_out.turn(streams(listener))
        transaction.set_rollback(True)
    fan_out.turn(streams(listener))
    assert listener.read() == []
    record()
    fan_out.turn(streams(listener))
    assert len(listener.read()) == 1
