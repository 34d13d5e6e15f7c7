"""Convert a field from one mode to another: text, blocks, controls, variants, JSON."""

from __future__ import annotations

from typing import Any, Final

from django.utils.translation import gettext as _
from editor_client.shared.instructions import as_one_text

from studio.forms.fields import as_one_value, as_variants, field_for, find_mode, is_one_value
from studio.forms.inputs import Input, Reading, json_text
from versioning.domain.config import ConfigSchema, raise_for_issues
from versioning.domain.errors import Invalid

JSON: Final = "json"
VARIANTS: Final = "variants"
_CONTROLS: Final = frozenset({"controls", VARIANTS, JSON})
MODES: Final = {
    "instructions": frozenset({"text", "blocks", JSON}),
    "model": _CONTROLS,
    "tools": _CONTROLS,
    "agents": _CONTROLS,
}
"""The fields with several modes, and these modes."""


def typed_value(name: str, controls: Input, mode: str, schema: ConfigSchema) -> Any:
    """Return the value of the controls of one mode.

    Raises `Invalid` for unreadable values, and for JSON that does not fit the field.
    """
    field = controls.child(name)
    field.children["as"] = Input(f"{name}.as", mode)
    reading = Reading()
    value = field_for(name).read(field, name, reading)
    if reading.issues:
        raise Invalid(reading.issues)
    if mode == JSON and value is not None:
        raise_for_issues(schema.edit, {name: value})
    return value


def rewritten(name: str, value: Any, mode: str) -> Input:
    """Return the controls of a field for the same value in another mode.

    Raises `Invalid` if that mode cannot represent it.
    """
    if mode == JSON:
        return Input.showing({"as": JSON, "json": json_text(value)}, name)
    if name == "instructions":
        if mode == "text":
            value = as_one_text(value) if isinstance(value, list) else value or ""
        elif not isinstance(value, list):
            value = [{"type": "text", "content": value or ""}]
    elif mode == VARIANTS:
        value = as_variants(value)
    elif is_one_value(value):
        value = as_one_value(value)
    else:
        raise Invalid.field(name, _("it has variants, which depend on the context"))
    if find_mode(name, value) not in {mode, ""}:
        raise Invalid.field(name, _("these fields cannot hold all of it"))
    return Input.showing({**field_for(name).show(value), "as": mode}, name)  # type: ignore[dict-item]
