"""The differing fields of two configurations with their changes and titles. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from editor_client.shared import canonical

from studio.diff import wording
from studio.diff.json_changes import JsonChange, json_changes
from studio.diff.lines import Section, sections
from studio.diff.readable import LISTED, as_text, as_variants, readable
from studio.diff.spans import Op, spans
from studio.field_words import in_reading_order, titles, words_of
from studio.limits import PageBudget, shortened
from versioning.domain.config import Config, ConfigSchema

Names = Mapping[str, str]
"""The names of prompt blocks, by id; other blocks are shown by their ids."""
NO_NAMES: Final[Names] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class FieldChange:
    """A change within a field."""

    title: str
    """The place within the field; empty for the field as a whole."""
    op: Op
    sections: Sequence[Section] = ()
    """Its text; empty for an empty one, and for a change described by the note."""
    note: str = ""
    """The change in a sentence."""
    block_id: str = ""
    """The prompt block of a changed reference."""
    left_out: int = 0
    """How many of its differences were left out."""
    text_path: str = ""
    """The path of its text in the version after, such as `instructions.2.content`; empty if it is none."""


@dataclass(frozen=True, kw_only=True)
class FieldDifference:
    """A field that differs between two versions."""

    name: str
    title: str
    op: Op
    """`added` if the version before had no value, `removed` in the opposite case."""
    changes: Sequence[FieldChange]
    """Empty if only the notation differs."""
    note: str = ""
    """A sentence about the field as a whole."""
    left_out: int = 0
    """How many differences were left out, in addition to those of the changes."""

    @property
    def is_whole(self) -> bool:
        """Whether all differences are shown."""
        return not self.left_out and not any(change.left_out for change in self.changes)


def differences(
    before: Config,
    after: Config,
    schema: ConfigSchema,
    budget: PageBudget | None = None,
    names: Names = NO_NAMES,
) -> list[FieldDifference]:
    """Return the differing fields of two configurations, in the order of the schema.

    All fields share one budget, by default that of a page.
    """
    budget = budget or PageBudget()
    return [
        field_difference(name, before.get(name), after.get(name), budget, names)
        for name in schema.changed(before, after)
    ]


def unchanged_titles(changed: Iterable[FieldDifference], *configs: Config) -> list[str]:
    """Return the titles of the fields that are equal in both configurations."""
    different = {field.name for field in changed}
    same = {name for config in configs for name in config} - different
    return titles(in_reading_order(same))


def field_difference(
    name: str, before: Any, after: Any, budget: PageBudget, names: Names = NO_NAMES
) -> FieldDifference:
    """Return how a field changed, within the budget; None stands for a missing field."""
    old, new = readable(name, before), readable(name, after)
    counted, note = budget.left_out, ""
    if name in LISTED and None in (before, after) and isinstance(old or new, dict):
        old, new = old or {}, new or {}
    elif wording.is_rewritten(before, after):
        # Blocks become their combined text, a value becomes the only variant: then both sides are alike.
        unify = as_text if name == "instructions" else as_variants
        old, new = unify(old), unify(new)
        note = wording.rewriting(name, after, is_same_text=canonical.same(old, new))
    found = json_changes(old, new, budget)
    left_out = budget.left_out - counted
    changes: list[FieldChange] = []
    for number, change in enumerate(found):
        if budget.is_spent:
            left_out += len(found) - number
            break
        title = wording.title_of(name, change, is_list=isinstance(new, list))
        path = "" if wording.is_rewritten(before, after) else _path_of_text(name, after, change)
        changes.append(replace(_change(name, title, change, budget, names), text_path=path))
    return FieldDifference(
        name=name,
        title=words_of(name).title,
        op=_op_of(before, after),
        changes=changes,
        note=note,
        left_out=left_out,
    )


def _path_of_text(name: str, value: Any, change: JsonChange) -> str:
    """Return the path of the text that a change shows of the value after it; empty if it shows none."""
    if change.op is Op.REMOVED:
        return ""
    path = [name]
    for key in change.path:
        is_item = isinstance(value, list)
        if not is_item and not (isinstance(value, dict) and key in value):
            return ""  # the readable form has other members
        value = value[int(key) - 1] if is_item else value[key]
        path.append(str(int(key) - 1) if is_item else key)
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        return ".".join([*path, "content"])  # of a block, whose text comes first
    return ".".join(path) if isinstance(value, str) else ""


def _op_of(before: Any, after: Any) -> Op:
    if before is None:
        return Op.ADDED
    return Op.REMOVED if after is None else Op.CHANGED


def _change(name: str, title: str, change: JsonChange, budget: PageBudget, names: Names) -> FieldChange:
    title = shortened(title)
    told = wording.of_reference(change, names) if name == "instructions" else ""
    if told:
        return FieldChange(title=title, op=change.op, note=told, block_id=wording.block_of(change))
    op, note, counted = change.op, "", budget.left_out
    if op is Op.MOVED:
        note, texts = wording.moved(int(change.before)), (as_text(change.after),) * 2
    else:
        op = op if change.path else _op_of(change.before, change.after)
        texts = _texts(change.before, change.after, op)
    shown_sections = sections(spans(*texts, budget), budget)
    return FieldChange(
        title=title,
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
        # The same characters as a text and as a number: JSON notation distinguishes them.
        return canonical.dump(before), canonical.dump(after)
    return old, new
