"""What a stream holds: the events of the feed, by the same filters, from the same positions."""

from __future__ import annotations

from tests.support.api import Kind
from tests.support.event_streams import open_stream
from tests.support.remote import connected
from tests.support.service import Service


def test_a_stream_holds_what_the_feed_holds(live_service: Service, kind: Kind) -> None:
    with connected(live_service) as api, open_stream(live_service) as stream:
        start = api.get("/events", after="now").body["next"]
        kind.make(api, "streamed", autoPublish=True)
        api.delete(kind.url("streamed"))
        stream.wait(lambda stream: len(stream.events) >= 3)
        assert stream.events == api.get("/events", after=start).body["events"]
        assert stream.last_id == str(stream.events[-1]["position"])
        assert stream.response.headers["Content-Type"] == "text/event-stream"
