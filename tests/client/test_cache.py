"""What is cached, for how long it is fresh, and what removes it."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from editor_client import EditorError, Forbidden, NotFound, Unauthorized, Unreachable

from tests.support.clients import Clients, Clock, with_both_clients
from tests.support.misbehaving import Behaviour, Misbehaving, hang_up, record, says
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
    """A publish is seen at the next revalidation; what is taken away is not served any more."""

    def test_a_publish_by_others_is_seen_at_the_next_read(
        self, client: Any, connect: Clients, agent: Any, live_service: Service
    ) -> None:
        other = connect(live_service.url, live_service.key)
        assert client.get_agent(agent.id).details().instructions == "one"
        other.get_stored_agent(agent.id).update(instructions="two", auto_publish=True)
        assert client.get_agent(agent.id).details().instructions == "two"

    def test_what_has_not_changed_is_the_very_same_answer(self, client: Any, agent: Any) -> None:
        assert agent.details() is agent.details()

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


def test_by_default_the_server_is_asked_every_time(connect: Clients, server: Misbehaving) -> None:
    client = connect(server.url)
    server.does(ONE, TWO)
    assert [text(client) for _ in range(3)] == ["one", "two", "two"]
    assert [one.headers.get("if-none-match") for one in server.asked] == [None, '"1"', '"2"']


def test_a_fresh_answer_is_not_asked_for(connect: Clients, server: Misbehaving) -> None:
    client = connect(server.url, max_age=LONG)
    server.does(ONE, TWO)
    assert [text(client) for _ in range(3)] == ["one"] * 3
    assert len(server.asked) == 1


def test_an_answer_without_a_tag_is_kept_and_asked_for_anew(connect: Clients, server: Misbehaving) -> None:
    client = connect(server.url)
    server.does(record(None), record(None, instructions="two"), hang_up)
    assert [text(client) for _ in range(3)] == ["one", "two", "two"]
    assert not any("if-none-match" in one.headers for one in server.asked)


def test_an_old_answer_is_asked_for_again(
    connect: Clients, server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    client = connect(server.url, max_age=10)
    server.does(ONE, TWO)
    assert text(client) == "one"
    clock.now += 9
    assert text(client) == "one"
    clock.now += 2
    assert text(client) == "two"


@pytest.mark.parametrize(
    "selector",
    [{"status": "draft"}, {"label": "tested"}, {"version_id": "v1"}],
    ids=["status", "label", "version"],
)
def test_each_selector_has_an_answer_of_its_own(
    connect: Clients, server: Misbehaving, selector: dict[str, str]
) -> None:
    client = connect(server.url, max_age=LONG)
    server.does(ONE, TWO)
    assert [text(client), text(client, **selector), text(client), text(client, **selector)] == [
        "one",
        "two",
        "one",
        "two",
    ]


def test_each_context_has_an_answer_of_its_own(connect: Clients, server: Misbehaving) -> None:
    agent = connect(server.url, max_age=LONG).get_agent("writer")
    server.does(ONE, TWO)
    contexts = [{"a": 1, "b": 2}, {"a": 1}, {"b": 2, "a": 1}, {"a": 1}]
    found = [agent.details(request_context=context).instructions for context in contexts]
    assert found == ["one", "two", "one", "two"]


@pytest.mark.parametrize("other", ["get_agent", "get_stored_prompt_block"])
def test_resources_with_one_id_have_answers_of_their_own(
    connect: Clients, server: Misbehaving, other: str
) -> None:
    client = connect(server.url, max_age=LONG)
    server.does(ONE, record(description="other"))
    assert client.get_stored_agent("writer").details().description is None
    assert getattr(client, other)("writer").details().description == "other"


def test_ids_that_join_to_the_same_path_have_answers_of_their_own(
    connect: Clients, server: Misbehaving
) -> None:
    client = connect(server.url, max_age=LONG)
    server.does(record(id="a/b"), record(id="a%2Fb"))
    assert client.get_agent("a/b").details().id == "a/b"
    assert client.get_agent("a%2Fb").details().id == "a%2Fb"


REFUSALS = {"not found": (says(404), NotFound), "no right": (says(403), Forbidden)}


@pytest.mark.parametrize(("refusal", "error"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_about_one_selector(
    connect: Clients, server: Misbehaving, refusal: Behaviour, error: type[EditorError]
) -> None:
    client = connect(server.url)
    server.does(ONE, ONE, refusal, hang_up)
    text(client)
    text(client, status="draft")
    with pytest.raises(error):
        text(client, status="draft")
    with pytest.raises(Unreachable):
        text(client, status="draft")
    assert client.get_stored_agent("writer").details().stale


def test_a_key_that_does_not_hold_loses_everything(connect: Clients, server: Misbehaving) -> None:
    client = connect(server.url, max_age=LONG)
    server.does(ONE, ONE, says(401), hang_up)
    text(client)
    client.get_agent("writer").details()
    with pytest.raises(Unauthorized):
        client.list_stored_agents()
    for handle in (client.get_agent("writer"), client.get_stored_agent("writer")):
        with pytest.raises(Unreachable):
            handle.details()


def test_a_stream_that_refuses_the_key_loses_everything_too(connect: Clients, server: Misbehaving) -> None:
    client = connect(server.url, max_age=LONG)
    server.does(ONE, says(401), hang_up)
    text(client)
    with pytest.raises(Unauthorized):
        list(client.get_agent("writer").stream("hello"))
    with pytest.raises(Unreachable):
        text(client)


def test_what_this_client_changes_it_sees_at_once(connect: Clients, server: Misbehaving) -> None:
    client = connect(server.url, max_age=LONG)
    server.does(ONE, TWO)
    text(client)
    client.get_stored_agent("writer").update(instructions="two")
    assert text(client) == "two"


def test_a_change_with_an_unknown_end_makes_the_client_look(connect: Clients, server: Misbehaving) -> None:
    client = connect(server.url, max_age=LONG)
    server.does(ONE, hang_up, TWO)
    text(client)
    with pytest.raises(Unreachable):
        client.get_stored_agent("writer").update(instructions="two")
    assert text(client) == "two"


@pytest.mark.parametrize("verb", ["export", "generate"])
def test_what_changes_nothing_leaves_answers_fresh(connect: Clients, server: Misbehaving, verb: str) -> None:
    client = connect(server.url, max_age=LONG)
    answer = says(200, {"fileName": "x", "content": "", "config": {}, "text": ""})
    server.does(ONE, answer, TWO)
    text(client)
    if verb == "export":
        client.get_stored_agent("writer").export()
    else:
        client.get_agent("writer").generate("hello")
    assert text(client) == "one"


REMOVALS = {
    "delete": lambda agent: agent.delete(),
    "unpublish": lambda agent: agent.unpublish(),
    "remove_label": lambda agent: agent.remove_label("tested"),
    "withdraw_label": lambda agent: agent.set_label("tested", "v1", released=False),
    "delete_version": lambda agent: agent.delete_version("v1"),
}


@pytest.mark.parametrize("remove", REMOVALS.values(), ids=REMOVALS)
def test_what_this_client_removes_is_not_served_when_the_server_dies(
    connect: Clients, server: Misbehaving, remove: Any
) -> None:
    client = connect(server.url)
    label = {"name": "tested", "versionId": "v1", "versionNumber": 1, "kind": "custom"}
    done = says(200, {"id": "writer", "success": True, "message": "", **label})
    server.does(ONE, record(id="other"), done, hang_up)
    text(client)
    client.get_stored_agent("other").details()
    remove(client.get_stored_agent("writer"))
    with pytest.raises(Unreachable):
        text(client)
    assert client.get_stored_agent("other").details().stale


def test_an_answer_is_nobodys_to_change(connect: Clients, server: Misbehaving) -> None:
    client = connect(server.url, max_age=LONG)
    server.does(record(tools={"search": {"description": "x"}}, model=[{"value": {"name": "a"}}]))
    found = client.get_stored_agent("writer").details()
    for change in (
        lambda: found.tools.update(a=1),
        lambda: found.tools["search"].__setitem__("description", "y"),
        lambda: found.model.append(1),
        lambda: found.raw.pop("id"),
        lambda: setattr(found, "tools", {}),
    ):
        with pytest.raises((TypeError, AttributeError)):
            change()
    again = client.get_stored_agent("writer").details()
    assert again.tools == {"search": {"description": "x"}} and again is found


def test_a_copy_of_an_answer_is_the_callers_own(connect: Clients, server: Misbehaving) -> None:
    server.does(record(tools={"search": {}}, model=[{"value": {}}]))
    found = connect(server.url).get_stored_agent("writer").details()
    mine = copy.deepcopy(found.tools)
    mine["search"]["description"] = "mine"
    assert (mine, found.tools) == ({"search": {"description": "mine"}}, {"search": {}})
    assert json.loads(json.dumps(found.raw)) == dict(found)


def test_what_was_read_longest_ago_makes_room(
    connect: Clients, server: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("editor_client.cache.MAX_ENTRIES", 3)
    agent = connect(server.url, max_age=LONG).get_agent("writer")
    server.does(ONE)
    for number in (0, 1, 2, 3, 3, 2, 1):
        agent.details(request_context={"n": number})
    assert len(server.asked) == 4
    agent.details(request_context={"n": 0})
    assert len(server.asked) == 5


class TestInTheBackground:
    """`stale_while_revalidate`: the caller does not wait, and the next one has the news."""

    @with_both_clients
    def test_the_caller_gets_what_is_there_and_the_server_is_asked(
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

    def test_one_question_at_a_time_is_on_its_way(self, connect: Clients, server: Misbehaving) -> None:
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
    @pytest.mark.parametrize("problem", [hang_up, says(500), says(400)], ids=["hangs up", "fails", "refuses"])
    def test_what_goes_wrong_does_not_surface(
        self, connect: Clients, server: Misbehaving, problem: Behaviour
    ) -> None:
        client = connect(server.url, stale_while_revalidate=LONG, retries=0)
        server.does(ONE, problem)
        text(client)
        for number in range(2, 5):
            while len(server.asked) < number:
                assert text(client) == "one"

    @pytest.mark.parametrize("status", [401, 403, 404])
    def test_a_refusal_takes_the_answer_away(
        self, connect: Clients, server: Misbehaving, status: int
    ) -> None:
        client = connect(server.url, stale_while_revalidate=LONG)
        server.does(ONE, says(status))
        text(client)
        answers = iter(lambda: text(client), "two")
        with pytest.raises(EditorError) as raised:
            list(answers)
        assert raised.value.status == status

    def test_when_it_is_too_old_the_caller_waits(
        self, connect: Clients, server: Misbehaving, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = Clock(monkeypatch)
        client = connect(server.url, max_age=10, stale_while_revalidate=10)
        server.does(ONE, TWO)
        text(client)
        clock.now += 21
        assert text(client) == "two"

    def test_what_this_client_changed_is_waited_for(self, connect: Clients, server: Misbehaving) -> None:
        client = connect(server.url, stale_while_revalidate=LONG)
        server.does(ONE, TWO)
        text(client)
        client.get_stored_agent("writer").update(instructions="two")
        assert text(client) == "two"
