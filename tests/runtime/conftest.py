"""Two code-defined agents, one delegating to the other, over a store in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runtime.memory import MemoryStore
from tests.runtime.model_server import ModelServer, running_model_server
from tests.support.factories import CodeAgentFactory
from versioning.runtime import Agent, Framework


@pytest.fixture
def store() -> MemoryStore:
    """The store of overrides and stored agents."""
    return MemoryStore()


@pytest.fixture
def writer() -> Agent:
    """An agent without sub-agents."""
    return CodeAgentFactory(id="writer", instructions="writer in code")


@pytest.fixture
def lead(writer: Agent) -> Agent:
    """An agent that delegates to the writer."""
    return CodeAgentFactory(id="lead", instructions="lead in code", agents=[writer])


@pytest.fixture
def framework(lead: Agent, store: MemoryStore) -> Framework:
    """Both agents, with an editor."""
    return Framework(agents=[lead], editor=store)


@pytest.fixture
def model_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model behind HTTP, to which the provider `openai` goes."""
    with running_model_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        yield server
