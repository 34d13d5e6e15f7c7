"""Two configurations side by side, in the words of the page: the changed fields, each in parts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from editor_client.shared import canonical

from studio.diff.text import Change, Fate, Section, changes, sections, spans
from studio.forms.values import json_text
from studio.forms.words import OPERATORS, in_reading_order, titles, words_of
from studio.limits import Room, shortened
from versioning.domain.config import Config, ConfigSchema


class Told(str):
    """Display rules in words, which know the rules that they tell."""

    __slots__ = ("rules",)
    rules: dict[str, Any]

    @classmethod
    def of(cls, rules: dict[str, Any]) -> Told:
        """Return the words for rules."""
        told = cls(_group_in_words(rules))
        told.rules = rules
        return told


_JOINED_BY = {"AND": "all of:", "OR": "any of:"}
_ALWAYS = "always"
_LINES_OF_A_BLOCK = 5
"""How many lines a block counts as, with its heading."""
_BLOCK_TITLES = {
    "text": "Text",
    "prompt_block": "Text with a condition",
    "prompt_block_ref": "Prompt block",
}


@dataclass(frozen=True, kw_only=True)
class Part:
    """A change somewhere inside of a field."""

    title: str
    """Where in the field; empty for the field as a whole."""
    fate: Fate
    sections: Sequence[Section]
    note: str = ""
    left_out: int = 0
    """How many differences of it the page has no room for."""


@dataclass(frozen=True, kw_only=True)
class FieldDifference:
    """A field that is not the same in both versions."""

    name: str
    title: str
    fate: Fate
    """`added` where the version before had nothing in it, `removed` the other way round."""
    parts: Sequence[Part]
    """Empty when the same is only written in another way."""
    left_out: int = 0
    """How many differences the page has no room for, besides those of the parts."""

    @property
    def is_whole(self) -> bool:
        """Whether all that differs is shown."""
        return not self.left_out and not any(part.left_out for part in self.parts)


def differences(
    before: Config, after: Config, schema: ConfigSchema, room: Room | None = None
) -> list[FieldDifference]:
    """Return the fields in which two configurations differ, in the order of the schema.

    All of them are taken from the same room, that of a page unless another is given.
    """
    room = room or Room()
    return [
        field_difference(name, before.get(name), after.get(name), room)
        for name in schema.changed(before, after)
    ]


def unchanged_titles(changed: Iterable[FieldDifference], *configs: Config) -> list[str]:
    """Return what the fields are called that both configurations have and that do not differ."""
    different = {field.name for field in changed}
    same = {name for config in configs for name in config} - different
    return titles(in_reading_order(same))


def field_difference(name: str, before: Any, after: Any, room: Room) -> FieldDifference:
    """Return how a field changed, as far as there is room to show it; None is a field that is not there."""
    counted = room.left_out
    found = changes(_readable(before), _readable(after), room)
    left_out = room.left_out - counted
    parts: list[Part] = []
    for number, change in enumerate(found):
        if room.is_full:
            left_out += len(found) - number
            break
        parts.append(_part(name, change, room))
    return FieldDifference(
        name=name,
        title=words_of(name).title,
        fate=_fate_of(before, after),
        parts=parts,
        left_out=left_out,
    )


@dataclass(frozen=True, kw_only=True)
class ShownText:
    """A piece of a saved field."""

    title: str
    text: str
    left_out: int = 0
    """How many characters the page has no room for."""


def shown(name: str, value: Any, room: Room) -> list[ShownText]:
    """Return the value of a field in pieces: instructions by block, the rest as a whole."""
    if name != "instructions" or not isinstance(value, list):
        return [_shown_text("", _as_text(_readable(value)), room)]
    pieces = []
    for place, block in enumerate(value, 1):
        if room.is_full:
            pieces.append(ShownText(title=f"And {len(value) - place + 1} more blocks", text=""))
            break
        room.lines -= _LINES_OF_A_BLOCK
        title = f"{place}. {_BLOCK_TITLES[block['type']]}"
        pieces.append(_shown_text(title, _as_text(_readable(block)), room))
    return pieces


def _shown_text(title: str, text: str, room: Room) -> ShownText:
    fitting = room.fitting(text)
    return ShownText(title=title, text=fitting, left_out=len(text) - len(fitting))


def _fate_of(before: Any, after: Any) -> Fate:
    if before is None:
        return Fate.ADDED
    return Fate.REMOVED if after is None else Fate.CHANGED


def _part(name: str, change: Change, room: Room) -> Part:
    fate, note, counted = change.fate, "", room.left_out
    if fate is Fate.MOVED:
        note, texts = f"stood at {change.before} before", (_as_text(change.after),) * 2
    else:
        fate = fate if change.path else _fate_of(change.before, change.after)
        texts = _texts(change.before, change.after, fate)
    told = sections(spans(*texts, room), room)
    return Part(
        title=shortened(_title(name, change.path)),
        fate=fate,
        note=note,
        sections=told,
        left_out=room.left_out - counted,
    )


def _texts(before: Any, after: Any, fate: Fate) -> tuple[str, str]:
    """Return both sides of a change as text; a side that is not there is empty."""
    old = "" if fate is Fate.ADDED else _as_text(before)
    new = "" if fate is Fate.REMOVED else _as_text(after)
    if old == new and fate is Fate.CHANGED:
        # The same characters, as a text and as a number: the notation of JSON tells them apart.
        return canonical.dump(before), canonical.dump(after)
    return old, new


def _title(name: str, path: Sequence[str]) -> str:
    """Return where a part of a field is, such as `Block 2` or `search · description`."""
    if name != "instructions" or not path or not path[0].isdigit():
        return " · ".join("when" if key == "rules" else key for key in path)
    named = {"content": "", "rules": "when it is shown"}
    rest = (named.get(key, key) for key in path[1:])
    return " · ".join(filter(None, (f"Block {path[0]}", *rest)))


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    block_type = value.get("type") if isinstance(value, dict) else None
    if block_type == "prompt_block_ref" and value.keys() == {"type", "id"}:
        return f"→ {value['id']}"
    if block_type == "text" and value.keys() == {"type", "content"}:
        return str(value["content"])
    if block_type == "prompt_block" and value.keys() <= {"type", "content", "rules"}:
        return f"{value['content']}\n\nshown when {value.get('rules') or _ALWAYS}"
    if isinstance(value, dict) and isinstance(value.get("rules"), Told):
        rest = {key: member for key, member in value.items() if key != "rules"}
        return f"{_as_json(rest)}\n\nwhen {value['rules']}"
    return _as_json(value)


def _as_json(value: Any) -> str:
    return json_text(_as_saved(value)) or canonical.dump(value)


def _as_saved(value: Any) -> Any:
    """Return a readable value as it is stored, its rules too."""
    if isinstance(value, Told):
        return value.rules
    if isinstance(value, list):
        return [_as_saved(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_saved(member) for key, member in value.items()}
    return value


def _readable(value: Any) -> Any:
    """Return the value with its display rules told in words, so that they can be compared as text."""
    if isinstance(value, list):
        return [_readable(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _is_group(value):
        return Told.of(value)
    return {key: _readable(member) for key, member in value.items()}


def _is_group(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"operator", "conditions"}
        and value["operator"] in list(_JOINED_BY)
        and isinstance(value["conditions"], list)
        and all(_is_group(member) or _is_rule(member) for member in value["conditions"])
    )


def _is_rule(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"field", "operator"} <= value.keys() <= {"field", "operator", "value"}
        and value["operator"] in list(OPERATORS)
    )


def _group_in_words(group: dict[str, Any], indent: str = "") -> str:
    if not group["conditions"]:
        return f"{indent}{_ALWAYS}"
    inner = f"{indent}  "
    lines = [
        _group_in_words(member, inner) if _is_group(member) else f"{inner}{_rule_in_words(member)}"
        for member in group["conditions"]
    ]
    return "\n".join([f"{indent}{_JOINED_BY[group['operator']]}", *lines])


def _rule_in_words(rule: dict[str, Any]) -> str:
    words = f"{rule['field']} {OPERATORS[rule['operator']]}"
    return f"{words} {canonical.dump(rule['value'])}" if "value" in rule else words
