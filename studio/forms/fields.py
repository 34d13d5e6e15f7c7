"""The fields of a configuration as controls: showing and reading back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, Final

from django.utils.translation import gettext as _
from editor_client.shared import canonical

from studio.field_words import fields_with_words
from studio.forms.inputs import Input, Reading, Shown, json_text, read_json
from studio.forms.rules import read_rules, show_rules
from studio.kind_words import Part
from versioning.domain import texts
from versioning.domain.config import Config

_SPARE: Final = 2
"""The number of empty rows in a part with rows."""
_WORDS: Final = {"": None, "true": True, "false": False}

Json = dict[str, Any]


def show_parts(parts: Iterable[Part], value: Any) -> Shown:
    """Return the controls of an object; `as` selects them or the JSON as its source."""
    parts_by_name = {part.name: part for part in parts}
    members = value if isinstance(value, dict) else {}
    fits = members.keys() <= parts_by_name.keys() and all(
        _fits(parts_by_name[name], content) for name, content in members.items()
    )
    shown = {
        name: _show_part(part, members.get(name) if fits else None) for name, part in parts_by_name.items()
    }
    exact = fits and canonical.same(
        _read_all(parts_by_name, Input.showing(shown), "", Reading()) or {}, members
    )
    return {"as": "controls" if exact else "json", "json": json_text(value), "parts": shown}


def read_parts(parts: Iterable[Part], field: Input, path: str, reading: Reading) -> Json | None:
    """Return the object in the controls, None if all of them are empty."""
    reading.note(path, field)
    if field["as"].typed == "json":
        value: Json | None = read_json(field["json"], path, reading)
        return value
    return _read_all({part.name: part for part in parts}, field["parts"], path, reading)


def _read_all(parts: Mapping[str, Part], controls: Input, path: str, reading: Reading) -> Json | None:
    read = {
        name: _read(part, controls.child(name), f"{path}.{name}", reading) for name, part in parts.items()
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
        return [
            {column.name: _show_part(column, row.get(column.name)) for column in part.parts} for row in rows
        ]
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
        columns = {column.name: column for column in part.parts}
        rows = (_read_all(columns, row, path, Reading()) for row in control.rows)
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


def show_instructions(value: Any) -> Shown:
    """Return the controls of the instructions; `as` names the applicable ones, empty for no value."""
    blocks = value if isinstance(value, list) else []
    text = value if isinstance(value, str) else ""
    used = "" if value is None else "text" if isinstance(value, str) else "blocks"
    return {
        "as": used,
        "text": text,
        "blocks": [_show_block(block) for block in blocks],
        "json": json_text(value),
    }


def read_instructions(field: Input, path: str, reading: Reading) -> Any:
    """Return the instructions as one text or as blocks; None if there are none."""
    reading.note(path, field)
    match field["as"].typed:
        case "text":
            reading.note(path, field["text"])
            return field["text"].as_text
        case "blocks":
            return [
                _read_block(row, f"{path}.{position}", reading)
                for position, row in enumerate(field["blocks"].rows)
            ]
        case "json":
            return read_json(field["json"], path, reading)
    return None


def control_of_text(path: str) -> str:
    """Return the name of the control of a text, such as `instructions.2.content`."""
    name, _dot, rest = path.partition(".")
    if name != "instructions":
        return path
    return f"{name}.blocks.{rest}" if rest else f"{name}.text"


def text_of_control(name: str) -> str:
    """Return the path of the text that a control edits: `instructions.2.content`."""
    field, _dot, rest = name.partition(".")
    if field != "instructions":
        return name
    return f"{field}.{rest.removeprefix('blocks.')}" if rest.startswith("blocks.") else field


def is_unchosen(row: Input) -> bool:
    """Return whether a row is a reference to a prompt block that is not chosen yet."""
    return row["type"].typed == "prompt_block_ref" and not row["id"].as_line.strip()


def _show_block(block: dict[str, Any]) -> Shown:
    match block["type"]:
        case "prompt_block_ref":
            return {"type": "prompt_block_ref", "id": block["id"]}
        case "prompt_block":
            rules = show_rules(block.get("rules"))
            return {"type": "prompt_block", "content": block["content"], "rules": rules}
    return {"type": "text", "content": block["content"], "rules": show_rules(None)}


def _read_block(row: Input, path: str, reading: Reading) -> dict[str, Any]:
    block_type = row["type"].typed
    reading.note(path, row)
    if block_type == "prompt_block_ref":
        reading.note(f"{path}.id", row["id"])
        if is_unchosen(row):
            reading.add_error(f"{path}.id", _("needs a prompt block: choose one or remove this row"))
        return {"type": block_type, "id": row["id"].as_line.strip()}
    reading.note(f"{path}.content", row["content"])
    block: dict[str, Any] = {"type": block_type, "content": row["content"].as_text}
    rules = read_rules(row["rules"], f"{path}.rules", reading)
    if rules is None:
        return block
    # The first condition is added to a text block like to any other block.
    return {**block, "type": "prompt_block" if block_type == "text" else block_type, "rules": rules}


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
    name_parts = {part: field[part].as_line for part in ("provider", "name")}
    return {**(more or {}), **name_parts} if more or any(name_parts.values()) else None


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


def show_variants(show: Callable[[Any], Shown], variants: Sequence[dict[str, Any]]) -> list[Shown]:
    """Return a row for each variant; `show` makes the controls of its value."""
    return [
        {"value": show(variant["value"]), "rules": show_rules(variant.get("rules"))} for variant in variants
    ]


def read_variants(
    read: Callable[[Input, str, Reading], Any], rows: Input, path: str, reading: Reading
) -> list[dict[str, Any]] | None:
    variants = []
    for position, row in enumerate(rows.rows):
        below = f"{path}.{position}"
        reading.note(below, row)
        value = read(row["value"], f"{below}.value", reading)
        rules = read_rules(row["rules"], f"{below}.rules", reading)
        # A variant always has a value: the configuration reports missing parts.
        variant = {"value": {} if value is None else value}
        variants.append(variant if rules is None else {**variant, "rules": rules})
    return variants or None


def as_variants(value: Any) -> list[dict[str, Any]]:
    """Return a value as variants: unchanged, or as one that always applies."""
    return value if isinstance(value, list) else [{"value": {} if value is None else value}]


def is_one_value(value: Any) -> bool:
    """Return whether a value is the same in every context: no variants, or one without conditions."""
    return not isinstance(value, list) or (
        len(value) <= 1 and not any((variant.get("rules") or {}).get("conditions") for variant in value)
    )


def as_one_value(value: Any) -> Any:
    """Return the value in every context, if `is_one_value` is true; None if there is none."""
    if not isinstance(value, list):
        return value
    return value[0]["value"] or None if value else None


MAX_CHARACTERS: Final = 300_000
"""The maximum total length of the controls of a form; a larger form could not be sent back either."""
MAX_ROWS: Final = 250
"""The maximum number of rows of a field; a field with more is shown as JSON."""


@dataclass(frozen=True, kw_only=True)
class FormField:
    """A field of the snapshot, converted from its value to controls and back."""

    show: Callable[[Any], Shown]
    read: Callable[[Input, str, Reading], Any]


def _line(control: Input, path: str, reading: Reading) -> str:
    reading.note(path, control)
    return control.as_line


def _text(control: Input, path: str, reading: Reading) -> str:
    reading.note(path, control)
    return control.as_text


def _varying(simple: FormField) -> FormField:
    """Return a field that is one value, variants of it, or JSON if controls cannot represent it exactly."""
    variants = FormField(
        show=lambda value: show_variants(simple.show, value),
        read=lambda rows, path, reading: read_variants(simple.read, rows, path, reading),
    )

    def show(value: Any) -> Shown:
        is_list = isinstance(value, list)
        used, mode = (variants, "variants") if is_list else (simple, "controls")
        fits = rows_fit(value)
        exact = fits and _holds(used, value)
        controls = simple.show(value) if fits and not is_list else {}
        rows = variants.show(value) if exact and is_list else []
        shown = {"as": mode if exact else "json", "json": json_text(value), "variants": rows}
        return {**shown, **controls}  # type: ignore[dict-item]

    def read(field: Input, path: str, reading: Reading) -> Any:
        reading.note(path, field)
        match field["as"].typed:
            case "json":
                return read_json(field["json"], path, reading)
            case "variants":
                return variants.read(field["variants"], path, reading)
        return simple.read(field, path, reading)

    return FormField(show=show, read=read)


def _instructions_shown(value: Any) -> Shown:
    if not rows_fit(value):
        return {"as": "json", "text": "", "blocks": [], "json": json_text(value)}
    shown = show_instructions(value)
    exact = _holds(FormField(show=show_instructions, read=read_instructions), value)
    return shown if exact else {**shown, "as": "json"}  # type: ignore[dict-item]


NAME = FormField(show=lambda value: value or "", read=_line)
TEXT = FormField(show=lambda value: value or "", read=_text)
OPTIONAL_TEXT = FormField(
    show=lambda value: value or "",
    read=lambda control, path, reading: _text(control, path, reading) or None,
)
JSON = FormField(show=json_text, read=read_json)
RULES = FormField(show=show_rules, read=read_rules)
INSTRUCTIONS = FormField(show=_instructions_shown, read=read_instructions)
MODEL = _varying(FormField(show=show_model, read=read_model))
USAGES = _varying(FormField(show=show_usages, read=read_usages))

_OWN_CONTROLS = {
    "name": NAME,
    "description": OPTIONAL_TEXT,
    "instructions": INSTRUCTIONS,
    "content": TEXT,
    "rules": RULES,
    "model": MODEL,
    "tools": USAGES,
    "agents": USAGES,
}


_OF_KINDS = {
    **dict.fromkeys(("line", "text", "choice"), OPTIONAL_TEXT),
    "json": JSON,
}


def find_mode(name: str, value: Any) -> str:
    mode: str = field_for(name).show(value)["as"]  # type: ignore[call-overload,index,assignment]
    return mode


def field_for(name: str) -> FormField:
    """Return the form field of a field: with its own controls, those chosen by its kind, or as JSON."""
    own = _OWN_CONTROLS.get(name)
    if own is not None:
        return own
    control = control_of(name)
    return _parts_field(name) if control == "parts" else _OF_KINDS[control]


@cache
def _parts_field(name: str) -> FormField:
    parts = {part.name: part for group in fields_with_words()[name].parts.values() for part in group}
    return FormField(
        show=lambda value: show_parts(parts.values(), value),
        read=lambda field, path, reading: read_parts(parts.values(), field, path, reading),
    )


def control_of(name: str) -> str:
    words = fields_with_words().get(name)
    return "json" if words is None else words.control


def is_chosen(name: str, control: str) -> bool:
    """Return whether the field's control is the one chosen by the words of its kind, not of another kind.

    The fields of agents and blocks have their own controls, independent of words.
    """
    return control == "json" if name in _OWN_CONTROLS else control == control_of(name)


def rows_fit(value: Any) -> bool:
    """Return whether a form can show a row for every block, tool, sub-agent and condition of a value."""
    return sum(1 for _ in islice(_objects(value), MAX_ROWS + 1)) <= MAX_ROWS


def _objects(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _objects(member)


def too_large(config: Config, names: list[str]) -> list[str]:
    """Return the fields that are too large for a form, alone or together with earlier ones."""
    remaining = MAX_CHARACTERS
    names_too_large = []
    for name in names:
        size = len(canonical.dump(config[name])) if name in config else 0
        # Any other field with rows can be shown as JSON instead.
        if size > remaining or (name == "rules" and not rows_fit(config.get(name))):
            names_too_large.append(name)
        else:
            remaining -= size
    return names_too_large


def show_config(config: Config, names: list[str]) -> Input:
    """Return the form of a configuration, without the fields that are too large."""
    large = too_large(config, names)
    small = [name for name in names if name not in large]
    return Input.showing({name: field_for(name).show(config.get(name)) for name in small})


def changes(base: Config, names: list[str], posted: Input, reading: Reading) -> dict[str, Any]:
    """Return the fields that were changed in the form of `base`; None clears one.

    A field whose controls give the same value as those of the base was not edited, and stays unchanged. A
    field that was not posted was not edited either.
    """
    changed = {}
    for name in names:
        if name not in posted:
            continue
        value = field_for(name).read(posted[name], name, reading)
        if not canonical.same(value, _as_given_back(field_for(name), base.get(name))):
            changed[name] = value
    return changed


def rebase_form(latest: Config, names: list[str], posted: Input, touched: list[str]) -> Input:
    form = show_config(latest, names)
    form.children.update({name: posted[name] for name in touched})
    return form


def _as_given_back(field: FormField, value: Any) -> Any:
    return field.read(Input.showing(field.show(value)), "", Reading())


def _holds(field: FormField, value: Any) -> bool:
    return canonical.same(_tidy(_as_given_back(field, value)), _tidy(value))


def _tidy(value: Any) -> Any:
    """Return a value without irrelevant differences: nulls, empty objects, kinds of line ends."""
    if isinstance(value, Mapping):
        members = {key: _tidy(member) for key, member in value.items()}
        return {key: member for key, member in members.items() if member not in (None, "")} or None
    if isinstance(value, list):
        return [_tidy(item) for item in value]
    return Input("", value).as_text if isinstance(value, str) else value
