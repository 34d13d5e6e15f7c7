"""Display rules: groups of conditions, three levels deep."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from studio.forms.inputs import Input, Reading, Shown
from studio.forms.values import ABSENT, read_operand, show_operand

LEVELS = 3
"""How deep groups may be nested; deeper groups are refused."""


def show_rules(rules: dict[str, Any] | None) -> Shown:
    """Return the controls of a group; no operator means no rules."""
    if rules is None:
        return {"operator": "", "conditions": []}
    conditions = [_show_condition(one) for one in rules["conditions"]]
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
