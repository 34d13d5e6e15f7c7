"""Controls for things chosen by name: the model, tools and sub-agents."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from studio.forms.inputs import Input, Reading, Shown, json_text, read_json
from studio.forms.rules import read_rules, show_rules


def show_model(value: dict[str, Any] | None) -> Shown:
    """Return the controls of a model: provider, name, and the provider's own settings as JSON."""
    model = value or {}
    more = {key: member for key, member in model.items() if key not in {"provider", "name"}}
    return {
        "provider": model.get("provider", ""),
        "name": model.get("name", ""),
        "more": json_text(more or None),
    }


def read_model(field: Input, path: str, reading: Reading) -> dict[str, Any] | None:
    """Return the model, or None if the controls are empty."""
    for part in ("provider", "name"):
        reading.note(f"{path}.{part}", field[part])
    more = read_json(field["more"], f"{path}.more", reading)
    if more is not None and not isinstance(more, dict):
        reading.add_error(f"{path}.more", _("must be an object"))
        more = None
    named = {part: field[part].as_line for part in ("provider", "name")}
    return {**(more or {}), **named} if more or any(named.values()) else None


def show_usages(value: dict[str, Any] | None) -> Shown:
    """Return a row for each tool or sub-agent: its name, a description override, and its rules."""
    return {
        "offered": [
            {
                "key": key,
                "description": usage.get("description") or "",
                "rules": show_rules(usage.get("rules")),
            }
            for key, usage in (value or {}).items()
        ]
    }


def read_usages(field: Input, path: str, reading: Reading) -> dict[str, Any] | None:
    """Return tools or sub-agents by name, or None; a row without a name must be empty."""
    usages: dict[str, Any] = {}
    for row in field["offered"].rows:
        key = row["key"].as_line
        below = f"{path}.{key}"
        usage = _read_usage(row, below, reading)
        reading.note(below, row["key"])
        if key in usages or (not key and usage):
            message = _("is listed twice") if key else _("needs a name")
            reading.note(path, row["key"])
            reading.add_error(path, message)
        elif key:
            usages[key] = usage
    return usages or None


def _read_usage(row: Input, path: str, reading: Reading) -> dict[str, Any]:
    reading.note(f"{path}.description", row["description"])
    members = {
        "description": row["description"].as_text or None,
        "rules": read_rules(row["rules"], f"{path}.rules", reading),
    }
    return {name: value for name, value in members.items() if value is not None}
