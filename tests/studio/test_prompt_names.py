"""Suggestions of the editor of prompts: the schema's names, those used elsewhere, and no secrets."""

from __future__ import annotations

from typing import Any

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import undone
from tests.support.studio import Visitor, page_of

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


def names(who: str, kind: Kind = AGENTS, resource_id: str = "writer") -> dict[str, dict[str, Any]]:
    """Return the suggestions for a person, by path."""
    answer = Visitor(who).get(page_of(kind, "names", resource_id))
    assert answer.status == 200
    return {name["path"]: name for name in answer.json()["names"]}


def test_names_of_the_schema_come_first_with_its_descriptions(cast: Cast, kind: Kind) -> None:
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


def test_a_suggested_name_lists_the_resources_that_use_it(cast: Cast) -> None:
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


def test_names_from_unreadable_resources_are_not_suggested(cast: Cast) -> None:
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


def test_only_editors_get_suggestions(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, autoPublish=False)
    address = page_of(kind, "names")
    assert Visitor("charlie").get(address).status == 404
    kind.publish(cast.paula, "writer", kind.versions(cast.edgar)[0]["id"])
    assert Visitor("vera").get(address).status == 403
    assert Visitor("edgar").get(page_of(kind, "names", "nothing")).status == 404


def test_the_amount_of_text_read_for_suggestions_is_limited(cast: Cast) -> None:
    for text in ["{{ a }}" * 50_000, "x" * 1_000_000]:
        with undone():
            PROMPT_BLOCKS.make(cast.edgar, "long", content=text)
            AGENTS.make(cast.edgar)
            assert len(names("edgar")) <= 1
