"""How a client is made, and what it does without an answer: settings, a refused key, a fallback."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import httpx
import pytest
from editor_client import (
    AsyncClient,
    Client,
    NotFound,
    RateLimited,
    Unauthorized,
    Unreachable,
    ValidationFailed,
)

from tests.support.clients import Clients
from tests.support.misbehaving import Misbehaving, hang_up, record, says

KINDS = [Client, AsyncClient]
REFUSED = says(401, {"error": "The key is not valid.", "code": "unauthorized"})
LONG = 1000


class TestTheEnvironment:
    """`from_env` takes server and key from where deployments keep them."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_server_and_key_are_taken_from_it(
        self, kind: type[Client | AsyncClient], monkeypatch: pytest.MonkeyPatch, server: Misbehaving
    ) -> None:
        monkeypatch.setenv("EDITOR_URL", server.url)
        monkeypatch.setenv("EDITOR_API_KEY", "ek_of_the_environment")
        client = kind.from_env(timeout=3, api_prefix="/other")
        assert type(client) is kind and client.address == f"{server.url}/other"

    def test_the_key_is_the_one_that_is_sent(
        self, monkeypatch: pytest.MonkeyPatch, server: Misbehaving
    ) -> None:
        monkeypatch.setenv("EDITOR_API_KEY", "ek_of_the_environment")
        server.does(record())
        with Client.from_env(url=server.url) as client:
            client.get_agent("writer").details()
        assert server.asked[0].headers["authorization"] == "Bearer ek_of_the_environment"

    @pytest.mark.parametrize("missing", ["EDITOR_URL", "EDITOR_API_KEY"])
    @pytest.mark.parametrize("value", [None, ""], ids=["absent", "empty"])
    def test_a_variable_that_is_missing_is_named(
        self, monkeypatch: pytest.MonkeyPatch, missing: str, value: str | None
    ) -> None:
        for name in ("EDITOR_URL", "EDITOR_API_KEY"):
            monkeypatch.setenv(name, "http://127.0.0.1")
        if value is None:
            monkeypatch.delenv(missing)
        else:
            monkeypatch.setenv(missing, value)
        with pytest.raises(ValueError, match=missing):
            Client.from_env()


class TestAnHttpxClientOfOnesOwn:
    """The application's client carries the requests, with all that it adds, and stays open."""

    def test_it_carries_the_requests_and_stays_open(self, server: Misbehaving) -> None:
        seen: list[httpx.Request] = []
        with httpx.Client(headers={"X-Team": "a"}, event_hooks={"request": [seen.append]}) as own:
            server.does(record())
            with Client(server.url, api_key="ek_test", http_client=own) as client:
                assert client.get_agent("writer").details().instructions == "one"
            assert not own.is_closed
        (asked,) = server.asked
        assert len(seen) == 1 and asked.headers["x-team"] == "a"
        assert asked.headers["authorization"] == "Bearer ek_test"
        assert "authorization" not in {name.lower() for name in own.headers}

    def test_it_carries_the_requests_of_the_awaiting_client(self, server: Misbehaving) -> None:
        async def read() -> str | None:
            async with httpx.AsyncClient(headers={"X-Team": "a"}) as own:
                async with AsyncClient(server.url, api_key="ek_test", http_client=own) as client:
                    found = await client.get_agent("writer").details()
                assert not own.is_closed
            return found.instructions

        server.does(record())
        assert asyncio.run(read()) == "one" and server.asked[0].headers["x-team"] == "a"

    def test_a_transport_needs_no_server(self) -> None:
        def answer(request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, json={"id": "writer", "instructions": str(request.url)})

        with Client(
            "http://nowhere.test",
            api_key="ek_test",
            http_client=httpx.Client(transport=httpx.MockTransport(answer)),
        ) as client:
            assert (
                client.get_agent("writer").details().instructions == "http://nowhere.test/api/agents/writer"
            )

    @pytest.mark.parametrize("kind", KINDS)
    def test_one_of_the_wrong_kind_is_refused(self, kind: Any) -> None:
        wrong: Any = httpx.AsyncClient() if kind is Client else httpx.Client()
        with pytest.raises(ValueError, match="http_client must be an httpx"):
            kind("http://127.0.0.1", api_key="ek_test", http_client=wrong)


class TestARefusedKey:
    """With `keep`, what was read goes on being served, as stale; by default it is forgotten."""

    def test_what_was_read_is_kept_and_that_is_said_once(
        self, connect: Clients, server: Misbehaving, caplog: pytest.LogCaptureFixture
    ) -> None:
        agent = connect(server.url, on_unauthorized="keep").get_agent("writer")
        server.does(record(), REFUSED)
        assert agent.details().stale is False
        with caplog.at_level(logging.WARNING, "editor_client"):
            for _ in range(3):
                found = agent.details()
                assert (found.instructions, found.stale) == ("one", True)
        assert [line.message for line in caplog.records] == [
            "The key is not valid. What this key has read before is served as stale."
        ]
        server.does(record())
        assert agent.details().stale is False

    def test_what_was_never_read_is_refused(self, connect: Clients, server: Misbehaving) -> None:
        client = connect(server.url, on_unauthorized="keep")
        server.does(record(), REFUSED)
        client.get_agent("writer").details()
        with pytest.raises(Unauthorized):
            client.get_agent("other").details()
        with pytest.raises(Unauthorized):
            client.list_agents()
        assert client.get_agent("writer").details().instructions == "one"

    def test_what_is_on_the_disk_is_kept_as_well(
        self, connect: Clients, server: Misbehaving, tmp_path: Any
    ) -> None:
        settings = {"cache_dir": tmp_path, "on_unauthorized": "keep"}
        server.does(record(), REFUSED)
        connect(server.url, **settings).get_agent("writer").details()
        found = connect(server.url, **settings).get_agent("writer").details()
        assert (found.instructions, found.stale) == ("one", True)

    def test_what_is_gone_is_forgotten_all_the_same(self, connect: Clients, server: Misbehaving) -> None:
        agent = connect(server.url, on_unauthorized="keep").get_agent("writer")
        server.does(record(), says(404), REFUSED)
        agent.details()
        with pytest.raises(NotFound):
            agent.details()
        with pytest.raises(Unauthorized):
            agent.details()


class TestAFallback:
    """What the application itself says is used only when nothing is held and nobody answers."""

    FALLBACK = {"instructions": "Be kind.", "model_id": "small"}

    @pytest.mark.parametrize(
        "answer",
        [hang_up, says(500), says(503), says(200, b"<html>")],
        ids=["no connection", "500", "503", "a proxy's page"],
    )
    def test_it_is_used_if_nobody_answers(self, connect: Clients, server: Misbehaving, answer: Any) -> None:
        server.does(answer)
        found = (
            connect(server.url, retries=0)
            .get_agent("writer")
            .details(request_context={"tier": "gold"}, fallback=self.FALLBACK)
        )
        assert (found.instructions, found.model_id, found.id) == ("Be kind.", "small", "writer")
        assert (found.stale, found.source, found.resolved_version_id) == (True, "fallback", None)

    def test_a_busy_server_is_no_answer(self, connect: Clients, server: Misbehaving) -> None:
        agent = connect(server.url, retries=0).get_agent("writer")
        server.does(says(429))
        assert agent.details(fallback=self.FALLBACK).source == "fallback"
        with pytest.raises(RateLimited):
            agent.details()

    def test_what_is_held_comes_first(self, connect: Clients, server: Misbehaving) -> None:
        agent = connect(server.url, retries=0).get_agent("writer")
        server.does(record(source="stored"), hang_up)
        agent.details()
        found = agent.details(fallback=self.FALLBACK)
        assert (found.instructions, found.source, found.stale) == ("one", "stored", True)

    @pytest.mark.parametrize(
        ("answer", "error"), [(says(404), NotFound), (REFUSED, Unauthorized)], ids=["404", "401"]
    )
    def test_an_answer_is_no_reason_for_it(
        self, connect: Clients, server: Misbehaving, answer: Any, error: type[Exception]
    ) -> None:
        server.does(answer)
        with pytest.raises(error):
            connect(server.url).get_agent("writer").details(fallback=self.FALLBACK)

    def test_it_is_not_remembered(self, connect: Clients, server: Misbehaving) -> None:
        agent = connect(server.url, retries=0).get_agent("writer")
        server.does(hang_up)
        agent.details(fallback=self.FALLBACK)
        with pytest.raises(Unreachable):
            agent.details()
        server.does(record())
        assert agent.details(fallback=self.FALLBACK).instructions == "one"

    @pytest.mark.parametrize(
        "fallback",
        [{"instructions": ["Be kind."]}, {"instructions": 1}, {"provider": {}}, {"instruction": "Be kind."}],
        ids=repr,
    )
    def test_one_that_is_no_agent_is_refused_before_it_is_needed(
        self, connect: Clients, server: Misbehaving, fallback: Any
    ) -> None:
        server.does(record())
        with pytest.raises(ValidationFailed, match="fallback"):
            connect(server.url).get_agent("writer").details(fallback=fallback)
        assert server.asked == []
