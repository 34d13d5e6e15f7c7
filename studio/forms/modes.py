"""Convert a field from one mode to another: text, blocks, controls, JSON."""

from __future__ import annotations

from typing import Any, Final

from editor_client.shared.instructions import as_one_text

from studio.forms.fields import field_for, shows
from studio.forms.inputs import Input, Reading
from studio.forms.values import json_text
from versioning.domain.config import ConfigSchema, raise_for_issues
from versioning.domain.errors import Invalid

JSON: Final = "json"
_CONTROLS: Final = frozenset({"controls", JSON})
MODES: Final = {
    "instructions": frozenset({"text", "blocks", JSON}),
    "model": _CONTROLS,
    "tools": _CONTROLS,
    "agents": _CONTROLS,
}
"""The fields that can be written in several ways, and in which."""


def typed_value(name: str, controls: Input, mode: str, schema: ConfigSchema) -> Any:
    """Return the value of the controls of one mode.

    Raises `Invalid` for what cannot be read, and for JSON that does not fit the field.
    """
    field = controls.part(name)
    field.parts["as"] = Input(f"{name}.as", mode)
    reading = Reading()
    value = field_for(name).read(field, name, reading)
    if reading.issues:
        raise Invalid(reading.issues)
    if mode == JSON and value is not None:
        raise_for_issues(schema.edit, {name: value})
    return value


def rewritten(name: str, value: Any, mode: str) -> Input:
    """Return the controls of a field for the same value in another mode.

    Raises `Invalid` if that mode cannot express it.
    """
    if mode == JSON:
        return Input.showing({"as": JSON, "json": json_text(value)}, name)
    if name == "instructions":
        value = _instructions_as(mode, value)
    if not shows(name, value):
        raise Invalid.field(
            name, "these fields cannot hold it; variants, for one, can only be written as JSON"
        )
    return Input.showing({**field_for(name).show(value), "as": mode}, name)  # type: ignore[dict-item]


def _instructions_as(mode: str, value: Any) -> Any:
    if mode == "text":
        return as_one_text(value) if isinstance(value, list) else value or ""
    return value if isinstance(value, list) else [{"type": "text", "content": value or ""}]
