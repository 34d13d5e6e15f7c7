"""Single values: JSON in a text box, and the value that a condition compares with."""

from __future__ import annotations

from typing import Any, Final

from django.utils.translation import gettext as _
from editor_client.shared import canonical

from studio.forms.inputs import Input, Reading, Shown
from versioning.domain.errors import Invalid

ABSENT: Any = object()
"""The value of an empty control."""


MAX_INDENTED: Final = 50_000
"""Larger JSON is not indented: deep inside, an item's indent is sixty times as long."""


def json_text(value: Any) -> str:
    """Return a value as readable JSON, in one line if it is very long; empty for None."""
    if value is None:
        return ""
    compact = canonical.dump(value)
    if len(compact) > MAX_INDENTED:
        return compact
    indented = canonical.dump(value, indent=2)
    return indented if len(indented) <= 4 * MAX_INDENTED else compact


def read_json(control: Input, path: str, reading: Reading) -> Any:
    """Return the value of the typed JSON, or None if there is none."""
    reading.note(path, control)
    if not control.typed.strip():
        return None
    try:
        return canonical.parse(control.typed, field=path)
    except Invalid as error:
        reading.issues.extend(error.issues)
        return None


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
