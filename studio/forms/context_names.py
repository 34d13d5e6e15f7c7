"""The names that a configuration reads from the context: in placeholders and conditions. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.shared.instructions import placeholders

from versioning.domain.config import Config

_USAGES: Final = ("tools", "agents", "workflows", "scorers")
"""The fields whose members have their own conditions."""
_PLAIN: Final = frozenset({"name", "description", "instructions", "content", "rules", "requestContextSchema"})
"""The fields that have no variants."""
_NUMERIC: Final = ("greater_than", "greater_than_or_equal", "less_than", "less_than_or_equal")


@dataclass
class Name:
    """A dotted path in the context, and what conditions compare it with."""

    path: str
    values: list[Any] = field(default_factory=list)
    """The values, without duplicates, in the order of the configuration."""
    is_number: bool = False
    """Whether a condition compares it by order (greater or less)."""


def names_in(*configs: Config) -> list[Name]:
    """Return every name that the configurations read from the context, in the order of their use."""
    found: dict[str, Name] = {}
    for config in configs:
        for path in _in_templates(config):
            found.setdefault(path, Name(path))
        for group in _groups(config):
            for rule in _rules(group):
                _note(found.setdefault(rule["field"], Name(rule["field"])), rule)
    return list(found.values())


def _in_templates(config: Config) -> Iterator[str]:
    instructions = config.get("instructions")
    # A plain text is used unchanged; only blocks are templates.
    blocks = instructions if isinstance(instructions, list) else []
    for template in (config.get("content"), *(block.get("content") for block in blocks)):
        if isinstance(template, str):
            yield from (path for path, _ in placeholders(template))


def _groups(config: Config) -> Iterator[Mapping[str, Any]]:
    """Yield every group of conditions of a configuration."""
    instructions = config.get("instructions")
    holders: list[Any] = [config, *(instructions if isinstance(instructions, list) else [])]
    for name, value in config.items():
        if name in _PLAIN:
            continue
        variants = value if isinstance(value, list) else [{"value": value}]
        for variant in filter(_is_object, variants):
            holders.append(variant)
            inner = variant.get("value")
            if name in _USAGES and isinstance(inner, Mapping):
                holders.extend(filter(_is_object, inner.values()))
    for holder in holders:
        rules = holder.get("rules")
        if isinstance(rules, Mapping) and isinstance(rules.get("conditions"), list):
            yield rules


def _rules(group: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for condition in group["conditions"]:
        if "conditions" in condition:
            yield from _rules(condition)
        else:
            yield condition


def _note(name: Name, rule: Mapping[str, Any]) -> None:
    name.is_number = name.is_number or rule["operator"] in _NUMERIC
    value = rule.get("value")
    values = value if rule["operator"] in {"in", "not_in"} and isinstance(value, list) else [value]
    for one in values:
        is_known = any(type(one) is type(known) and one == known for known in name.values)
        if one is not None and not is_known:
            name.values.append(one)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)
