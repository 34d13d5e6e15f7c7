"""Instructions: one text, or an ordered list of blocks."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from studio.forms.inputs import Input, Reading, Shown, json_text, read_json
from studio.forms.rules import read_rules, show_rules


def show_instructions(value: Any) -> Shown:
    """Return the controls of the instructions; `as` says which of them apply, empty for no value."""
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
