"""The cache: which answers it stores, for how long they are fresh, and what removes them."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from editor_client import EditorError, Forbidden, NotFound, Unauthorized, Unreachable

from tests.support.clients import Clients, Clock, with_both_clients
from tests.support.misbehaving import Misbehaving, hang_up, record, says
from tests.support.relay import Relay, relay_to
from tests.support.service import Service

LONG = 1000
ONE, TWO = record('"1"'), record('"2"', instructions="two")


def text(client: Any, **selector: str) -> str:
    """Read `writer` and return its instructions."""
    return str(client.get_stored_agent("writer").details(**selector).instructions)


@pytest.fixture
def agent(client: Any, new_id: str) -> Any:
    """A published agent of the real server."""
    client.create_stored_agent(id=new_id, name="Writer", instructions="one")
    return client.get_stored_agent(new_id)


class TestTheRealServer:
    """A publish is seen at the next revalidation; removed versions are not served any more."""

    @pytest.mark.processes
    def test_a_publish_by_another_caller_is_seen_at_the_next_read(
        self, client: Any, connect: Clients, agent: Any, live_service: Service
    ) -> None:
        other = connect(live_service.url, live_service.key)
        assert client.get_agent(agent.id).details().instructions == "one"
        assert agent.details() is agent.details()
        other.get_stored_agent(agent.id).update(instructions="two", auto_publish=True)
        assert client.get_agent(agent.id).details().instructions == "two"

    @pytest.mark.processes
    def test_a_removed_label_is_not_served_after_one_answer(
        self, connect: Clients, agent: Any, relay: Relay, live_service: Service
    ) -> None:
        agent.set_label("tested", agent.details().active_version_id)
        labelled = connect(relay.url, live_service.key).get_agent(agent.id, label="tested")
        assert labelled.details().instructions == "one"
        agent.remove_label("tested")
        with pytest.raises(NotFound):
            labelled.details()
        relay.cut()
        with pytest.raises(Unreachable):
            labelled.details()


@pytest.fixture
def relay(live_service: Service) -> Iterator[Relay]:
    """A way to the real server that can be cut."""
    with relay_to(live_service.url) as relay:
        yield relay


def test_by_default_every_read_is_revalidated(connect: Clients, server: Misbehaving) -> None:
    client = connect(server.url)
    server.does(ONE, TWO)
    assert [text(client) for _ in range(3)] == ["one", "two", "two"]
    assert [one.headers.get("if-none-match") for one in server.asked] == [None, '"1"', '"2"']


def test_a_fresh_answer_is_not_requested_again_until_it_is_too_old(
    connect: Clients, server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    client = connect(server.url, max_age=10)
    server.does(ONE, TWO)
    assert text(client) == "one"
    clock.now += 9
    assert text(client) == "one" and len(server.asked) == 1
    clock.now += 2
    assert text(client) == "two"


def test_an_answer_without_an_etag_is_cached_and_requested_in_full(
    connect: Clients, server: Misbehaving
) -> None:
    client = connect(server.url)
    server.does(record(None), record(None, instructions="two"), hang_up)
    assert [text(client) for _ in range(3)] == ["one", "two", "two"]
    assert not any("if-none-match" in one.headers for one in server.asked)


def test_each_request_has_its_own_cached_answer(connect: Clients, server: Misbehaving) -> None:
    client = connect(server.url, max_age=LONG)
    selectors: list[dict[str, Any]] = [{"status": "draft"}, {"label": "tested"}, {"version_id": "v1"}]
    stored, block = client.get_stored_agent("writer"), client.get_stored_prompt_block("writer")
    asked = [partial(stored.details, **one) for one in ({}, *selectors)]
    asked += [partial(client.get_agent("writer", **one).details) for one in ({}, *selectors)]
    asked += [block.details]
    server.does(*(record(description=str(number)) for number in range(len(asked))))
    for _ in range(2):
        assert [read().description for read in asked] == [str(number) for number in range(len(asked))]
    for context in ({"a": 1, "b": 2}, {"b": 2, "a": 1}):
        assert client.get_agent("writer").details(request_context=context).description == "4"
    assert len(server.asked) == len(asked)
    server.does(record(id="a/b"), record(id="a%2Fb"))
    assert [client.get_agent(one).details().id for one in ("a/b", "a%2Fb")] == ["a/b", "a%2Fb"]


def test_a_refusal_removes_the_answer_of_its_selector_only(connect: Clients, server: Misbehaving) -> None:
    for status, error in ((404, NotFound), (403, Forbidden)):
        client = connect(server.url)
        server.does(ONE, ONE, says(status), hang_up)
        text(client)
        text(client, status="draft")
        with pytest.raises(error):
            text(client, status="draft")
        with pytest.raises(Unreachable):
            text(client, status="draft")
        assert client.get_stored_agent("writer").details().stale


def test_a_refused_key_empties_the_cache(connect: Clients, server: Misbehaving) -> None:
    for refused in (lambda one: one.list_stored_agents(), lambda one: list(one.get_agent("x").stream("y"))):
        client = connect(server.url, max_age=LONG)
        server.does(ONE, ONE, says(401), hang_up)
        text(client)
        client.get_agent("writer").details()
        with pytest.raises(Unauthorized):
            refused(client)
        for handle in (client.get_agent("writer"), client.get_stored_agent("writer")):
            with pytest.raises(Unreachable):
                handle.details()


def test_a_client_reads_again_after_its_own_change(connect: Clients, server: Misbehaving) -> None:
    for settings in ({"max_age": LONG}, {"stale_while_revalidate": LONG}):
        client = connect(server.url, **settings)
        server.does(ONE, TWO)
        text(client)
        client.get_stored_agent("writer").update(instructions="two")
        assert text(client) == "two"
        server.does(hang_up, ONE)  # a change whose end is not known
        with pytest.raises(Unreachable):
            client.get_stored_agent("writer").update(instructions="one")
        assert text(client) == "one"


def test_read_only_calls_leave_answers_fresh(connect: Clients, server: Misbehaving) -> None:
    client = connect(server.url, max_age=LONG)
    answer = says(200, {"fileName": "x", "content": "", "config": {}, "text": ""})
    server.does(ONE, answer, answer, TWO)
    text(client)
    client.get_stored_agent("writer").export()
    client.get_agent("writer").generate("hello")
    assert text(client) == "one"


REMOVALS: list[Callable[[Any], Any]] = [
    lambda agent: agent.delete(),
    lambda agent: agent.unpublish(),
    lambda agent: agent.remove_label("tested"),
    lambda agent: agent.set_label("tested", "v1", released=False),
    lambda agent: agent.delete_version("v1"),
]


def test_a_resource_that_the_client_removed_is_not_served_during_an_outage(
    connect: Clients, server: Misbehaving
) -> None:
    label = {"name": "tested", "versionId": "v1", "versionNumber": 1, "kind": "custom"}
    done = says(200, {"id": "writer", "success": True, "message": "", **label})
    for remove in REMOVALS:
        client = connect(server.url, retries=0)
        server.does(ONE, record(id="other"), done, hang_up)
        text(client)
        client.get_stored_agent("other").details()
        remove(client.get_stored_agent("writer"))
        with pytest.raises(Unreachable):
            text(client)
        assert client.get_stored_agent("other").details().stale


def test_an_answer_is_immutable_and_can_be_copied(connect: Clients, server: Misbehaving) -> None:
    server.does(record(tools={"search": {"description": "x"}}, model=[{"value": {"name": "a"}}]))
    found = connect(server.url).get_stored_agent("writer").details()
    for change in (
        lambda: found.tools.update(a=1),
        lambda: found.tools["search"].__setitem__("description", "y"),
        lambda: found.model.append(1),
        lambda: found.raw.pop("id"),
        lambda: setattr(found, "tools", {}),
    ):
        with pytest.raises((TypeError, AttributeError)):
            change()
    mine = copy.deepcopy(found.tools)
    mine["search"]["description"] = "mine"
    assert (mine, found.tools) == ({"search": {"description": "mine"}}, {"search": {"description": "x"}})
    assert json.loads(json.dumps(found.raw)) == dict(found)


def test_the_least_recently_read_answer_is_evicted(
    connect: Clients, server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("editor_client.reads.cache.MAX_ENTRIES", 3)
    client = connect(server.url, max_age=LONG)
    server.does(ONE)
    for number in (0, 1, 2, 3, 3, 2, 1):
        client.get_agent("writer", label=f"l{number}").details()
    assert len(server.asked) == 4
    client.get_agent("writer", label="l0").details()
    assert len(server.asked) == 5


class TestInTheBackground:
    """`stale_while_revalidate`: the caller does not wait, and the next one gets the new answer."""

    @with_both_clients
    def test_the_caller_gets_the_cached_answer_while_it_is_revalidated(
        self, connect: Clients, server: Misbehaving
    ) -> None:
        client = connect(server.url, stale_while_revalidate=LONG)
        server.does(ONE)
        text(client)
        may_answer = threading.Event()
        server.does(lambda handler: (may_answer.wait(60), TWO(handler))[1])
        found = client.get_stored_agent("writer").details()
        assert (found.instructions, found.stale) == ("one", False)
        server.wait_for(1)
        may_answer.set()
        while text(client) == "one":
            pass

    def test_only_one_revalidation_runs_at_a_time(self, connect: Clients, server: Misbehaving) -> None:
        client = connect(server.url, stale_while_revalidate=LONG)
        server.does(ONE)
        text(client)
        may_answer = threading.Event()
        server.does(lambda handler: (may_answer.wait(60), ONE(handler))[1])
        for _ in range(20):
            text(client)
        server.wait_for(1)
        asked = len(server.asked)
        may_answer.set()
        assert asked == 1

    @with_both_clients
    def test_a_failed_revalidation_is_not_raised_and_a_refused_one_removes_the_answer(
        self, connect: Clients, server: Misbehaving
    ) -> None:
        client = connect(server.url, stale_while_revalidate=LONG, retries=0)
        server.does(ONE, hang_up, says(500), says(400))
        text(client)
        while len(server.asked) < 5:
            assert text(client) == "one"
        for status in (401, 404):
            server.does(ONE, says(status))
            with pytest.raises(EditorError) as raised:
                list(iter(lambda: text(client), "two"))
            assert raised.value.status == status

    def test_the_caller_waits_if_the_answer_is_too_old(
        self, connect: Clients, server: Misbehaving, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = Clock(monkeypatch)
        client = connect(server.url, max_age=10, stale_while_revalidate=10)
        server.does(ONE, TWO)
        text(client)
        clock.now += 21
        assert text(client) == "two"
