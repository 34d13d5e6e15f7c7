"""Clients to test with: the blocking one, and the asynchronous one as well in tests of input and output.

Those are marked `with_both_clients`; tests/client/test_asynchronous.py shows that the methods are the same.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from editor_client import Client

from tests.support.clients import Clients
from tests.support.misbehaving import Misbehaving, misbehaving_server
from tests.support.service import Service


@pytest.fixture
def connect(request: pytest.FixtureRequest) -> Iterator[Clients]:
    """Makes clients: `connect(url, key, **settings)`."""
    clients = Clients(getattr(request, "param", Client))
    yield clients
    clients.close()


@pytest.fixture
def client(connect: Clients, live_service: Service) -> Any:
    """A client of a real server, with the key of an admin."""
    return connect(live_service.url, live_service.key)


@pytest.fixture
def new_id() -> str:
    """An id that no other test uses, because all tests share the real server."""
    return f"it-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def server() -> Iterator[Misbehaving]:
    """A server that behaves as the test specifies."""
    with misbehaving_server() as server:
        yield server
