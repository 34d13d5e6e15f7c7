"""Agents to evaluate: with templates, rules and variants for the contexts of the tests."""

from __future__ import annotations

from typing import Any

from editor_client.shared.conditions import OPERATORS
from hypothesis import strategies as st

from tests.support.served import reference, text

NAMES = ["a", "b", "tier", "versions"]
PATHS = [*NAMES, "a.b", "b.a.b", "a.c"]
BLOCK_IDS = ["tone", "team/facts", "draft", "gone"]

_words = st.sampled_from(["", " ", "a", "b", "gold", "é", "{{ a }}", "Anna", 'say "hi"', "\n"])
_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([0.5, 1.0, -0.0, 1e22, 10**30]),
    _words,
)
values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)
contexts = st.dictionaries(st.sampled_from(NAMES), values, max_size=4)

_fallbacks = st.sampled_from(["", ' || "x"', "||'y'", " || ''"])
_placeholders = st.builds(lambda path, rest: f"{{{{ {path}{rest} }}}}", st.sampled_from(PATHS), _fallbacks)
templates = st.lists(_words | _placeholders, max_size=4).map("".join)

_rule = st.fixed_dictionaries(
    {"field": st.sampled_from(PATHS), "operator": st.sampled_from(OPERATORS)},
    optional={"value": values | st.lists(values, max_size=3)},
)


def _groups(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"operator": st.sampled_from(["AND", "OR"]), "conditions": st.lists(inner, max_size=2)}
    )


rules = st.none() | _groups(_rule | _groups(_rule | _groups(_rule)))


def _conditional(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    variant = st.fixed_dictionaries({"value": value}, optional={"rules": rules})
    return value | st.lists(variant, max_size=3)


_usages = st.dictionaries(
    st.sampled_from(["search", "clock", "a/b"]),
    st.fixed_dictionaries({}, optional={"description": st.none() | _words, "rules": rules}),
    max_size=3,
)
_models = st.builds(
    lambda more, name: {**more, "provider": "echo", "name": name},
    st.dictionaries(st.sampled_from(NAMES), values, max_size=2),
    st.sampled_from(["echo", "loud"]),
)
_blocks = st.one_of(
    templates.map(text),
    st.builds(
        lambda content, rules: {"type": "prompt_block", "content": content, "rules": rules}, templates, rules
    ),
    st.sampled_from(BLOCK_IDS).map(reference),
)

_counts = st.integers(0, 3)
_plain = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "object", "array", "null", "boolean"])
        | st.just(["string", "null"]),
        "enum": st.lists(values, max_size=3),
        "const": values,
        "minimum": st.sampled_from([0, 1.5]),
        "maximum": st.sampled_from([0, 1.0]),
        "exclusiveMinimum": st.just(1),
        "exclusiveMaximum": st.just(1),
        "minLength": _counts,
        "maxLength": _counts,
        "minItems": _counts,
        "maxItems": _counts,
        "minProperties": _counts,
        "maxProperties": _counts,
        "required": st.lists(st.sampled_from(NAMES), unique=True, max_size=2),
        "title": st.just("x"),
        "default": values,
    },
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    more = st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(NAMES), inner | st.booleans(), max_size=3),
            "additionalProperties": inner | st.booleans(),
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "$ref": st.just("#/$defs/one"),
        },
    )
    return st.builds(lambda plain, nested: {**plain, **nested}, _plain, more)


context_schemas = st.builds(
    lambda schema, one: {**schema, "$defs": {"one": one}},
    st.recursive(_plain, _nested, max_leaves=5),
    _plain,
)

agent_configs = st.fixed_dictionaries(
    {
        "name": st.just("Writer"),
        "instructions": st.lists(_blocks, max_size=4).map(lambda blocks: [text("."), *blocks]),
    },
    optional={
        "description": _words,
        "model": _conditional(_models),
        "tools": _conditional(_usages),
        "agents": _conditional(_usages),
        "defaultOptions": _conditional(st.dictionaries(st.sampled_from(NAMES), values, max_size=2)),
        "requestContextSchema": context_schemas,
    },
)
block_configs = st.builds(
    lambda content, rules: {"name": "Block", "content": content, **({"rules": rules} if rules else {})},
    templates,
    rules,
)
