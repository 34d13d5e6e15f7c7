"""A field in another mode: all typed values are converted, or nothing changes."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from editor_client.shared.instructions import as_one_text, assemble
from hypothesis import given
from hypothesis import strategies as st

from studio.forms.fields import find_mode
from studio.forms.inputs import Input
from studio.forms.modes import rewritten, typed_value
from tests.conftest import Cast
from tests.support.api import AGENTS
from tests.support.configurations import FOR_GOLD, agent_configs, fewer
from tests.support.people import person
from tests.support.served import reference, text
from tests.support.studio import Visitor, page_of
from versioning.domain.access import Role
from versioning.domain.agents import AGENT
from versioning.domain.errors import Invalid


def converted(person: Visitor, typed: dict[str, str], agent_id: str = "writer", **query: str) -> Any:
    address = page_of(AGENTS, "convert", agent_id)
    query = {"field": "instructions", "from": "blocks", "to": "text", **query}
    return person.post(f"{address}?{urlencode(query)}", typed)


def blocks(*typed: dict[str, str]) -> dict[str, str]:
    return {
        f"instructions.blocks.{place}.{name}": value
        for place, block in enumerate(typed)
        for name, value in block.items()
    } | {"instructions.as": "text"}


def block(content: str, **more: str) -> dict[str, str]:
    return {"type": "text", "content": content, **more}


@pytest.fixture
def edgar(cast: Cast) -> Visitor:
    AGENTS.make(cast.alice, "writer")
    return Visitor("edgar")


@given(st.lists(st.text("ab \n{", max_size=12), max_size=5))
def test_one_text_equals_the_assembled_blocks(contents: list[str]) -> None:
    given_blocks = [text(content) for content in contents]
    assert as_one_text(given_blocks) == assemble(given_blocks, {}, {})[0]


@fewer
@given(agent_configs)
def test_a_value_becomes_a_variant_and_a_value_again(config: dict[str, Any]) -> None:
    for name in ("model", "tools", "agents"):
        value = config.get(name)
        if (
            not value
            or find_mode(name, value) != "controls"
            or find_mode(name, [{"value": value}]) != "variants"
        ):
            continue
        variants = through(name, value, "variants")
        assert len(variants) == 1
        assert through(name, variants, "controls") == through(name, value, "controls")


def through(name: str, value: Any, mode: str) -> Any:
    """Write a value in a mode, and return the value that is read back."""
    return typed_value(name, Input("", children={name: rewritten(name, value, mode)}), mode, AGENT.schema)


def test_blocks_with_conditions_or_references_cannot_become_one_text() -> None:
    for block, reason in [
        (reference("tone"), "block 2 refers to a prompt block"),
        ({"type": "prompt_block", "content": "x", "rules": FOR_GOLD}, "block 2 has conditions"),
        (text("Dear {{ name || 'guest' }}"), "block 2 is filled in from the context"),
    ]:
        with pytest.raises(Invalid) as refused:
            as_one_text([text("a"), block])
        assert [issue.message for issue in refused.value.issues] == [reason]


def test_all_blocks_become_one_text(edgar: Visitor) -> None:
    typed = blocks(block("First <b>."), block(" \r\n"), block("Second.\r\nLine."))
    answer = converted(edgar, edgar.form(AGENTS) | typed)
    assert answer.status == 200
    assert ">\nFirst &lt;b&gt;.\n\nSecond.\nLine.</textarea>" in answer.markup


def test_a_refusal_names_every_block_and_says_that_nothing_changed(edgar: Visitor) -> None:
    typed = blocks(block("a"), {"type": "prompt_block_ref", "id": "tone"}, block("{{ name }}"))
    answer = converted(edgar, edgar.form(AGENTS) | typed)
    assert answer.status == 400
    assert answer.markup == (
        "This cannot be converted to one text: block 2 refers to a prompt block; "
        "block 3 is filled in from the context. Nothing was changed."
    )


def test_typed_rows_are_converted_to_json_and_back(edgar: Visitor) -> None:
    rules = {"kind": "rule", "field": "tier", "operator": "equals", "type": "text", "value": "gold"}
    row = {"key": "search", "description": "Look it up", "rules.operator": "AND"}
    row |= {f"rules.conditions.n2.{name}": value for name, value in rules.items()}
    rows = {f"tools.offered.n1.{name}": value for name, value in row.items()}
    tools = {"field": "tools", "from": "controls", "to": "json"}
    page = converted(edgar, edgar.form(AGENTS) | rows, **tools).markup
    assert "&quot;search&quot;" in page and "&quot;gold&quot;" in page
    typed = {"tools.json": '{"search": {"rules": null}, "find": {"description": "Find it"}}'}
    tools |= {"from": "json", "to": "controls"}
    page = converted(edgar, edgar.form(AGENTS) | typed, **tools).markup
    assert 'value="find"' in page and 'value="Find it"' in page and 'value="search"' in page


def test_json_that_fields_cannot_hold_stays_json(edgar: Visitor) -> None:
    for field, typed, reason in [
        ("tools", f'[{{"value": {{"search": {{}}}}, "rules": {json.dumps(FOR_GOLD)}}}]', "it has variants"),
        ("agents", '[{"value": {"a": {}}}, {"value": {"b": {}}}]', "it has variants"),
        ("tools", "{", "is not valid JSON"),
        ("agents", "5", "must be"),
        ("model", '{"provider": 5}', "must be text"),
        ("agents", '{"a": 5}', "must be"),
    ]:
        query = {"field": field, "from": "json", "to": "controls"}
        answer = converted(edgar, edgar.form(AGENTS) | {f"{field}.json": typed}, **query)
        assert answer.status == 400 and reason in answer.markup


def test_a_value_is_converted_to_a_variant_and_variants_to_json(edgar: Visitor) -> None:
    typed = {"tools.offered.n1.key": "search", "tools.offered.n1.description": "Look it up"}
    query = {"field": "tools", "from": "controls", "to": "variants"}
    page = converted(edgar, edgar.form(AGENTS) | typed, **query).markup
    assert 'name="tools.variants.0.value.offered.0.key"' in page and 'value="Look it up"' in page
    rules = {"operator": "AND", "conditions.n2.kind": "rule", "conditions.n2.field": "tier"}
    rules |= {"conditions.n2.operator": "equals", "conditions.n2.type": "text", "conditions.n2.value": "gold"}
    variants = {
        "tools.variants.0.value.offered.0.key": "search",
        **{f"tools.variants.n1.rules.{name}": value for name, value in rules.items()},
        "tools.variants.n1.value.offered.n3.key": "clock",
    }
    query = {"field": "tools", "from": "variants", "to": "json"}
    page = converted(edgar, edgar.form(AGENTS) | variants, **query).markup
    assert "&quot;gold&quot;" in page and "&quot;clock&quot;" in page
    query = {"field": "tools", "from": "variants", "to": "controls"}
    refused = converted(edgar, edgar.form(AGENTS) | variants, **query)
    assert refused.status == 400 and "it has variants" in refused.markup


def test_converting_a_new_override_starts_from_the_code(db: None, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    person("ada", default=Role.EDITOR)
    ada = Visitor("ada")
    for mode in ("text", "blocks"):
        page = converted(ada, {}, "answers", **{"from": "", "to": mode}).markup
        assert ">\ncode</textarea>" in page
    locked = {"field": "model", "from": "controls", "to": "json"}
    assert converted(ada, {}, "answers", **locked).status == 404


def test_only_fields_with_modes_are_converted_and_only_for_editors(cast: Cast, edgar: Visitor) -> None:
    typed = edgar.form(AGENTS)
    AGENTS.publish(cast.alice, "writer", cast.alice.get(AGENTS.url("writer")).body["latestVersionId"])
    assert converted(Visitor("vera"), typed).status == 403
    assert converted(Visitor("charlie"), typed).status == 404
    for odd in ({"field": "name"}, {"field": ""}, {"to": "nonsense"}, {"to": "controls"}):
        assert converted(edgar, typed, **odd).status == 404
