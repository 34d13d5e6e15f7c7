"""A JSON object as controls, one for each of its parts, or as JSON if they cannot represent it exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from editor_client.shared import canonical

from studio.forms.inputs import Input, Reading, Shown, json_text, read_json
from studio.kind_words import Part
from versioning.domain import texts

_SPARE: Final = 2
"""The number of empty rows of a part with rows."""
_WORDS: Final = {"": None, "true": True, "false": False}

Json = dict[str, Any]


def show_parts(parts: Iterable[Part], value: Any) -> Shown:
    """Return the controls of an object; `as` names the applicable form: controls or JSON."""
    known = {part.name: part for part in parts}
    given = value if isinstance(value, dict) else {}
    fits = given.keys() <= known.keys() and all(
        _fits(known[name], content) for name, content in given.items()
    )
    shown = {name: _show_part(part, given.get(name) if fits else None) for name, part in known.items()}
    exact = fits and canonical.same(_read_all(known, Input.showing(shown), "", Reading()) or {}, given)
    return {"as": "controls" if exact else "json", "json": json_text(value), "parts": shown}


def read_parts(parts: Iterable[Part], field: Input, path: str, reading: Reading) -> Json | None:
    """Return the object in the controls, None if all of them are empty."""
    reading.note(path, field)
    if field["as"].typed == "json":
        value: Json | None = read_json(field["json"], path, reading)
        return value
    return _read_all({part.name: part for part in parts}, field["parts"], path, reading)


def _read_all(known: Mapping[str, Part], controls: Input, path: str, reading: Reading) -> Json | None:
    read = {
        name: _read(part, controls.child(name), f"{path}.{name}", reading) for name, part in known.items()
    }
    return {name: value for name, value in read.items() if value is not None} or None


def _fits(part: Part, value: Any) -> bool:
    match part.control:
        case "lines":
            return isinstance(value, list) and all(
                isinstance(entry, str) and entry.strip() for entry in value
            )
        case "rows":
            return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)
        case "line" | "choice":
            return isinstance(value, str)
        case "yes_no":
            return isinstance(value, bool)
    return True


def _show_part(part: Part, value: Any) -> Shown:
    if part.control == "rows":
        rows: list[Json] = [*(value or ()), *({} for _ in range(_SPARE))]
        return [{one.name: _show_part(one, row.get(one.name)) for one in part.parts} for row in rows]
    if value is None:
        return ""
    if part.control == "lines":
        return "\n".join(value)
    if part.control in {"line", "choice"}:
        return str(value)
    return json_text(value) if part.control == "json" else texts.format_value(value)


def _read(part: Part, control: Input, path: str, reading: Reading) -> Any:
    if part.control == "rows":
        reading.note(path, control)
        known = {one.name: one for one in part.parts}
        rows = (_read_all(known, row, path, Reading()) for row in control.rows)
        return [row for row in rows if row is not None] or None
    if part.control == "json":
        return read_json(control, path, reading)
    reading.note(path, control)
    text = control.as_text
    if not text.strip():
        return None
    if part.control == "lines":
        return [line for line in text.split("\n") if line.strip()]
    if part.control == "yes_no":
        return _WORDS.get(text)
    return text if part.control in {"line", "choice"} else texts.parse_value(text)
