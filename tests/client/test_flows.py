"""The decisions of the client, driven by hand: no network, no clock, no disk."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from editor_client.calls import Answer
from editor_client.errors import EditorError, NotFound, RateLimited, ServerError, Unreachable
from editor_client.manage.stored import StoredAgent
from editor_client.reads.agents import Agent
from editor_client.reads.cache import Rights
from editor_client.reads.cached import Policy
from editor_client.reads.exchange import Flow, Follow, NoAnswer, Send, Sleep, WaitFor
from editor_client.reads.flows import Flows
from hypothesis import given
from hypothesis import strategies as st


def parts(name: str, etag: str = '"1"', agent_id: str = "writer", **headers: str) -> Answer:
    config = {"name": name, "instructions": "Be kind."}
    body = {"id": agent_id, "resolvedVersionId": "v1", "config": config, "promptBlocks": {}}
    return Answer(200, {"etag": etag, **headers}, json.dumps(body).encode())


RECORD = parts("one")
UPDATED = Answer(200, {}, b'{"id": "writer", "name": "two"}')
LOST = NoAnswer("gone")
NO_CLIENT: Any = None
SAME = Answer(304, {"etag": '"1"'}, b"")
ADMIN, VIEWER = {"editor-rights": "admin"}, {"editor-rights": "viewer"}
OTHER = parts("public", agent_id="greeter", **VIEWER)


@dataclass
class Hand:
    """Executes the steps of a flow: gives prepared answers, and advances the time without waiting."""

    outcomes: list[Answer | NoAnswer]
    seconds_for_an_answer: float = 0.0
    now: float = 1000.0
    sent: list[Send] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    def flows(self, **settings: Any) -> Flows:
        """Return the flows of a client that lives in this hand's time."""
        policy = {"timeout": 10, "run_timeout": 300, "retries": 2, "max_age": 0, "stale_while_revalidate": 0}
        return Flows(
            Rights("http://server", "ek_test"), Policy(**{**policy, **settings}), None, lambda: self.now
        )

    def run(self, flow: Flow[Any]) -> Any:
        """Take a flow to its end."""
        try:
            effect = next(flow)
            while True:
                if isinstance(effect, Sleep):
                    self.pauses.append(effect.seconds)
                    self.now += effect.seconds
                    effect = flow.send(None)
                    continue
                if isinstance(effect, Follow | WaitFor):
                    effect = flow.send(None)
                    continue
                assert isinstance(effect, Send)
                self.sent.append(effect)
                self.now = min(self.now + self.seconds_for_an_answer, effect.deadline)
                outcome = self.outcomes.pop(0)
                effect = flow.throw(outcome) if isinstance(outcome, NoAnswer) else flow.send(outcome)
        except StopIteration as end:
            return end.value


# On the classes the methods are their descriptions, which need no client.
READ = Agent.details(Agent(NO_CLIENT, "writer"))
READ_OTHER = Agent.details(Agent(NO_CLIENT, "greeter"))
WRITER = StoredAgent(NO_CLIENT, "writer")


def test_pauses_grow_and_differ() -> None:
    random.seed(0)
    hand = Hand([LOST] * 6)
    with pytest.raises(Unreachable):
        hand.run(hand.flows(retries=5).perform(READ))
    assert len(hand.sent) == 6
    assert all(0.05 * 2**n <= pause <= 0.1 * 2**n for n, pause in enumerate(hand.pauses))
    assert len(set(hand.pauses)) == 5


@given(
    st.lists(
        st.sampled_from([LOST, Answer(503, {}, b""), Answer(429, {"retry-after": "3"}, b"")]), min_size=9
    ),
    st.floats(0, 20),
    st.floats(0.1, 30),
    st.integers(0, 8),
)
def test_a_call_never_exceeds_its_timeout(
    outcomes: list[Answer | NoAnswer], each: float, timeout: float, retries: int
) -> None:
    hand = Hand(list(outcomes), seconds_for_an_answer=each)
    with pytest.raises(EditorError):
        hand.run(hand.flows(timeout=timeout, retries=retries).perform(READ))
    assert hand.now - 1000 <= timeout * (1 + 1e-9)
    assert len(hand.sent) <= retries + 1
    assert {send.deadline for send in hand.sent} == {1000 + timeout}


@given(st.lists(st.sampled_from([RECORD, SAME, LOST, Answer(500, {}, b""), Answer(200, {}, b"<html>")])))
def test_after_a_good_answer_every_read_succeeds(outcomes: list[Answer | NoAnswer]) -> None:
    hand = Hand([RECORD])
    flows = hand.flows(retries=0)
    hand.run(flows.perform(READ))
    for outcome in outcomes:
        hand.outcomes = [outcome]
        found = hand.run(flows.perform(READ))
        assert (found.name, found.stale) == ("one", outcome not in (RECORD, SAME))


def test_a_run_has_its_own_time_limit() -> None:
    hand = Hand([LOST])
    with pytest.raises(Unreachable):
        hand.run(hand.flows().perform(Agent.generate(Agent(NO_CLIENT, "writer"), "hello")))
    assert [send.deadline for send in hand.sent] == [1300]


def test_an_older_answer_does_not_replace_a_newer_one() -> None:
    hand = Hand([])
    flows = hand.flows(max_age=100)
    early = flows.perform(READ)
    assert isinstance(next(early), Send)
    hand.outcomes = [parts("two", '"2"')]
    assert hand.run(flows.perform(READ)).name == "two"
    with pytest.raises(StopIteration) as end:
        early.send(RECORD)
    assert end.value.value.name == "one"
    assert hand.run(flows.perform(READ)).name == "two"


def test_an_answer_from_before_a_change_does_not_count_as_fresh() -> None:
    hand = Hand([UPDATED])
    flows = hand.flows(max_age=100)
    early = flows.perform(READ)
    next(early)
    hand.run(flows.perform(StoredAgent.update(WRITER, name="two")))
    with pytest.raises(StopIteration):
        early.send(RECORD)
    hand.outcomes = [parts("two", '"2"')]
    assert hand.run(flows.perform(READ)).name == "two"


def test_an_answer_from_before_a_removal_is_not_cached() -> None:
    hand = Hand([Answer(200, {}, b'{"success": true, "message": ""}')])
    flows = hand.flows(max_age=100, retries=0)
    early = flows.perform(READ)
    next(early)
    hand.run(flows.perform(StoredAgent.delete(WRITER)))
    with pytest.raises(StopIteration):
        early.send(RECORD)
    hand.outcomes = [LOST]
    with pytest.raises(Unreachable):
        hand.run(flows.perform(READ))


def test_an_abandoned_flow_leaves_nothing_locked() -> None:
    hand = Hand([RECORD, LOST])
    flows = hand.flows(retries=0)
    hand.run(flows.perform(READ))
    assert hand.run(flows.perform(READ)).stale
    given_up = flows.perform(READ)
    next(given_up)
    given_up.close()
    hand.outcomes = [RECORD]
    assert hand.run(flows.perform(READ)).stale is False


def test_the_problem_of_a_malformed_answer_is_reported() -> None:
    hand = Hand([Answer(200, {}, b'{"name": "one"}')])
    with pytest.raises(ServerError, match="it has no 'id'") as raised:
        hand.run(hand.flows().perform(READ))
    assert (raised.value.status, raised.value.code) == (200, "malformed_answer")


def test_a_late_answer_does_not_change_rights_that_were_confirmed_since() -> None:
    hand = Hand([OTHER, OTHER, LOST])
    flows = hand.flows(retries=0)
    hand.run(flows.perform(READ_OTHER))
    early = flows.perform(READ)
    next(early)
    hand.run(flows.perform(READ_OTHER))
    with pytest.raises(StopIteration):
        early.send(parts("secret", **ADMIN))
    assert hand.run(flows.perform(READ_OTHER)).stale


def test_a_late_answer_is_cached_for_the_rights_that_it_names() -> None:
    hand = Hand([OTHER])
    flows = hand.flows(retries=0)
    early = flows.perform(READ)
    next(early)
    hand.run(flows.perform(READ_OTHER))
    with pytest.raises(StopIteration) as end:
        early.send(parts("secret", **ADMIN))
    assert end.value.value.name == "secret"
    hand.outcomes = [LOST]
    with pytest.raises(Unreachable):
        hand.run(flows.perform(READ))


def test_a_late_refusal_removes_nothing_that_was_read_with_other_rights() -> None:
    hand = Hand([parts("public", **VIEWER), OTHER, LOST])
    flows = hand.flows(retries=0)
    hand.run(flows.perform(READ))
    early = flows.perform(READ)
    next(early)
    early.send(Answer(409, VIEWER, b'{"code": "parts_unavailable"}'))
    hand.run(flows.perform(READ_OTHER))
    with pytest.raises(NotFound):
        early.send(Answer(404, ADMIN, b""))
    assert hand.run(flows.perform(READ)).stale


@pytest.mark.parametrize(
    ("outcomes", "error"),
    [
        ([Answer(500, VIEWER, b"")], ServerError),
        ([Answer(429, VIEWER, b"")], RateLimited),
        ([Answer(304, VIEWER, b""), Answer(500, VIEWER, b"")], ServerError),
        ([Answer(304, VIEWER, b""), LOST], Unreachable),
    ],
)
def test_what_was_read_with_earlier_rights_is_not_returned_in_an_outage(
    outcomes: list[Answer | NoAnswer], error: type[EditorError]
) -> None:
    hand = Hand([parts("secret", **ADMIN)])
    flows = hand.flows(retries=0)
    hand.run(flows.perform(READ))
    hand.outcomes = [*outcomes, LOST]
    for expected in (error, Unreachable):
        with pytest.raises(expected):
            hand.run(flows.perform(READ))


def test_a_read_that_waits_while_the_rights_change_drops_what_it_had() -> None:
    hand = Hand([parts("secret", **ADMIN)])
    flows = hand.flows(retries=0, updates="poll")
    hand.run(flows.perform(READ))
    first, second = flows.perform(READ_OTHER), flows.perform(READ)
    assert isinstance(next(first), WaitFor)
    assert isinstance(first.send(None), Send)
    assert isinstance(next(second), WaitFor)  # for the follower
    assert isinstance(second.send(None), WaitFor)  # for the first read
    with pytest.raises(StopIteration):
        first.send(OTHER)
    sent = second.send(None)
    assert isinstance(sent, Send)
    assert sent.etag is None
    with pytest.raises(Unreachable):
        second.throw(LOST)
