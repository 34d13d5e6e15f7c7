"""Requests that get no stream: they are refused as in the feed, before the stream begins."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from capabilities.delivery.streams import follower
from tests.conftest import Cast
from tests.support.api import AGENTS, Answer, Api
from tests.support.door import one_connection
from tests.support.people import key_of
from tests.support.unchanged import is_refusal
from versioning.models import events

STREAM = "/events/stream"


@pytest.fixture(autouse=True)
def none_open() -> None:
    """Close streams that other tests left in unread responses."""
    if follower._open:
        gc.collect()  # it takes half a second


def opened(api: Api, *, last_event_id: str | None = None, **query: Any) -> Any:
    headers = {"Authorization": f"Bearer {api.key}"} if api.key else {}
    if last_event_id is not None:
        headers["Last-Event-ID"] = last_event_id
    return api.client.get(f"/api{STREAM}", query_params=query, headers=headers)


def ask(api: Api, **query: Any) -> Answer:
    """Request a stream, and close it immediately if it is opened."""
    response = opened(api, **query)
    with one_connection():
        response.close()
    return Answer(response.status_code, None if response.streaming else response.json(), response.headers)


def test_a_parameter_is_refused_as_in_the_feed(cast: Cast) -> None:
    for name, value in [
        ("after", "-1"),
        ("after", "yesterday"),
        ("after", "1.0"),
        ("after", "1" * 31),
        ("after", ""),
        ("type", "agent.painted"),
        ("type", "agent"),
        ("type", ","),
        ("kind", "tool"),
        ("id", ""),
        ("workspaceId", "a\x00b"),
        ("limit", "3"),
        ("before", "3"),
        ("lastEventId", "3"),
    ]:
        refused = ask(cast.alice, **{name: value})
        assert is_refusal(refused, 400, "validation_failed")
        assert refused.fields == [name]
        if name not in {"limit", "before"}:
            assert cast.alice.get("/events", **{name: value}).body == refused.body


def test_a_malformed_last_event_id_is_refused(cast: Cast) -> None:
    for value in ["now", "-1", "12, 13", "0x1", "1\r\nX-Evil: 1", "٣", "1" * 31, "x" * 8000]:
        refused = ask(cast.alice, last_event_id=value)
        assert is_refusal(refused, 400, "validation_failed")
        assert refused.fields == ["Last-Event-ID"]


def test_a_position_that_was_pruned_is_gone(cast: Cast) -> None:
    for name in ("one", "two"):
        AGENTS.make(cast.alice, name)
    first = events.position() - 1
    events.prune(timezone.now())
    AGENTS.make(cast.alice, "three")
    for refused in (ask(cast.alice, after=first), ask(cast.alice, last_event_id=str(first))):
        assert is_refusal(refused, 410, "cursor_expired")
        assert refused.body == cast.alice.get("/events", after=first).body
    assert ask(cast.alice, after=first, last_event_id=str(first + 1)).status == 200


def test_a_caller_without_a_valid_key_gets_no_stream(db: None) -> None:
    for key in ["", "ek_unknown", "ek_"]:
        refused = ask(Api(key))
        assert is_refusal(refused, 401, "unauthorized")
        assert refused.headers["WWW-Authenticate"].startswith("Bearer")


def test_streams_count_as_requests(cast: Cast, settings: Any) -> None:
    settings.EDITOR_THROTTLE = "1/day"
    assert [ask(cast.vera).status for _ in range(2)] == [200, 429]


def test_a_head_request_does_not_count_as_a_stream(cast: Cast, settings: Any) -> None:
    settings.EDITOR_STREAMS = 0
    answer = cast.vera.request("HEAD", STREAM)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/event-stream")
    refused = ask(cast.vera)
    assert is_refusal(refused, 503, "too_many_streams")
    assert int(refused.headers["Retry-After"]) >= 1


def test_streams_are_few_if_each_takes_a_thread(cast: Cast) -> None:
    streams = [opened(api) for api in (cast.vera, cast.edgar, cast.paula, cast.alice, cast.charlie)]
    assert [stream.status_code for stream in streams] == [200] * 4 + [503]
    assert "detail" not in streams[-1].json()
    with one_connection():
        streams[0].close()
    assert ask(cast.charlie).status == 200
    leave(*streams)


@pytest.mark.parametrize(("streams", "share"), [(40, 4), (19, 1), (4, 1)])
def test_one_person_may_hold_a_tenth_of_the_streams_with_any_keys(
    cast: Cast, settings: Any, streams: int, share: int
) -> None:
    settings.EDITOR_STREAMS = streams
    session = Client()
    session.force_login(User.objects.get(username="vera"))
    held = [opened(key_of("vera")) for _ in range(share - 1)]
    held.append(session.get(f"/api{STREAM}"))
    assert {stream.status_code for stream in held} == {200}
    refused = ask(key_of("vera", workspace="acme"))
    assert is_refusal(refused, 503, "too_many_streams")
    assert refused.body["detail"] == "yours" and int(refused.headers["Retry-After"]) >= 1
    assert ask(cast.edgar).status == 200
    leave(held.pop())
    assert ask(cast.vera).status == 200
    leave(*held)


def leave(*streams: Any) -> None:
    """Disconnect the clients of streams."""
    for stream in streams:
        with one_connection():
            stream.close()


@pytest.mark.parametrize(
    "query", [{"id": "secret"}, {"id": "missing"}, {"workspaceId": "acme"}, {"workspaceId": "none"}]
)
def test_filters_answer_the_same_for_unreadable_and_missing_resources(
    cast: Cast, query: dict[str, str]
) -> None:
    AGENTS.make(cast.alice, "secret", autoPublish=True)
    answer = ask(cast.charlie, **query)
    plain = ask(cast.charlie)
    assert answer.status == plain.status == 200
    assert {**answer.headers, "X-Request-ID": ""} == {**plain.headers, "X-Request-ID": ""}
