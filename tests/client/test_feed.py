"""Following the log, driven by hand: after any failure, every event arrives once and in order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import pytest
from editor_client.calls import Answer, Request
from editor_client.errors import CursorAhead, CursorExpired, EditorError, Unreachable
from editor_client.reads.exchange import CloseStream, Flow, NoAnswer, OpenStream, ReadStream, Send, Sleep
from editor_client.reads.feed import (
    NEVER,
    POLL_HOLDS_SECONDS,
    POLL_SECONDS,
    RETRY_STREAM_SECONDS,
    SILENCE_SECONDS,
    After,
    Feed,
    Listener,
    Outage,
    read_event,
)
from editor_client.reads.streams import WholePositions
from hypothesis import example, given
from hypothesis import strategies as st

PAGE = 3


def event(position: int, number: int = 0) -> dict[str, Any]:
    """Return an event as the server sends it; several can share a position."""
    return {
        "position": position,
        "id": f"{position}/{number}",
        "type": "agent.published",
        "createdAt": "2026-01-01T00:00:00Z",
        "actor": {"id": "ada", "via": "api", "keyPrefix": None},
    }


def ahead(newest: int) -> bytes:
    """Return the server's answer to a position beyond the end of its log."""
    return json.dumps({"error": "Ahead.", "code": "cursor_ahead", "newest": newest}).encode()


@dataclass
class Stream:
    """An open stream: the position that it has reached, and whether it was interrupted."""

    position: int
    has_begun: bool = False
    is_broken: bool = False
    rights: str = ""


@dataclass
class Log:
    """A server with a log that grows while it is read, and that fails as often as specified."""

    events: list[dict[str, Any]]
    coming: list[dict[str, Any]] = field(default_factory=list)
    """The events of later commits, one of which happens with each read of a stream or a page."""
    faults: list[int] = field(default_factory=list)
    """What goes wrong next: 0 for nothing, and else how much gets lost."""
    streams: bool = True
    pruned_to: int = 0
    now: float = 1000.0
    asked: list[str] = field(default_factory=list)
    open: Stream | None = None
    epoch: str = "first"

    def run(self, flow: Flow[Any]) -> Any:
        """Take a flow to its end."""
        try:
            effect = next(flow)
            while True:
                try:
                    done = self._do(effect)
                except NoAnswer as error:
                    effect = flow.throw(error)
                else:
                    effect = flow.send(done)
        except StopIteration as end:
            return end.value

    def _do(self, effect: Any) -> Any:
        match effect:
            case Sleep(seconds):
                self.now += seconds
            case Send(request):
                return self._page(request)
            case OpenStream(request):
                return self._open(request)
            case ReadStream(stream):
                return self._read(stream)
            case CloseStream(stream):
                assert stream is self.open
                self.open = None
        return None

    def _fault(self) -> int:
        return self.faults.pop(0) if self.faults else 0

    def _commit(self) -> None:
        """Let the next commit happen, with all events of its position."""
        position = self.coming[0]["position"] if self.coming else None
        self.events += [one for one in self.coming if one["position"] == position]
        self.coming = [one for one in self.coming if one["position"] != position]

    def _after(self, position: int) -> list[dict[str, Any]]:
        return [one for one in self.events if one["position"] > position]

    def _page(self, request: Request) -> Answer:
        if self._fault():
            raise NoAnswer("gone")
        self.asked.append(request.path)
        newest = max([0, *(one["position"] for one in self.events)])
        after = dict(request.query)["after"]
        if after == "now":
            return page([], newest, epoch=self.epoch)
        if int(after) < self.pruned_to:
            body = {"error": "Gone.", "code": "cursor_expired", "oldest": self.pruned_to}
            return Answer(410, {}, json.dumps(body).encode())
        if int(after) > newest or not self._is_of_epoch(request):
            return Answer(410, {}, ahead(newest))
        found = self._after(int(after))
        last = found[min(PAGE, len(found)) - 1]["position"] if found else newest
        shown = [one for one in found if one["position"] <= last]
        has_more = len(shown) < len(found)
        answer = page(shown, last if has_more else newest, has_more=has_more, epoch=self.epoch)
        self._commit()
        return answer

    def _open(self, request: Request) -> Any:
        fault = self._fault()
        if fault:
            raise NoAnswer("gone", sent=fault % 2 == 0)
        self.asked.append(request.path)
        if not self.streams:
            return Answer(503, {}, b'{"error": "full", "code": "too_many_streams"}')
        if not self._is_of_epoch(request):
            return Answer(410, {}, ahead(max(one["position"] for one in self.events)))
        self.open = Stream(int(dict(request.query)["after"]))
        return self.open

    def _is_of_epoch(self, request: Request) -> bool:
        return dict(request.query).get("epoch", self.epoch) == self.epoch

    def _read(self, stream: Stream) -> bytes:
        assert stream is self.open
        if stream.is_broken:
            return b""
        if not stream.has_begun:
            stream.has_begun, stream.is_broken = True, bool(self._fault())
            return b"" if stream.is_broken else b": hello\n\n"
        self._commit()
        if self.events and stream.position > self.events[-1]["position"]:
            return b"event: error\ndata: %s\n\n" % ahead(self.events[-1]["position"])
        found = self._after(stream.position)
        stream.position = found[-1]["position"] if found else stream.position
        sent = b"".join(frames(found)) or b": nothing\n\n"
        if fault := self._fault():
            stream.is_broken = True
            return sent[: -fault % len(sent)]
        return sent


def frames(events: list[dict[str, Any]]) -> Iterator[bytes]:
    """Yield events as a server streams them: the last one of each position has its id."""
    for one, following in zip_longest(events, events[1:]):
        if following is None or following["position"] != one["position"]:
            yield b"id: %d\n" % one["position"]
        yield b"data: %s\n\n" % json.dumps(one).encode()


def test_events_of_one_position_are_delivered_together_in_any_chunks() -> None:
    sent = b"".join(frames([event(1), event(2, 0), event(2, 1), event(2, 2), event(3)]))
    for cut in range(len(sent)):
        lines = WholePositions()
        for heard in (lines.feed(sent[:cut]), lines.feed(sent[cut:])):
            numbers = [read_event(data).id for data in heard]
            assert {"2/0", "2/1", "2/2"} <= set(numbers) or not {"2/0", "2/1", "2/2"} & set(numbers)
    assert WholePositions().feed(b"data: 1\n\ndata: 2\n\n: nothing new\n\n") == [b" 1", b" 2"]


def page(events: list[dict[str, Any]], following: int, *, has_more: bool = False, epoch: str) -> Answer:
    """Return a page of the log."""
    body = {"events": events, "next": following, "hasMore": has_more, "epoch": epoch}
    return Answer(200, {}, json.dumps(body).encode())


def listener(log: Log, after: After = 0, retries: int = 0) -> Listener:
    """Return a listener that uses the clock of the log's server."""
    return Listener(lambda: log.now, 10, retries, after, {})


def hear(log: Log, listening: Listener, number: int, steps: int = 1000) -> list[str]:
    """Return the ids of that many events, or of all that arrive within the steps."""
    heard: list[str] = []
    for _ in range(steps):
        heard += [one.id for one in log.run(listening.next())]
        if len(heard) >= number:
            break
    return heard


@given(
    st.lists(st.integers(1, 3), max_size=10),
    st.integers(0, 3),
    st.lists(st.one_of(st.just(0), st.just(0), st.integers(1, 400)), max_size=40),
    st.booleans(),
)
@example(sharing=[2], already=0, faults=[0, 0, 50], streams=True)  # breaks off within a position
def test_every_event_arrives_once_and_in_order(
    sharing: list[int], already: int, faults: list[int], streams: bool
) -> None:
    events = [event(place, n) for place, number in enumerate(sharing, 1) for n in range(number)]
    expected = [one["id"] for one in events]
    there = [one for one in events if one["position"] <= already]
    log = Log(there, events[len(there) :], [0, *faults], streams)
    listening = listener(log)
    assert hear(log, listening, len(expected)) == expected
    assert hear(log, listening, 1, steps=10) == []
    log.events.append(event(100))
    assert hear(log, listening, 1) == ["100/0"]


def test_a_batch_reports_how_long_the_client_is_up_to_date() -> None:
    log = Log([event(1), event(2), event(3), event(4)], faults=[0, 0, 0, 0, len(b": nothing\n\n")])
    feed = Feed(lambda: log.now, after=0, filters=(), streamed=True, timeout=10)
    said = []
    for _ in range(6):
        batch = log.run(feed.next())
        said.append((len(batch.events), batch.begins, None if batch.until is None else batch.until - log.now))
    assert said == [
        (PAGE, True, None),  # there are more
        (1, False, POLL_HOLDS_SECONDS),
        (0, False, None),  # the stream is open
        (0, False, SILENCE_SECONDS),  # and says something
        (0, False, NEVER),  # it breaks off
        (0, True, POLL_HOLDS_SECONDS),
    ]


def test_without_a_stream_the_log_is_polled_once_a_second(caplog: pytest.LogCaptureFixture) -> None:
    log = Log([event(1)], streams=False)
    listening = listener(log)
    began = log.now
    hear(log, listening, 2, steps=30)
    pages = log.asked.count("/events")
    assert log.now - began == pytest.approx((pages - 1) * POLL_SECONDS)
    assert log.asked.count("/events/stream") == 1
    log.now += RETRY_STREAM_SECONDS * 1.5
    log.streams = True
    hear(log, listening, 2, steps=5)
    assert log.open is not None
    [line] = [line for line in caplog.messages if "cannot be streamed" in line]
    assert "503 too_many_streams" in line


def test_a_stream_that_delivers_nothing_is_not_retried_immediately() -> None:
    log = Log([event(1)], faults=[0, 0, 1])
    listening = listener(log)
    assert hear(log, listening, 2, steps=20) == ["1/0"]
    assert log.asked.count("/events/stream") == 1 and log.asked.count("/events") > 3


def test_events_pruned_unread_are_an_error_unless_following_began_at_now(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = Log([event(5)], pruned_to=4)
    with pytest.raises(CursorExpired) as raised:
        hear(log, listener(log, 2), 1)
    assert (raised.value.status, raised.value.oldest) == (410, 4)
    log = Log([event(1)], streams=False)
    listening = listener(log, "now")
    assert hear(log, listening, 1, steps=2) == []
    log.events, log.pruned_to = [event(9)], 8
    assert hear(log, listening, 1) == ["9/0"]
    assert any("Some events are missed" in line for line in caplog.messages)


@pytest.mark.parametrize("streams", [True, False])
def test_a_restored_log_is_an_error_unless_following_began_at_now(streams: bool) -> None:
    log = Log([event(5)], streams=streams)
    listening, from_now = listener(log), listener(log, "now")
    assert hear(log, listening, 1) == ["5/0"]
    hear(log, listening, 1, steps=5)
    log.events = [event(2)]
    with pytest.raises(CursorAhead) as raised:
        hear(log, listening, 1, steps=5)
    assert (raised.value.status, raised.value.newest, log.open) == (410, 2, None)
    log.events = [event(5)]
    hear(log, from_now, 1, steps=5)
    log.events = [event(2)]
    hear(log, from_now, 1, steps=3)
    log.events.append(event(3))
    assert hear(log, from_now, 1) == ["3/0"]


@pytest.mark.parametrize("streams", [True, False])
def test_a_restored_log_that_has_grown_is_an_error_unless_following_began_at_now(streams: bool) -> None:
    log = Log([event(5)], streams=streams)
    listening, from_now = listener(log), listener(log, "now")
    assert hear(log, listening, 1) == ["5/0"]
    hear(log, from_now, 1, steps=2)
    log.events, log.epoch, log.faults = [event(5, 1), event(6, 1)], "second", [0, 1]
    with pytest.raises(CursorAhead):
        hear(log, listening, 1, steps=5)
    log.faults, log.open = [], None
    if from_now.feed.stream is not None:
        from_now.feed.stream.is_broken = True
        log.open = from_now.feed.stream
    assert hear(log, from_now, 1, steps=6) == []
    log.events.append(event(7, 1))
    assert hear(log, from_now, 1) == ["7/1"]


def test_a_first_error_is_raised() -> None:
    log = Log([], faults=[1] * 3)
    with pytest.raises(Unreachable):
        hear(log, listener(log, retries=2), 1, steps=3)
    assert log.asked == []
    log._page = lambda request: Answer(400, {}, b'{"error": "no", "code": "validation_failed"}')  # type: ignore[method-assign]
    with pytest.raises(EditorError) as raised:
        hear(log, listener(log), 1)
    assert raised.value.status == 400


def test_after_a_first_answer_the_client_waits_for_the_server_to_return() -> None:
    log = Log([event(1)], streams=False)
    listening = listener(log)
    assert hear(log, listening, 1) == ["1/0"]
    log.faults = [1] * 50
    log.events.append(event(2))
    began = log.now
    assert hear(log, listening, 1) == ["2/0"]
    assert log.now - began < 60


def test_the_reason_of_an_outage_is_a_sentence_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    for reason in ("[Errno 111] Connection refused", "Server disconnected."):
        Outage().record_failure(NoAnswer(reason), "More follows.")
    assert caplog.messages == [
        "events cannot be read: [Errno 111] Connection refused. More follows.",
        "events cannot be read: Server disconnected. More follows.",
    ]


class Frozen(Log):
    """A server that stops answering, but keeps its connections."""

    is_frozen: bool = False

    def _do(self, effect: Any) -> Any:
        if self.is_frozen and isinstance(effect, Send | OpenStream | ReadStream):
            self.now = effect.deadline
            raise NoAnswer("it took too long", in_time=False)
        return super()._do(effect)


def test_a_stream_that_falls_silent_is_an_outage_and_missed_events_follow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = Frozen([event(1)])
    listening = listener(log)
    assert hear(log, listening, 2, steps=4) == ["1/0"] and log.open is not None
    log.is_frozen = True
    began = log.now
    assert log.run(listening.next()) == () and log.open is None
    assert log.now - began >= SILENCE_SECONDS
    assert [line for line in caplog.messages if "it took too long. The client retries" in line]
    log.is_frozen = False
    log.events.append(event(2))
    assert hear(log, listening, 1) == ["2/0"]
