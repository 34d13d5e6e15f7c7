"""Display rules: groups of conditions, three levels deep."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from editor_client.shared import canonical

from studio.forms.inputs import Input, Reading, Shown, read_json
from versioning.domain.errors import Invalid

ABSENT: Any = object()
"""The value of an empty control."""
LEVELS = 3
"""How deep groups may be nested; deeper groups are refused."""


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
    for name in [name for name, row in conditions.items() if _is_empty(row)]:
        del conditions[name]
    for child in controls.children.values():
        drop_empty_conditions(child)


def _is_empty(row: Input) -> bool:
    typed = row["field"].typed + row["value"].typed
    return row["kind"].typed == "rule" and not typed.strip()


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
    """Return the type and the text of the value that a rule compares with."""
    if "value" not in rule:
        return {"type": "none", "value": ""}
    value = rule["value"]
    if isinstance(value, bool):
        return {"type": "boolean", "value": canonical.dump(value)}
    if isinstance(value, int | float):
        return {"type": "number", "value": canonical.dump(value)}
    if isinstance(value, str) and _on_one_line(value):
        return {"type": "text", "value": value}
    if isinstance(value, list) and value and all(_listable(item) for item in value):
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


def _typed_json(control: Input, path: str, reading: Reading, wanted: Any, otherwise: str) -> Any:
    try:
        value = canonical.parse(control.typed.strip().lower())
    except Invalid:
        value = None
    if not isinstance(value, wanted) or (wanted is not bool and isinstance(value, bool)):
        reading.add_error(path, otherwise)
    return value


def _listable(item: Any) -> bool:
    return isinstance(item, str) and _on_one_line(item) and "," not in item and item == item.strip() != ""


def _on_one_line(text: str) -> bool:
    return "\n" not in text and "\r" not in text
