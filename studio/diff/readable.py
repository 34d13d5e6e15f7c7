"""Fields of a configuration in readable form: texts, conditions in words, the rest as an outline. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from django.utils.translation import gettext as _
from editor_client.shared import canonical

from studio.field_words import words_of
from studio.forms.conditions import in_words, is_rules, sentence

REFERENCE: Final = "prompt_block_ref"
MODEL: Final = "model"
LISTED: Final = ("tools", "agents", "workflows", "scorers")
"""The fields that list used things by name: an additional one is shown as one addition."""
_NAMING_A_MODEL: Final = frozenset({"provider", "name", MODEL})
MAX_OUTLINED: Final = 50_000
"""Larger JSON does not become an outline: deep inside, an item's indent is sixty times as long."""
_LIKE_JSON: Final = re.compile(r"-?\d|true$|false$|null$|[\"\s-]|.*\s$")
"""Texts that need quotes, so that they are not mistaken for a number, a list or nothing."""

_DECIDED: Final = {
    **dict.fromkeys(("instructions", "rules"), "shown"),
    **dict.fromkeys(("tools", "agents", "workflows"), "offered"),
}
"""What the conditions of a field decide; for all other fields, when something is used."""
_USED: Final = "used"
_OFFERED: Final = "offered"
_SHOWN: Final = "shown"


class Condition(str):
    """Display rules in words."""

    __slots__ = ("always",)
    always: bool

    @classmethod
    def of(cls, rules: dict[str, Any] | None, what: str) -> Condition:
        """Return the sentence about rules; None and a group without members always hold."""
        words = cls(sentence(rules, what))
        words.always = not in_words(rules)
        return words


class Named(str):
    """Words without a key: they name the field itself."""

    __slots__ = ()


def readable(name: str, value: Any) -> Any:
    """Return the value of a field for comparing: in the same shape, as far as that is readable.

    Rules become words, a value that is chosen becomes its label, a block of text has the same shape with and
    without rules, and the provider and name of a model become one text.
    """
    if isinstance(value, str):
        value = str(words_of(name).options.get(value, value))
    what = _DECIDED.get(name, _USED)
    if is_rules(value) or (name == "rules" and value is None):
        return Condition.of(value, what)
    if name == "instructions" and isinstance(value, list):
        return [_readable_block(block) for block in value]
    if _are_variants(value):
        return [_variant(readable(name, one["value"]), one.get("rules")) for one in value]
    if (
        name == MODEL
        and isinstance(value, dict)
        and value.keys() & _NAMING_A_MODEL == _NAMING_A_MODEL - {MODEL}
    ):
        rest = {key: member for key, member in value.items() if key not in {"provider", "name"}}
        return {MODEL: Named(f"{value['provider']} / {value['name']}"), **rest}
    if what == _OFFERED and isinstance(value, dict):
        return {
            key: {**usage, "rules": Condition.of(usage.get("rules"), what)} for key, usage in value.items()
        }
    return _with_conditions(value, what)


def as_variants(value: Any) -> list[Any]:
    """Return a value from `readable` as variants: itself if it is a list of them, else as the only one."""
    return value if isinstance(value, list) else [_variant(value, None)]


def as_text(value: Any) -> str:
    """Return a value from `readable` as the text that a page shows."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(map(_is_block, value)):
        return "\n\n".join(text for text in map(as_text, value) if text.strip())
    if _is_block(value):
        if value["type"] == REFERENCE:
            return _("[Prompt block %(id)s]") % {"id": value["id"]}
        return "\n\n".join(filter(None, (value["content"], "" if value["rules"].always else value["rules"])))
    if len(canonical.dump(value)) > MAX_OUTLINED:
        return canonical.dump(value)
    return "\n".join(_outline(value))


def is_reference(value: Any) -> bool:
    """Return whether a value from `readable` is a reference to a prompt block."""
    return _is_block(value) and value["type"] == REFERENCE


def _readable_block(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] == REFERENCE:
        return block
    return {"type": "text", "content": block["content"], "rules": Condition.of(block.get("rules"), _SHOWN)}


def _variant(value: Any, rules: dict[str, Any] | None) -> dict[str, Any]:
    return {"rules": Condition.of(rules, _USED), "value": value}


def _with_conditions(value: Any, what: str) -> Any:
    if is_rules(value):
        return Condition.of(value, what)
    if isinstance(value, list):
        return [_with_conditions(item, what) for item in value]
    if isinstance(value, dict):
        return {key: _with_conditions(member, what) for key, member in value.items()}
    return value


def _are_variants(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(one, dict)
            and {"value"} <= one.keys() <= {"value", "rules"}
            and (one.get("rules") is None or is_rules(one["rules"]))
            for one in value
        )
    )


def _is_block(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    is_text = value.keys() == {"type", "content", "rules"} and isinstance(value["rules"], Condition)
    return is_text or (value.keys() == {"type", "id"} and value["type"] == REFERENCE)


def _outline(value: Any) -> Iterator[str]:
    """Yield the lines of a JSON value: `key: value`, `- item`, with deeper ones indented."""
    if isinstance(value, dict) and value:
        is_variant = value.keys() == {"rules", "value"}
        for key, member in value.items():
            if isinstance(member, Condition) and key == "rules":
                yield from member.split("\n") if is_variant or not member.always else ()
            elif isinstance(member, Named):
                yield member
            elif is_variant:
                yield from _outline(member)
            else:
                yield from _entry(f"{key}:", member)
    elif isinstance(value, list) and value:
        for item in value:
            yield from _entry("-", item)
    else:
        yield from _scalar(value).split("\n")


def _entry(head: str, value: Any) -> Iterator[str]:
    """Yield a member or an item: on one line if it fits, otherwise below its head."""
    is_nested = isinstance(value, dict | list) and bool(value)
    lines = list(_outline(value))
    if not is_nested and len(lines) == 1:
        yield f"{head} {lines[0]}"
        return
    if head == "-" and lines:
        yield f"- {lines[0]}"
        yield from (f"  {line}" for line in lines[1:])
        return
    yield head
    yield from (f"  {line}" for line in lines)


def _scalar(value: Any) -> str:
    if value is None:
        return _("nothing")
    if isinstance(value, str) and value and not _LIKE_JSON.match(value):
        return value
    return canonical.dump(value) if value not in ({}, []) else _("(empty)")
