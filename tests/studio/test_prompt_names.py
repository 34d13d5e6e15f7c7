"""What the editor of prompts suggests: the schema's names, those used elsewhere, and nobody's secrets."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.serving.test_query_counts import FEW, MANY, insert_resources
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.window import Window, page_of

SCHEMA = {
    "type": "object",
    "properties": {
        "customer": {
            "type": "object",
            "properties": {"name": {"type": "string", "title": "Customer", "description": "Who writes"}},
        },
        "age": {"type": "integer"},
    },
}
MAX_QUERIES = 24


def names(who: str, kind: Kind = AGENTS, resource_id: str = "writer") -> dict[str, dict[str, Any]]:
    """Return what is suggested to somebody, by path."""
    answer = Window.of(who).client.get(page_of(kind, "names", resource_id))
    assert answer.status_code == 200
    return {name["path"]: name for name in answer.json()["names"]}


def test_names_of_the_schema_come_first_with_what_it_says_of_them(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, requestContextSchema=SCHEMA)
    found = names("edgar", kind)
    assert list(found) == ["age", "customer.name"]
    assert found["customer.name"] == {
        "path": "customer.name",
        "type": "text",
        "title": "Customer",
        "help": "Who writes",
        "declared": True,
        "used": "",
    }
    assert found["age"]["type"] == "whole number"


def test_what_others_use_says_who_does(cast: Cast) -> None:
    rules = {"operator": "AND", "conditions": [{"field": "tier", "operator": "equals", "value": "gold"}]}
    PROMPT_BLOCKS.make(
        cast.edgar, "tone", name="Tone", content="{{ greeting || 'Hi' }} {{ broken }", rules=rules
    )
    AGENTS.make(
        cast.edgar,
        instructions=[{"type": "prompt_block_ref", "id": "tone"}, {"type": "text", "content": "{{ own }}"}],
        requestContextSchema=SCHEMA,
    )
    AGENTS.make(cast.edgar, "other", name="Other", instructions=[{"type": "text", "content": "{{ far }}"}])
    found = names("edgar")
    assert {path: one["used"] for path, one in found.items()} == {
        "customer.name": "",
        "age": "",
        "greeting": "Tone",
        "tier": "Tone",
        "far": "Other",
    }
    # A prompt block gets the names of the agents that use it.
    found = names("edgar", PROMPT_BLOCKS, "tone")
    assert {path: one["used"] for path, one in found.items()} == {
        "customer.name": "Writer",
        "age": "Writer",
        "own": "Writer",
        "far": "Other",
    }
    assert not any(one["declared"] for one in found.values())


def test_nobody_is_shown_a_name_of_what_they_may_not_read(cast: Cast) -> None:
    charlies = {"workspaceId": "elsewhere", "visibility": "public", "name": "Charlie's"}
    secret = [{"type": "text", "content": "{{ secret }}"}]
    AGENTS.make(cast.charlie, "theirs", instructions=secret, **charlies)
    PROMPT_BLOCKS.make(cast.charlie, "hidden", content="{{ secret }}", workspaceId="elsewhere")
    AGENTS.make(
        cast.root,
        instructions=[{"type": "prompt_block_ref", "id": "hidden"}],
        agents={"theirs": {}},
        workspaceId="acme",
    )
    assert names("edgar") == {}
    assert "secret" in names("root", AGENTS)


def test_only_who_may_save_is_answered(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, autoPublish=False)
    address = page_of(kind, "names")
    assert Window.of("charlie").get(address).status == 404
    kind.publish(cast.paula, "writer", kind.versions(cast.edgar)[0]["id"])
    assert Window.of("vera").get(address).status == 403
    assert Window.of("edgar").get(page_of(kind, "names", "nothing")).status == 404


def test_names_take_as_many_queries_whatever_there_is(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    address = page_of(kind, "names")
    window = Window.of("edgar")

    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert window.get(address).status == 200
        return len(captured)

    insert_resources(kind, [f"few/{number}" for number in range(FEW)])
    few = count()
    assert few <= MAX_QUERIES
    insert_resources(kind, [f"many/{number}" for number in range(MANY)])
    assert count() == few


@pytest.mark.parametrize("text", ["{{ a }}" * 50_000, "x" * 1_000_000])
def test_much_text_is_read_in_bounds(cast: Cast, text: str) -> None:
    PROMPT_BLOCKS.make(cast.edgar, "long", content=text)
    AGENTS.make(cast.edgar)
    assert len(names("edgar")) <= 1
