"""Values of a configuration as text for comparing: display rules in words, the rest as JSON. Pure."""

from __future__ import annotations

from typing import Any

from editor_client.shared import canonical

from studio.forms.values import json_text
from studio.forms.words import OPERATORS

_JOINED_BY = {"AND": "all of:", "OR": "any of:"}
_ALWAYS = "always"


class RulesInWords(str):
    """Display rules in words; `rules` are the rules themselves."""

    __slots__ = ("rules",)
    rules: dict[str, Any]

    @classmethod
    def of(cls, rules: dict[str, Any]) -> RulesInWords:
        """Return the words for rules."""
        words = cls(_group_in_words(rules))
        words.rules = rules
        return words


def as_text(value: Any) -> str:
    """Return a value from `readable` as the text that a page shows."""
    if isinstance(value, str):
        return value
    block_type = value.get("type") if isinstance(value, dict) else None
    if block_type == "prompt_block_ref" and value.keys() == {"type", "id"}:
        return f"→ {value['id']}"
    if block_type == "text" and value.keys() == {"type", "content"}:
        return str(value["content"])
    if block_type == "prompt_block" and value.keys() <= {"type", "content", "rules"}:
        return f"{value['content']}\n\nshown when {value.get('rules') or _ALWAYS}"
    if isinstance(value, dict) and isinstance(value.get("rules"), RulesInWords):
        rest = {key: member for key, member in value.items() if key != "rules"}
        return f"{_as_json(rest)}\n\nwhen {value['rules']}"
    return _as_json(value)


def _as_json(value: Any) -> str:
    return json_text(_as_saved(value)) or canonical.dump(value)


def _as_saved(value: Any) -> Any:
    """Return a value from `readable` as it is stored, including rules."""
    if isinstance(value, RulesInWords):
        return value.rules
    if isinstance(value, list):
        return [_as_saved(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_saved(member) for key, member in value.items()}
    return value


def readable(value: Any) -> Any:
    """Return the value with its display rules in words, for comparing as text."""
    if isinstance(value, list):
        return [readable(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _is_group(value):
        return RulesInWords.of(value)
    return {key: readable(member) for key, member in value.items()}


def _is_group(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"operator", "conditions"}
        and value["operator"] in list(_JOINED_BY)
        and isinstance(value["conditions"], list)
        and all(_is_group(member) or _is_rule(member) for member in value["conditions"])
    )


def _is_rule(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"field", "operator"} <= value.keys() <= {"field", "operator", "value"}
        and value["operator"] in list(OPERATORS)
    )


def _group_in_words(group: dict[str, Any], indent: str = "") -> str:
    if not group["conditions"]:
        return f"{indent}{_ALWAYS}"
    inner = f"{indent}  "
    lines = [
        _group_in_words(member, inner) if _is_group(member) else f"{inner}{_rule_in_words(member)}"
        for member in group["conditions"]
    ]
    return "\n".join([f"{indent}{_JOINED_BY[group['operator']]}", *lines])


def _rule_in_words(rule: dict[str, Any]) -> str:
    words = f"{rule['field']} {OPERATORS[rule['operator']]}"
    return f"{words} {canonical.dump(rule['value'])}" if "value" in rule else words
