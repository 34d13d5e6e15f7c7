"""Configurations to test with: the smallest, one that sets every field, and any that is allowed."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from editor_client.shared.conditions import OPERATORS
from editor_client.shared.ids import RESERVED_SEGMENTS
from hypothesis import settings
from hypothesis import strategies as st

from versioning.domain import provider_catalog
from versioning.domain.agents import AGENT, PROMPT_BLOCK
from versioning.domain.errors import Invalid

# How fast this machine is at the moment says nothing about the code.
fewer = settings(max_examples=25)
"""For what draws whole agents, which takes its time."""

ALWAYS = {"operator": "AND", "conditions": []}
FOR_GOLD = {"operator": "AND", "conditions": [{"field": "tier", "operator": "equals", "value": "gold"}]}

OPAQUE_FIELDS = (
    "integrationTools",
    "toolProviders",
    "mcpClients",
    "defaultOptions",
    "inputProcessors",
    "outputProcessors",
    "memory",
    "skills",
    "workspace",
    "browser",
)
USAGE_FIELDS = ("tools", "agents", "workflows", "scorers")
CONDITIONAL_FIELDS = ("model", *USAGE_FIELDS, *OPAQUE_FIELDS)

SMALLEST_AGENT = {"name": "Writer", "instructions": "Write."}
SMALLEST_BLOCK = {"name": "Tone", "content": "Be kind."}
SMALLEST = {"agent": (AGENT.schema, SMALLEST_AGENT), "block": (PROMPT_BLOCK.schema, SMALLEST_BLOCK)}
BLANKS = ["", " ", "\n\t\r ", "\u00a0", "\u3000"]

FULL_AGENT: dict[str, Any] = {
    "name": "Writer",
    "description": "Writes.",
    "instructions": [
        {"type": "text", "content": "Write."},
        {"type": "prompt_block", "content": "Be brief.", "rules": FOR_GOLD},
    ],
    "model": {"provider": "echo", "name": "echo", "temperature": 0.5},
    "tools": {"search": {"description": "Look it up", "rules": FOR_GOLD}, "clock": {}},
    "agents": {"team/editor": {"description": "Corrects"}},
    "workflows": {"review": {"rules": FOR_GOLD}},
    "scorers": {"tone": {"description": "Kindness", "sampling": {"type": "ratio", "rate": 1}}},
    **{field: {"of": field, "nested": [1, 1.5, None, True, {"ü": "ß"}]} for field in OPAQUE_FIELDS},
    "requestContextSchema": {"type": "object", "properties": {"tier": {"type": "string"}}},
}
FULL_BLOCK: dict[str, Any] = {
    "name": "Tone",
    "description": "How to speak.",
    "content": "Be {{ manner || 'kind' }}.",
    "rules": FOR_GOLD,
    "requestContextSchema": {"type": "object"},
}


def problems_of(kind: str, **changes: Any) -> list[str]:
    """Refuse an edit of the smallest agent or block and return the fields at fault, sorted."""
    schema, smallest = SMALLEST[kind]
    with pytest.raises(Invalid) as refusal:
        schema.edit_config(smallest, changes)
    assert all(issue.message for issue in refusal.value.issues)
    return sorted(issue.field for issue in refusal.value.issues)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
words = texts.filter(lambda text: bool(text.strip()))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)
context_schemas = st.fixed_dictionaries(
    {}, optional={"title": texts, "default": json_values, "x-own": json_values}
)
resource_ids = st.from_regex(r"[a-z0-9]{1,8}(/[a-z0-9]{1,8})?", fullmatch=True).filter(
    lambda resource_id: RESERVED_SEGMENTS.isdisjoint(resource_id.split("/"))
)

_one_rule = st.fixed_dictionaries(
    {"field": texts.filter(bool), "operator": st.sampled_from(OPERATORS)}, optional={"value": json_values}
)


def _groups(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"operator": st.sampled_from(["AND", "OR"]), "conditions": st.lists(inner, max_size=2)}
    )


rule_groups = _groups(_one_rule | _groups(_one_rule | _groups(_one_rule)))


def _variants(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    variant = st.fixed_dictionaries({"value": value}, optional={"rules": st.none() | rule_groups})
    return st.lists(variant, max_size=2)


def _conditional(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return value | _variants(value)


_description = {"description": st.none() | texts, "rules": st.none() | rule_groups}
_usage = st.fixed_dictionaries({}, optional=_description)
_usages = st.dictionaries(texts.filter(bool), _usage, max_size=2)
_sub_agents = st.dictionaries(resource_ids, _usage, max_size=2)
_scorers = st.dictionaries(
    texts.filter(bool),
    st.fixed_dictionaries({}, optional={**_description, "sampling": json_objects}),
    max_size=2,
)
_models = st.builds(
    lambda more, required: {**more, **required},
    json_objects,
    st.fixed_dictionaries(
        {"provider": words, "name": words.filter(lambda name: provider_catalog.problem(name) is None)}
    ),
)
_opaque = json_objects | _variants(json_objects | st.lists(json_values, max_size=3))

_blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "content": texts}),
    st.fixed_dictionaries(
        {"type": st.just("prompt_block"), "content": texts}, optional={"rules": st.none() | rule_groups}
    ),
    st.fixed_dictionaries({"type": st.just("prompt_block_ref"), "id": resource_ids}),
)
_shown_block = st.fixed_dictionaries({"type": st.just("text"), "content": words})
_instructions = words | st.builds(
    lambda block, more: [block, *more], _shown_block, st.lists(_blocks, max_size=3)
)

agent_configs = st.fixed_dictionaries(
    {"name": words, "instructions": _instructions},
    optional={
        "description": texts,
        "model": _conditional(_models),
        "tools": _conditional(_usages),
        "agents": _conditional(_sub_agents),
        "workflows": _conditional(_usages),
        "scorers": _conditional(_scorers),
        **dict.fromkeys(OPAQUE_FIELDS, _opaque),
        "requestContextSchema": context_schemas,
    },
)
block_configs = st.fixed_dictionaries(
    {"name": words, "content": texts},
    optional={"description": texts, "rules": rule_groups, "requestContextSchema": context_schemas},
)


def reordered(value: Any, random: Random) -> Any:
    """Return an equal value whose objects have their keys in another order, at every level."""
    if isinstance(value, dict):
        members = [(key, reordered(member, random)) for key, member in value.items()]
        random.shuffle(members)
        return dict(members)
    if isinstance(value, list):
        return [reordered(item, random) for item in value]
    return value
