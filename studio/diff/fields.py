"""The differing fields of two configurations, each in parts, with the titles of the page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from editor_client.shared import canonical

from studio.diff.json_changes import JsonChange, json_changes
from studio.diff.lines import Section, sections
from studio.diff.readable import as_text, readable
from studio.diff.spans import Op, spans
from studio.forms.words import in_reading_order, titles, words_of
from studio.limits import PageBudget, shortened
from versioning.domain.config import Config, ConfigSchema

_LINES_OF_A_BLOCK = 5
"""How many lines a block counts as, with its heading."""
_BLOCK_TITLES = {
    "text": "Text",
    "prompt_block": "Text with a condition",
    "prompt_block_ref": "Prompt block",
}


@dataclass(frozen=True, kw_only=True)
class Part:
    """A change within a field."""

    title: str
    """Where in the field; empty for the field as a whole."""
    op: Op
    sections: Sequence[Section]
    note: str = ""
    left_out: int = 0
    """How many differences of it are too many for the page."""


@dataclass(frozen=True, kw_only=True)
class FieldDifference:
    """A field that differs between both versions."""

    name: str
    title: str
    op: Op
    """`added` where the version before had nothing in it, `removed` the other way round."""
    parts: Sequence[Part]
    """Empty when the same is only written in another way."""
    left_out: int = 0
    """How many differences are too many for the page, besides those of the parts."""

    @property
    def is_whole(self) -> bool:
        """Whether all differences are shown."""
        return not self.left_out and not any(part.left_out for part in self.parts)


def differences(
    before: Config, after: Config, schema: ConfigSchema, budget: PageBudget | None = None
) -> list[FieldDifference]:
    """Return the differing fields of two configurations, in the order of the schema.

    All of them share one budget, that of a page unless another is given.
    """
    budget = budget or PageBudget()
    return [
        field_difference(name, before.get(name), after.get(name), budget)
        for name in schema.changed(before, after)
    ]


def unchanged_titles(changed: Iterable[FieldDifference], *configs: Config) -> list[str]:
    """Return the titles of the fields that both configurations have and that do not differ."""
    different = {field.name for field in changed}
    same = {name for config in configs for name in config} - different
    return titles(in_reading_order(same))


def field_difference(name: str, before: Any, after: Any, budget: PageBudget) -> FieldDifference:
    """Return how a field changed, within the budget; None stands for a missing field."""
    counted = budget.left_out
    found = json_changes(readable(before), readable(after), budget)
    left_out = budget.left_out - counted
    parts: list[Part] = []
    for number, change in enumerate(found):
        if budget.is_spent:
            left_out += len(found) - number
            break
        parts.append(_part(name, change, budget))
    return FieldDifference(
        name=name,
        title=words_of(name).title,
        op=_op_of(before, after),
        parts=parts,
        left_out=left_out,
    )


@dataclass(frozen=True, kw_only=True)
class ShownText:
    """A piece of a saved field."""

    title: str
    text: str
    left_out: int = 0
    """How many characters are too many for the page."""


def shown(name: str, value: Any, budget: PageBudget) -> list[ShownText]:
    """Return the value of a field in pieces: instructions by block, other values as a whole."""
    if name != "instructions" or not isinstance(value, list):
        return [_shown_text("", as_text(readable(value)), budget)]
    pieces = []
    for place, block in enumerate(value, 1):
        if budget.is_spent:
            pieces.append(ShownText(title=f"And {len(value) - place + 1} more blocks", text=""))
            break
        budget.lines -= _LINES_OF_A_BLOCK
        title = f"{place}. {_BLOCK_TITLES[block['type']]}"
        pieces.append(_shown_text(title, as_text(readable(block)), budget))
    return pieces


def _shown_text(title: str, text: str, budget: PageBudget) -> ShownText:
    shown_text = budget.take(text)
    return ShownText(title=title, text=shown_text, left_out=len(text) - len(shown_text))


def _op_of(before: Any, after: Any) -> Op:
    if before is None:
        return Op.ADDED
    return Op.REMOVED if after is None else Op.CHANGED


def _part(name: str, change: JsonChange, budget: PageBudget) -> Part:
    op, note, counted = change.op, "", budget.left_out
    if op is Op.MOVED:
        note, texts = f"stood at {change.before} before", (as_text(change.after),) * 2
    else:
        op = op if change.path else _op_of(change.before, change.after)
        texts = _texts(change.before, change.after, op)
    shown_sections = sections(spans(*texts, budget), budget)
    return Part(
        title=shortened(_title(name, change.path)),
        op=op,
        note=note,
        sections=shown_sections,
        left_out=budget.left_out - counted,
    )


def _texts(before: Any, after: Any, op: Op) -> tuple[str, str]:
    """Return both sides of a change as text; a missing side is empty."""
    old = "" if op is Op.ADDED else as_text(before)
    new = "" if op is Op.REMOVED else as_text(after)
    if old == new and op is Op.CHANGED:
        # The same characters, as a text and as a number: the notation of JSON tells them apart.
        return canonical.dump(before), canonical.dump(after)
    return old, new


def _title(name: str, path: Sequence[str]) -> str:
    """Return the title of a part, such as `Block 2` or `search · description`."""
    if name != "instructions" or not path or not path[0].isdigit():
        return " · ".join("when" if key == "rules" else key for key in path)
    named = {"content": "", "rules": "when it is shown"}
    rest = (named.get(key, key) for key in path[1:])
    return " · ".join(filter(None, (f"Block {path[0]}", *rest)))
