"""What webhooks are sent, and what becomes of it: one message for each event, in the words of the log."""

from __future__ import annotations

import pytest

from tests.support.api import AGENTS, Api
from tests.support.receiver import Receiver
from tests.support.webhooks import deliveries, make_webhook, read, verify, work


def test_an_event_is_sent_as_the_log_has_it_with_a_signature(alice: Api, receiver: Receiver) -> None:
    webhook = make_webhook(alice, receiver.url, "agent.published")
    AGENTS.make(alice, autoPublish=True)
    work()
    [message] = receiver.messages
    [event] = alice.get("/events", type="agent.published").body["events"]
    assert verify(message, webhook["secret"]) == event
    [delivery] = deliveries(alice, webhook)
    [attempt] = delivery["attempts"]
    assert delivery["state"] == "delivered" and delivery["nextAttemptAt"] is None
    assert delivery["event"] == event
    assert (attempt["statusCode"], attempt["error"], attempt["response"]) == (200, None, "thanks")
    assert read(alice, webhook)["lastSuccessAt"] == pytest.approx(attempt["at"])
