"""How a client is created, and how it behaves without an answer: settings, a refused key, a fallback."""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path
from typing import Any

import httpx
import httpx2
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
from editor_client.testing import FakeEditor

from tests.support.clients import Clients
from tests.support.misbehaving import Misbehaving, hang_up, record, says

REFUSED = says(401, {"error": "The key is not valid.", "code": "unauthorized"})
LONG = 1000


class TestTheEnvironment:
    """`from_env` takes server and key from the environment."""

    def test_server_and_key_are_taken_from_the_environment(
        self, monkeypatch: pytest.MonkeyPatch, server: Misbehaving
    ) -> None:
        monkeypatch.setenv("EDITOR_URL", server.url)
        monkeypatch.setenv("EDITOR_API_KEY", "ek_of_the_environment")
        client = AsyncClient.from_env(timeout=3, api_prefix="/other")
        assert type(client) is AsyncClient and client.address == f"{server.url}/other"
        server.does(record())
        with Client.from_env() as blocking:
            blocking.get_agent("writer").details()
        assert server.asked[0].headers["authorization"] == "Bearer ek_of_the_environment"

    def test_a_variable_that_is_missing_or_empty_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for missing in ("EDITOR_URL", "EDITOR_API_KEY"):
            for name in ("EDITOR_URL", "EDITOR_API_KEY"):
                monkeypatch.setenv(name, "http://127.0.0.1")
            monkeypatch.delenv(missing)
            with pytest.raises(ValueError, match=missing):
                Client.from_env()
            monkeypatch.setenv(missing, "")
            with pytest.raises(ValueError, match=missing):
                Client.from_env()

    def test_certificate_authorities_are_read_once_from_where_it_says(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        url = "https://editor.invalid"
        Client(url, api_key="ek_test").close()
        with monkeypatch.context() as reading:
            reading.setattr(ssl, "create_default_context", None)
            Client(url, api_key="ek_test").close()
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
        with pytest.raises(FileNotFoundError):
            Client(url, api_key="ek_test")


class TestAGivenHttpxClient:
    """The application's client carries the requests, with all that it adds, and stays open."""

    def test_the_given_http_client_sends_the_requests_and_stays_open(self, server: Misbehaving) -> None:
        seen: list[httpx2.Request] = []
        with httpx2.Client(headers={"X-Team": "a"}, event_hooks={"request": [seen.append]}) as own:
            server.does(record())
            with Client(server.url, api_key="ek_test", http_client=own) as client:
                assert client.get_agent("writer").details().instructions == "one"
            assert not own.is_closed
        (asked,) = server.asked
        assert len(seen) == 1 and asked.headers["x-team"] == "a"
        assert asked.headers["authorization"] == "Bearer ek_test"
        assert "authorization" not in {name.lower() for name in own.headers}

    def test_the_given_http_client_sends_the_requests_of_the_asynchronous_client(
        self, server: Misbehaving
    ) -> None:
        async def read() -> str | None:
            async with httpx2.AsyncClient(headers={"X-Team": "a"}) as own:
                async with AsyncClient(server.url, api_key="ek_test", http_client=own) as client:
                    found = await client.get_agent("writer").details()
                assert not own.is_closed
            return found.instructions

        server.does(record())
        assert asyncio.run(read()) == "one" and server.asked[0].headers["x-team"] == "a"

    def test_an_http_client_of_the_wrong_kind_is_refused(self) -> None:
        wrong: Any
        for kind, wrong in ((Client, httpx2.AsyncClient()), (AsyncClient, httpx2.Client())):
            with pytest.raises(ValueError, match="http_client must be an httpx2"):
                kind("http://127.0.0.1", api_key="ek_test", http_client=wrong)


def warned(kind: Any, url: str, own: Any, **settings: Any) -> Any:
    """Return a client that was given one of httpx."""
    with pytest.warns(DeprecationWarning, match="accepted until 0.3"):
        return kind(url, api_key="ek_test", retries=0, http_client=own, **settings)


class TestAClientOfHttpx:
    """Until 0.3 an application may bring a client of httpx: it does all that one of httpx2 does."""

    def test_the_blocking_client_takes_it(self, server: Misbehaving) -> None:
        server.does(record(), hang_up)
        with httpx.Client() as own, warned(Client, server.url, own, updates="stream") as client:
            read = client.get_agent("writer").details
            with pytest.raises(Unreachable):
                read()
            with pytest.raises(Unreachable):
                list(client.get_agent("writer").stream("hello"))
        server.does(record(), hang_up)
        with httpx.Client() as own:
            read = warned(Client, server.url, own).get_agent("writer").details
            assert [read().stale for _ in range(2)] == [False, True]

    def test_the_asynchronous_client_takes_it(self, server: Misbehaving) -> None:
        async def read() -> list[bool]:
            async with httpx.AsyncClient() as own:
                client = warned(AsyncClient, server.url, own)
                found = [(await client.get_agent("writer").details()).stale for _ in range(2)]
                with pytest.raises(Unreachable):
                    await anext(client.get_agent("writer").stream("hello"))
                return found

        server.does(record(), hang_up)
        assert asyncio.run(read()) == [False, True]

    def test_an_editor_in_memory_answers_it(self) -> None:
        client = warned(Client, "http://editor", httpx.Client(transport=FakeEditor()))
        echo = {"provider": "echo", "name": "echo"}
        client.create_stored_agent(id="writer", name="W", instructions="one", model=echo, auto_publish=True)
        assert client.get_agent("writer").details().instructions == "one"
        assert [event.type for event in client.get_agent("writer").stream("hello")][-1] == "finish"


class TestARefusedKey:
    """With `keep`, cached answers are served as stale; by default they are removed."""

    def test_cached_answers_are_served_and_that_is_logged_once(
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
            "The key is not valid. Earlier answers to this key are served as stale."
        ]
        server.does(record())
        assert agent.details().stale is False

    def test_resources_never_read_or_deleted_are_refused(self, connect: Clients, server: Misbehaving) -> None:
        client = connect(server.url, on_unauthorized="keep")
        agent = client.get_agent("writer")
        server.does(record(), REFUSED)
        agent.details()
        for refused in (client.get_agent("other").details, client.list_agents):
            with pytest.raises(Unauthorized):
                refused()
        assert agent.details().instructions == "one"
        server.does(says(404), REFUSED)
        for error in (NotFound, Unauthorized):
            with pytest.raises(error):
                agent.details()

    def test_answers_on_the_disk_are_retained_as_well(
        self, connect: Clients, server: Misbehaving, tmp_path: Any
    ) -> None:
        settings = {"cache_dir": tmp_path, "on_unauthorized": "keep"}
        server.does(record(), REFUSED)
        connect(server.url, **settings).get_agent("writer").details()
        found = connect(server.url, **settings).get_agent("writer").details()
        assert (found.instructions, found.stale) == ("one", True)


class TestAFallback:
    """The application's own fallback is used only if no answer is cached and no server answers."""

    FALLBACK = {"instructions": "Be kind.", "model_id": "small"}

    def test_the_fallback_is_used_if_there_is_no_answer(self, connect: Clients, server: Misbehaving) -> None:
        agent = connect(server.url, retries=0).get_agent("writer")
        for answer in (hang_up, says(500), says(429), says(200, b"<html>")):
            server.does(answer)
            found = agent.details(request_context={"tier": "gold"}, fallback=self.FALLBACK)
            assert (found.instructions, found.model_id, found.id) == ("Be kind.", "small", "writer")
            assert (found.stale, found.source, found.resolved_version_id) == (True, "fallback", None)
        server.does(says(429))
        with pytest.raises(RateLimited):  # it is not remembered
            agent.details()
        server.does(record(source="stored"), hang_up)
        assert agent.details(fallback=self.FALLBACK).instructions == "one"
        found = agent.details(fallback=self.FALLBACK)
        assert (found.instructions, found.source, found.stale) == ("one", "stored", True)

    def test_a_refusal_is_raised_in_spite_of_the_fallback(
        self, connect: Clients, server: Misbehaving
    ) -> None:
        for answer, error in ((says(404), NotFound), (REFUSED, Unauthorized)):
            server.does(answer)
            with pytest.raises(error):
                connect(server.url).get_agent("writer").details(fallback=self.FALLBACK)

    def test_an_invalid_fallback_is_refused_before_it_is_needed(
        self, connect: Clients, server: Misbehaving
    ) -> None:
        server.does(record())
        for fallback in ({"instructions": 1}, {"provider": {}}, {"instruction": "Be kind."}):
            with pytest.raises(ValidationFailed, match="fallback"):
                connect(server.url).get_agent("writer").details(fallback=fallback)
        assert server.asked == []
