"""Versions published in one transaction are never served by halves, at any moment of a read."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
from django.db import connection

from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api
from tests.support.factories import ECHO
from tests.support.meanwhile import interrupted
from tests.support.people import make_cast
from tests.support.served import reference
from versioning.conf import get_editor
from versioning.models import events

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("committed_db")]

READS: dict[str, Callable[[Api], Answer]] = {
    "an agent": lambda api: api.get("/agents/writer"),
    "in parts": lambda api: api.get("/agents/writer", form="parts"),
    "all agents": lambda api: api.get("/agents"),
    "a run": lambda api: api.post("/agents/lead/generate", {"messages": "Go."}),
}
Versions = dict[str, list[str]]


@pytest.fixture
def alice() -> Api:
    return Api(make_cast()["alice"])


def two_versions(api: Api) -> Versions:
    """Make a block, an agent that shows it and an agent that runs that one, each published as old."""
    versions = {"tone": [PROMPT_BLOCKS.make(api, "tone", "old", autoPublish=True)["latestVersionId"]]}
    versions["tone"].append(PROMPT_BLOCKS.save(api, "tone", "new")["latestVersionId"])
    agents: dict[str, Any] = {"writer": {}, "lead": {"agents": {"writer": {}}}}
    for agent_id, more in agents.items():
        made = AGENTS.make(api, agent_id, _saying("old"), model=ECHO, autoPublish=True, **more)
        saved = AGENTS.save(api, agent_id, _saying("new"))
        versions[agent_id] = [made["latestVersionId"], saved["latestVersionId"]]
    return versions


def _saying(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "content": text}, reference("tone")]


def publish(versions: Versions, which: int) -> None:
    """Publish all of them in one transaction."""
    editor = get_editor()
    with events.transaction():
        editor.prompt.publish("tone", versions["tone"][which])
        for agent_id in ("writer", "lead"):
            editor.agent.publish(agent_id, versions[agent_id][which])


@pytest.mark.parametrize("caching", [True, False], ids=["cached", "not cached"])
@pytest.mark.parametrize("read", READS)
def test_no_answer_contains_half_of_a_transaction(
    alice: Api, settings: Any, read: str, *, caching: bool
) -> None:
    settings.EDITOR_CACHE_BYTES = settings.EDITOR_CACHE_BYTES if caching else 0
    versions = two_versions(alice)
    sides = cycle([1, 0])
    given = list(interrupted(lambda _: (lambda: READS[read](alice), lambda: publish(versions, next(sides)))))
    assert given
    for answer in given:
        assert answer.status == 200, answer.body
        said = str(answer.body)
        assert ("old" in said) != ("new" in said), said


def test_a_read_ends_even_if_something_is_published_during_every_attempt(alice: Api) -> None:
    versions = two_versions(alice)
    sides = cycle([1, 0])

    def publish_after(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if 'FROM "versioning_agent"' in sql and not connection.in_atomic_block:
            publish(versions, next(sides))
        return result

    with connection.execute_wrapper(publish_after):
        answer = alice.get("/agents/writer")
    assert ("old" in str(answer.body)) != ("new" in str(answer.body)), answer.body
