"""A client takes whatever the server can answer about an agent, in every mode."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from editor_client import Client, EditorError
from editor_client.parts import UNCHECKED
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api
from tests.support.evaluation import BLOCK_IDS, agent_configs, block_configs, contexts
from tests.support.in_process import MODES, InProcess, in_process
from tests.support.rollouts import arm, started
from tests.support.served import ask, reference, text

UNHURRIED = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
FATES = ("kept", "unpublished", "deleted")
"""What happens to a prompt block after the agent that shows it was published."""


@dataclass
class Readers:
    """Who makes agents, who reads them, and the reader's clients by mode."""

    admin: Api
    viewer: Api
    way: InProcess
    clients: dict[str, Client]


@pytest.fixture
def readers(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> Iterator[Readers]:
    # The threads of the clients draw pauses from the numbers that Hypothesis watches.
    monkeypatch.setattr("editor_client.reads.feed.random", random.Random())
    with in_process() as way:
        clients = {mode: way.client(cast.vera, mode) for mode in MODES}
        yield Readers(cast.alice, cast.vera, way, clients)


def outcome(client: Client, agent_id: str, context: Any) -> tuple[int, Any]:
    """Return the status and the body that the server would answer."""
    try:
        found = client.get_agent(agent_id).details(request_context=context)
    except EditorError as error:
        return error.status, error.details
    return 200, json.loads(json.dumps(found.raw))


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
def in_every_mode(readers: Readers, numbers: Iterator[int], config: Any, blocks: Any, given: Any) -> None:
    """Read an agent in contexts, and then in another one while the server is away."""
    readers.way.is_cut = False
    agent_id = publish(readers.admin, next(numbers), config, blocks)
    for context in [None, {}, *given, {"userId": "ada"}, {"userId": "bob"}]:
        wanted = expected(ask(readers.viewer, agent_id, context))
        for mode, client in readers.clients.items():
            assert outcome(client, agent_id, context) == wanted, (mode, context)
    # Where the schema is beyond the client, it says so; all else is as the server would say.
    context = {"userId": "cy", "a": "b"}
    status, wanted = expected(ask(readers.viewer, agent_id, context))
    readers.way.is_cut = True
    for mode, client in readers.clients.items():
        found, told = outcome(client, agent_id, context)
        assert found == status, mode
        if found == 200 and UNCHECKED in told["warnings"]:
            told, wanted = ({**one, "warnings": []} for one in (told, wanted))
        assert told == wanted, mode


def test_every_mode_takes_whatever_the_server_answers(readers: Readers) -> None:
    in_every_mode(readers, count())


class Own(str):
    """A text of the application's own class, such as one of Django that is marked as safe."""

    __slots__ = ()


def test_a_fallback_may_be_a_text_of_a_class_of_its_own(readers: Readers) -> None:
    readers.way.is_cut = True
    for client in readers.clients.values():
        found = client.get_agent("never-read").details(fallback={"instructions": Own("Be kind.")})
        assert (found.instructions, found.source) == ("Be kind.", "fallback")
