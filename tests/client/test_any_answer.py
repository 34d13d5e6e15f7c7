"""A client takes whatever the server can answer about an agent, in every mode."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx2
import pytest
from editor_client import Client, EditorError
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api
from tests.support.evaluation import BLOCK_IDS, agent_configs, block_configs, contexts
from tests.support.rollouts import arm, started
from tests.support.served import ask, reference, text

MODES = ("ask", "poll", "stream")
UNHURRIED = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
FATES = ("kept", "unpublished", "deleted")
"""What happens to a prompt block after the agent that shows it was published."""


@dataclass
class InProcess:
    """The way of a client to the service in this process, which a test can cut; nothing is in the log."""

    api: Api
    admin: Api
    is_cut: bool = False
    clients: dict[str, Client] = field(default_factory=dict)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if self.is_cut:
            raise httpx2.ConnectError("cut")
        path = request.url.path.removeprefix("/api")
        if path == "/events/stream":
            return httpx2.Response(404, json={"error": "no", "code": "not_found"})
        if path == "/events":
            return httpx2.Response(200, json={"events": [], "next": 1, "hasMore": False, "epoch": "e"})
        raw = request.url.raw_path.decode().removeprefix("/api")
        answer = self.api.request(request.method, raw, **_conditions(request))
        content = b"" if answer.body is None else json.dumps(answer.body).encode()
        return httpx2.Response(answer.status, headers=dict(answer.headers), content=content)


def _conditions(request: httpx2.Request) -> dict[str, str]:
    tag = request.headers.get("If-None-Match")
    return {} if tag is None else {"if_none_match": tag}


@pytest.fixture
def way(cast: Any) -> Iterator[InProcess]:
    """Clients of a viewer in every mode."""
    way = InProcess(cast.vera, cast.alice)
    with ExitStack() as clients:
        for mode in MODES:
            http = httpx2.Client(transport=httpx2.MockTransport(way))
            client = Client(
                "http://testserver", api_key=way.api.key, updates=mode, retries=0, http_client=http
            )
            way.clients[mode] = clients.enter_context(client)
        yield way


def outcome(read: Callable[[], Any]) -> tuple[int, Any]:
    """Return the status and the body that the server would answer."""
    try:
        return 200, json.loads(json.dumps(read().raw))
    except EditorError as error:
        return error.status, error.details


def expected(answer: Answer) -> tuple[int, Any]:
    return answer.status, answer.body


def publish(api: Api, number: int, config: Any, blocks: Any) -> str:
    """Publish an agent and another one of its versions as an arm; then its prompt blocks meet their fates."""
    own = {block_id: f"{block_id}{number}" for block_id in BLOCK_IDS[:2]}
    for block_id, (block, _) in zip(own.values(), blocks, strict=True):
        made = api.post(PROMPT_BLOCKS.path, {"id": block_id, "autoPublish": True, **block})
        assert made.status == 201, made.body
    instructions = [
        {**block, "id": own[block["id"]]} if block.get("id") in own else block
        for block in config["instructions"]
        if block.get("id") in {None, *own}
    ]
    agent_id = f"writer{number}"
    body = {**config, "id": agent_id, "instructions": instructions, "autoPublish": True}
    made = api.post(AGENTS.path, body)
    assert made.status == 201, made.body
    other = AGENTS.save(api, agent_id, [text("Other."), reference(own["tone"])])["latestVersionId"]
    started(api, AGENTS, arm(other, weight=5_000), resource_id=agent_id)
    for block_id, (_, fate) in zip(own.values(), blocks, strict=True):
        if fate == "unpublished":
            assert api.post(PROMPT_BLOCKS.url(block_id, "unpublish")).status == 200
        elif fate == "deleted":
            assert api.delete(PROMPT_BLOCKS.url(block_id)).status == 200
    return agent_id


REFERRING = {"name": "Writer", "instructions": [text("."), reference("tone"), reference("team/facts")]}
STRICT = {**REFERRING, "requestContextSchema": {"required": ["plan"]}}
BLOCK = {"name": "Tone", "content": "Be kind."}
blocks_with_fates = st.tuples(block_configs, st.sampled_from(FATES))


@settings(UNHURRIED, max_examples=15)
@given(agent_configs, st.tuples(blocks_with_fates, blocks_with_fates), st.lists(contexts, max_size=3))
@example(REFERRING, [(BLOCK, "unpublished"), (BLOCK, "deleted")], [])
@example(STRICT, [(BLOCK, "deleted"), (BLOCK, "kept")], [{"a": 1}])
def in_every_mode(way: InProcess, numbers: Iterator[int], config: Any, blocks: Any, given: Any) -> None:
    """Read an agent in contexts."""
    agent_id = publish(way.admin, next(numbers), config, blocks)
    for context in [None, {}, *given, {"userId": "ada"}, {"userId": "bob"}]:
        wanted = expected(ask(way.api, agent_id, context))
        for mode, client in way.clients.items():
            read = client.get_agent(agent_id).details
            assert outcome(lambda: read(request_context=context)) == wanted, (mode, context)  # noqa: B023


def test_every_mode_takes_whatever_the_server_answers(way: InProcess) -> None:
    in_every_mode(way, count())


class Own(str):
    """A text of the application's own class, such as one of Django that is marked as safe."""

    __slots__ = ()


def test_a_fallback_may_be_a_text_of_a_class_of_its_own(way: InProcess) -> None:
    way.is_cut = True
    for client in way.clients.values():
        found = client.get_agent("never-read").details(fallback={"instructions": Own("Be kind.")})
        assert (found.instructions, found.source) == ("Be kind.", "fallback")
