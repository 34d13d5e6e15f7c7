"""Display rules: groups of conditions, three levels deep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from editor_client.shared import canonical
from editor_client.shared.text_keys import is_name

from studio.field_words import CONDITIONS
from studio.forms.inputs import Input, Reading, Shown, read_json
from versioning.domain.errors import Invalid

ABSENT: Any = object()
"""The value of an empty control."""
LEVELS = 3
"""The maximum depth of nested groups; deeper groups are refused."""


def show_rules(rules: dict[str, Any] | None) -> Shown:
    """Return the controls of a group; no operator means no rules."""
    if rules is None:
        return {"operator": "", "conditions": []}
    conditions = [_show_condition(condition) for condition in rules["conditions"]]
    return {"operator": rules["operator"], "conditions": conditions}


def read_rules(group: Input, path: str, reading: Reading, level: int = 1) -> dict[str, Any] | None:
    """Return the group, or None without rules."""
    reading.note(path, group)
    operator = group["operator"].typed
    if not operator:
        return None
    reading.note(f"{path}.operator", group["operator"])
    if level > LEVELS:
        reading.add_error(path, _("must not be nested more than %(levels)s levels deep") % {"levels": LEVELS})
        return None
    conditions = [
        _read_condition(row, f"{path}.conditions.{position}", reading, level)
        for position, row in enumerate(group["conditions"].rows)
    ]
    return {"operator": operator, "conditions": conditions}


def drop_empty_conditions(controls: Input) -> None:
    """Remove empty conditions, such as new rows, at any depth."""
    conditions = controls.child("conditions").children
    for name, row in [*conditions.items()]:
        text = row["field"].typed + row["value"].typed
        if row["kind"].typed == "rule" and not text.strip():
            del conditions[name]
    for child in controls.children.values():
        drop_empty_conditions(child)


def _show_condition(condition: dict[str, Any]) -> Shown:
    if "conditions" in condition:
        return {"kind": "group", **show_rules(condition)}  # type: ignore[dict-item]
    return {
        "kind": "rule",
        "field": condition["field"],
        "operator": condition["operator"],
        **show_operand(condition),
    }


def _read_condition(row: Input, path: str, reading: Reading, level: int) -> Any:
    if row["kind"].typed == "group":
        return read_rules(row, path, reading, level + 1)
    reading.note(path, row["field"])
    reading.note(f"{path}.field", row["field"])
    reading.note(f"{path}.operator", row["operator"])
    rule = {"field": row["field"].as_line, "operator": row["operator"].typed}
    value = read_operand(row, f"{path}.value", reading)
    return rule if value is ABSENT else {**rule, "value": value}


def show_operand(rule: dict[str, Any]) -> dict[str, Shown]:
    if "value" not in rule:
        return {"type": "none", "value": ""}
    value = rule["value"]
    if isinstance(value, bool):
        return {"type": "boolean", "value": canonical.dump(value)}
    if isinstance(value, int | float):
        return {"type": "number", "value": canonical.dump(value)}
    if isinstance(value, str) and _on_one_line(value):
        return {"type": "text", "value": value}
    if isinstance(value, list) and value and all(_is_listable(item) for item in value):
        return {"type": "list", "value": ", ".join(value)}
    return {"type": "json", "value": canonical.dump(value)}


def read_operand(rule: Input, path: str, reading: Reading) -> Any:
    """Return the value that a rule compares with, or `ABSENT`."""
    control = rule["value"]
    reading.note(path, control)
    match rule["type"].typed:
        case "none":
            return ABSENT
        case "text":
            return control.as_line
        case "list":
            return [item for item in map(str.strip, control.as_line.split(",")) if item]
        case "boolean":
            return _typed_json(control, path, reading, bool, _("must be true or false"))
        case "number":
            return _typed_json(control, path, reading, int | float, _("must be a number"))
    if not control.typed.strip():
        reading.add_error(path, _("must not be empty"))
    return read_json(control, path, reading)


def _typed_json(control: Input, path: str, reading: Reading, types: Any, otherwise: str) -> Any:
    try:
        value = canonical.parse(control.typed.strip().lower())
    except Invalid:
        value = None
    if not isinstance(value, types) or (types is not bool and isinstance(value, bool)):
        reading.add_error(path, otherwise)
    return value


def _is_listable(item: Any) -> bool:
    """Return whether an item can be in a comma-separated list."""
    return isinstance(item, str) and _on_one_line(item) and "," not in item and item == item.strip() != ""


def _on_one_line(text: str) -> bool:
    return "\n" not in text and "\r" not in text


WHEN: Final = {
    "shown": (gettext_lazy("Shown when %(conditions)s."), gettext_lazy("Always shown.")),
    "used": (gettext_lazy("Used when %(conditions)s."), gettext_lazy("Always used.")),
    "offered": (gettext_lazy("Offered when %(conditions)s."), gettext_lazy("Always offered.")),
}
"""The decisions of conditions as sentences: with conditions, and without any."""
LONG: Final = 160
"""Longer conditions are shown on separate lines."""
_JUNCTIONS: Final = frozenset({"AND", "OR"})
_IN_WORDS: Final = "./:@#+-"
"""Characters of a text that cannot be mistaken for another value."""
_LIKE_JSON: Final = frozenset({"true", "false", "null"})


def is_rules(value: Any) -> bool:
    """Return whether a JSON value has the shape of display rules: a group of conditions and of groups."""
    return (
        isinstance(value, dict)
        and value.keys() == {"operator", "conditions"}
        and value["operator"] in list(_JUNCTIONS)
        and isinstance(value["conditions"], list)
        and all(is_rules(member) or _is_rule(member) for member in value["conditions"])
    )


def in_words(rules: dict[str, Any] | None) -> str:
    """Return display rules as a condition in one line; empty if they always hold."""
    if rules is None:
        return ""
    if rules["operator"] == "OR" or len(rules["conditions"]) == 1:
        return get_text_list(list(_alternatives(rules["conditions"])), _("or"))
    return get_text_list([_describe_clause(member) for member in rules["conditions"]], _("and"))


def sentence(rules: dict[str, Any] | None, effect: str) -> str:
    """Return the sentence when something is `shown`, `used` or `offered`; with a line for each of many."""
    when, always = WHEN[effect]
    words = in_words(rules)
    if not words:
        return str(always)
    if len(words) <= LONG or rules is None:
        return str(when) % {"conditions": words}
    return (str(when) % {"conditions": in_lines(rules)}).removesuffix(".")


def in_lines(rules: dict[str, Any], indent: str = "") -> str:
    """Return display rules as a list with a line for each condition, for rules too long for one line."""
    inner = f"{indent}  "
    head = _("all of these:") if rules["operator"] == "AND" else _("any of these:")
    lines = [
        in_lines(member, inner) if is_rules(member) else f"{inner}{_rule_in_words(member)}"
        for member in rules["conditions"]
    ]
    return "\n".join([f"{indent}{head}", *lines])


def value_in_words(value: Any) -> str:
    """Return the value of a comparison; a text that looks like something else is quoted."""
    if isinstance(value, str) and is_name(value, _IN_WORDS) and value[0] != "_" and value not in _LIKE_JSON:
        return value
    if isinstance(value, list) and value:
        return get_text_list([value_in_words(item) for item in value], _("or"))
    return canonical.dump(value)


def _alternatives(conditions: Sequence[Any]) -> Iterator[str]:
    """Yield conditions of which one must hold; neighbours that compare the same value are combined."""
    for field, members in groupby(conditions, _compared_field):
        if field is None:
            yield from map(_describe_clause, members)
        else:
            values = [
                value_in_words(value)
                for member in members
                for value in (member["value"] if member["operator"] == "in" else [member["value"]])
            ]
            yield _clause(field, "equals", get_text_list(values, _("or")))


def _describe_clause(member: Any) -> str:
    if not is_rules(member):
        return _rule_in_words(member)
    words = in_words(member)
    if not words:
        return _("always")
    return words if len(member["conditions"]) == 1 else f"({words})"


def _compared_field(member: Any) -> str | None:
    """Return the field that a condition compares for equality; None for other conditions."""
    if is_rules(member) or "value" not in member or member["operator"] not in {"equals", "in"}:
        return None
    is_list = isinstance(member["value"], list)
    if is_list is not (member["operator"] == "in") or (is_list and not member["value"]):
        return None
    field: str = member["field"]
    return field


def _rule_in_words(rule: dict[str, Any]) -> str:
    value = value_in_words(rule["value"]) if "value" in rule else ""
    return _clause(rule["field"], rule["operator"], value)


def _clause(field: str, operator: str, value: str) -> str:
    return (str(CONDITIONS[operator]) % {"field": field, "value": value}).rstrip()  # a value may be missing


def _is_rule(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"field", "operator"} <= value.keys() <= {"field", "operator", "value"}
        and isinstance(value["field"], str)
        and value["operator"] in list(CONDITIONS)
    )
