"""Usage that a client reports in the background."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import httpx2
import pytest
from editor_client import AsyncClient
from editor_client.reads import reporting

from tests.support.clients import Clients, with_both_clients
from tests.support.misbehaving import Misbehaving, hang_up, record, says
from tests.support.served import reference, text
from tests.support.service import Service

DONE = says(201, {"success": True, "message": "Counted."})


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are sent soon after a read, instead of two seconds later."""
    monkeypatch.setattr(reporting, "SECONDS", 0.2)


def reports(server: Misbehaving) -> list[Any]:
    """Return the reported usage, without the agent's id."""
    return [
        {name: value for name, value in json.loads(one.body).items() if name != "resource"}
        for one in server.asked
        if one.method == "POST"
    ]


@pytest.mark.processes
@with_both_clients
def test_reads_are_reported_when_the_client_closes(
    connect: Clients, live_service: Service, new_id: str
) -> None:
    block = f"{new_id}-tone"
    admin = connect(live_service.url, live_service.key)
    tone = admin.create_stored_prompt_block(id=block, name="Tone", content="Be brief.", auto_publish=True)
    instructions = [text("Write."), reference(block)]
    live = admin.create_stored_agent(id=new_id, name="Writer", instructions=instructions).active_version_id
    client = connect(live_service.url, live_service.key, report_usage=True)
    client.prefetch([new_id])
    for _ in range(3):
        client.get_agent(new_id).details()
    client.close()
    [agent] = admin.summarize_usage("agent", new_id).usage
    [shown] = admin.summarize_usage("promptBlock", block).usage
    assert (agent.version_id, agent.runs) == (live, 3)
    assert (shown.version_id, shown.runs) == (tone.active_version_id, 3)


def test_usage_of_a_run_can_be_added(connect: Clients, server: Misbehaving) -> None:
    server.does(record(), DONE)
    client = connect(server.url, report_usage=True)
    agent = client.get_agent("writer").details()
    client.add_usage(agent, input_tokens=10, milliseconds=30)
    client.add_usage(agent, input_tokens=5, errors=1)
    client.close()
    used = {"runs": 1, "inputTokens": 15, "milliseconds": 30, "errors": 1}
    assert reports(server) == [{"versionId": "v1", **used}]
    with pytest.raises(ValueError, match="input_tokens"):
        client.add_usage(agent, input_tokens=-1)
    with pytest.raises(RuntimeError, match="report_usage=True"):
        connect(server.url).add_usage(agent, errors=1)


@pytest.mark.usefixtures("soon")
def test_the_asynchronous_client_reports_in_the_background(server: Misbehaving) -> None:
    arm = {"name": "new", "start": 0, "weight": 10_000, "resolvedVersionId": "v1"}
    server.does(record(rollout={"id": "r", "seed": "s", "bucketBy": "userId", "arms": [arm]}), DONE)

    async def read_once() -> None:
        async with AsyncClient(server.url, api_key="ek_test", report_usage=True) as client:
            read = client.get_agent("writer").details
            client.add_usage(await read(request_context={"userId": "ada"}), output_tokens=2)
            await asyncio.to_thread(server.wait_for, 2)

    asyncio.run(read_once())
    assert reports(server) == [{"versionId": "v1", "arm": "new", "runs": 1, "outputTokens": 2}]


@pytest.mark.usefixtures("soon")
def test_usage_refused_temporarily_is_reported_later(connect: Clients, server: Misbehaving) -> None:
    server.does(record(), says(503), record(), DONE)
    agent = connect(server.url, report_usage=True).get_agent("writer")
    agent.details()
    server.wait_for(2)
    agent.details()
    server.wait_for(4)
    assert [one["runs"] for one in reports(server)] == [1, 2]


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("broken", [hang_up, says(400)], ids=["may have been counted", "refused for good"])
def test_nothing_is_reported_twice(connect: Clients, server: Misbehaving, broken: Any) -> None:
    server.does(record(), broken, DONE)
    client = connect(server.url, report_usage=True)
    client.get_agent("writer").details()
    server.wait_for(2)
    client.close()
    assert len(reports(server)) == 1


def test_refusals_are_logged_once(
    connect: Clients, server: Misbehaving, caplog: pytest.LogCaptureFixture
) -> None:
    server.does(record(), record('"2"', resolvedVersionId="v2"), says(403))
    client = connect(server.url, report_usage=True)
    with caplog.at_level(logging.WARNING, "editor_client"):
        client.get_agent("writer").details()
        client.get_agent("writer").details()
        client.close()
    assert len(reports(server)) == 2
    assert len(caplog.messages) == 1 and "agent 'writer' is not counted" in caplog.messages[0]


def test_a_fallback_is_not_counted_as_a_run(connect: Clients) -> None:
    def is_away(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("away", request=request)

    transport = httpx2.MockTransport(is_away)
    client = connect("http://editor", report_usage=True, http_client=httpx2.Client(transport=transport))
    fallback = client.get_agent("writer").details(fallback={"instructions": "x"})
    client.add_usage(fallback, errors=1)
    client.close()
    assert fallback.stale
