"""The changes of a configuration in sentences. Pure, except for the language of the reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from editor_client.shared.errors import Invalid
from editor_client.shared.instructions import as_one_text

from studio.diff.json_changes import JsonChange
from studio.diff.readable import MODEL, is_reference
from studio.diff.spans import Op

_WHEN: Final = {
    "instructions": gettext_lazy("when it is shown"),
    "tools": gettext_lazy("when it is offered"),
    "agents": gettext_lazy("when it is offered"),
    "workflows": gettext_lazy("when it is offered"),
}
_USED_WHEN: Final = gettext_lazy("when it is used")

_NEEDLESS: Final = {"instructions": ("content", "id"), MODEL: (MODEL,)}
"""Parts that need no name, because they are the field itself."""


def title_of(name: str, change: JsonChange, *, is_list: bool) -> str:
    """Return the place of a change in a field, such as `Block 2` or `search · description`.

    `is_list` says whether the field is a list: of blocks, or of variants.
    """
    keys = list(change.path)
    parts: list[str] = []
    if is_list and keys:
        parts.append(_item(name, keys.pop(0), change.came_from))
        keys = keys[1:] if keys[:1] == ["value"] else keys
    parts += [_member(name, key) for key in keys]
    return " · ".join(filter(None, parts))


def _item(name: str, number: str, came_from: int | None) -> str:
    if name != "instructions":
        return _("Variant %(number)s") % {"number": number}
    if came_from is not None:
        return _("Block %(number)s, block %(before)s before") % {"number": number, "before": came_from}
    return _("Block %(number)s") % {"number": number}


def is_rewritten(before: Any, after: Any) -> bool:
    """Return whether the notation of a field changed: a text and blocks, one value and variants."""
    if before is None or after is None:
        return False
    return isinstance(before, list) != isinstance(after, list)


def rewriting(name: str, after: Any, *, is_same_text: bool) -> str:
    """Return the sentence about a changed notation; `after` is the field's new value."""
    if name == "instructions":
        tell = _as_blocks if isinstance(after, list) else _as_one_text
        return tell(after, is_same_text=is_same_text)
    if isinstance(after, list):
        return _("Which of its variants are used now depends on conditions.")
    return _("It no longer depends on conditions.")


def _as_blocks(blocks: Sequence[Any], *, is_same_text: bool) -> str:
    if not is_same_text:
        return _("The instructions are now written as blocks.")
    if any(_has_placeholders(block.get("content", "")) for block in blocks):
        return _(
            "The instructions are now written as blocks; the text itself is the same. "
            "Its placeholders are filled in from now on: that happens only in blocks."
        )
    return _("The instructions are now written as blocks; the text itself is the same.")


def _as_one_text(text: str, *, is_same_text: bool) -> str:
    if not is_same_text:
        return _("The instructions are now written as one text.")
    if _has_placeholders(text):
        return _(
            "The instructions are now written as one text; the text itself is the same. "
            "Its placeholders are no longer filled in: that happens only in blocks."
        )
    return _("The instructions are now written as one text; the text itself is the same.")


def of_reference(change: JsonChange, names: Mapping[str, str]) -> str:
    """Return the sentence about a reference to a prompt block; empty for every other change."""
    if change.path[1:] == ("id",):
        before, after = (_called(value, names) for value in (change.before, change.after))
        return _("Uses the prompt block %(after)s instead of %(before)s.") % {
            "after": after,
            "before": before,
        }
    if len(change.path) != 1 or not is_reference(_item_of(change)):
        return ""
    block = {"block": _called(block_of(change), names)}
    if change.op is Op.ADDED:
        return _("Now uses the prompt block %(block)s.") % block
    if change.op is Op.REMOVED:
        return _("No longer uses the prompt block %(block)s.") % block
    return _("The prompt block %(block)s was block %(number)s before.") % {**block, "number": change.before}


def block_of(change: JsonChange) -> str:
    """Return the id of the prompt block of a reference after a change, or before its removal."""
    item = _item_of(change)
    return str(item["id"] if isinstance(item, dict) else item)


def _item_of(change: JsonChange) -> Any:
    return change.before if change.op is Op.REMOVED else change.after


def moved(place: int) -> str:
    """Return the sentence about a block or another list item at a new position."""
    return _("It was number %(number)s before.") % {"number": place}


def _has_placeholders(text: str) -> bool:
    try:
        as_one_text([{"type": "text", "content": text}])
    except Invalid:
        return True
    return False


def _called(block_id: str, names: Mapping[str, str]) -> str:
    name = names.get(block_id, "")
    if not name or name == block_id:
        return block_id
    return _("%(name)s (%(id)s)") % {"name": name, "id": block_id}


def _member(name: str, key: str) -> str:
    if key == "rules":
        return str(_WHEN.get(name, _USED_WHEN))
    if key == "description":
        return _("description")
    return "" if key in _NEEDLESS.get(name, ()) else key
