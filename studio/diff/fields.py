"""The differing fields of two configurations with their changes and titles. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

import regex
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from editor_client.shared import canonical
from editor_client.shared.errors import Invalid
from editor_client.shared.instructions import as_one_text

from studio.diff.texts import Op, Section, common_runs, gaps, sections, spans
from studio.field_words import in_reading_order, titles, words_of
from studio.forms.rules import in_words, is_rules, sentence
from studio.limits import PageBudget, shorten
from versioning.domain.config import Config, ConfigSchema
from versioning.domain.text_search import IN_WORDS

REFERENCE: Final = "prompt_block_ref"
MODEL: Final = "model"
LISTED: Final = ("tools", "agents", "workflows", "scorers")
"""The fields that list entries by name: an additional one is shown as one addition."""
_NAMING_A_MODEL: Final = frozenset({"provider", "name", MODEL})
MAX_OUTLINED: Final = 50_000
"""Larger JSON does not become an outline: deep inside, an item's indent is sixty times as long."""
_LIKE_JSON: Final = re.compile(r"-?\d|true$|false$|null$|[\"\s-]|.*\s$")
"""Texts that need quotes, so that they are not mistaken for a number, a list or nothing."""

_DECIDED: Final = {
    **dict.fromkeys(("instructions", "rules"), "shown"),
    **dict.fromkeys(("tools", "agents", "workflows"), "offered"),
}
"""The meaning of a field's conditions; for all other fields, when it is used."""
_USED: Final = "used"
_OFFERED: Final = "offered"
_SHOWN: Final = "shown"


_WHEN: Final = {
    "instructions": gettext_lazy("when it is shown"),
    "tools": gettext_lazy("when it is offered"),
    "agents": gettext_lazy("when it is offered"),
    "workflows": gettext_lazy("when it is offered"),
}
_USED_WHEN: Final = gettext_lazy("when it is used")

_NEEDLESS: Final = {"instructions": ("content", "id"), MODEL: (MODEL,)}
"""Parts that need no name, because they are the field itself."""


class Condition(str):
    __slots__ = ("always",)
    always: bool

    @classmethod
    def of(cls, rules: dict[str, Any] | None, effect: str) -> Condition:
        """Return the sentence about rules; None and a group without members always hold."""
        words = cls(sentence(rules, effect))
        words.always = not in_words(rules)
        return words


class Named(str):
    """Words without a key: they name the field itself."""

    __slots__ = ()


def readable(name: str, value: Any) -> Any:
    """Return the readable form of a field's value for comparing, in the same shape as far as possible.

    Rules become words, a chosen value becomes its label, a block of text has the same shape with and without
    rules, and the provider and name of a model become one text.
    """
    if isinstance(value, str):
        value = str(words_of(name).options.get(value, value))
    effect = _DECIDED.get(name, _USED)
    if is_rules(value) or (name == "rules" and value is None):
        return Condition.of(value, effect)
    if name == "instructions" and isinstance(value, list):
        return [
            block
            if block["type"] == REFERENCE
            else {
                "type": "text",
                "content": block["content"],
                "rules": Condition.of(block.get("rules"), _SHOWN),
            }
            for block in value
        ]
    if _are_variants(value):
        return [_variant(readable(name, variant["value"]), variant.get("rules")) for variant in value]
    if (
        name == MODEL
        and isinstance(value, dict)
        and value.keys() & _NAMING_A_MODEL == _NAMING_A_MODEL - {MODEL}
    ):
        rest = {key: member for key, member in value.items() if key not in {"provider", "name"}}
        return {MODEL: Named(f"{value['provider']} / {value['name']}"), **rest}
    if effect == _OFFERED and isinstance(value, dict):
        return {
            key: {**usage, "rules": Condition.of(usage.get("rules"), effect)} for key, usage in value.items()
        }
    return _with_conditions(value, effect)


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


def _variant(value: Any, rules: dict[str, Any] | None) -> dict[str, Any]:
    return {"rules": Condition.of(rules, _USED), "value": value}


def _with_conditions(value: Any, effect: str) -> Any:
    if is_rules(value):
        return Condition.of(value, effect)
    if isinstance(value, list):
        return [_with_conditions(item, effect) for item in value]
    if isinstance(value, dict):
        return {key: _with_conditions(member, effect) for key, member in value.items()}
    return value


def _are_variants(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(variant, dict)
            and {"value"} <= variant.keys() <= {"value", "rules"}
            and (variant.get("rules") is None or is_rules(variant["rules"]))
            for variant in value
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
        if value is None:
            text = _("nothing")
        elif isinstance(value, str) and value and not _LIKE_JSON.match(value):
            text = value
        else:
            text = canonical.dump(value) if value not in ({}, []) else _("(empty)")
        yield from text.split("\n")


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


_WORDS: Final = regex.compile(rf"[{IN_WORDS}_]+")
_ALIKE: Final = 0.5
"""The share of words that two items must have in common to count as one changed or moved item."""


@dataclass(frozen=True, kw_only=True)
class JsonChange:
    """A value within a JSON value that was added, removed, moved or changed."""

    path: tuple[str, ...]
    """The path of keys to it; for list items the position, from 1."""
    op: Op
    before: Any = None
    after: Any = None
    came_from: int | None = None
    """For a change within a list item that also moved: its position before, from 1."""


def json_changes(before: Any, after: Any, budget: PageBudget, path: tuple[str, ...] = ()) -> list[JsonChange]:
    """Return the changes between two JSON values, in the order of the keys and items.

    Each is charged to the budget; changes beyond it are omitted and counted.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        return _changed_members(before, after, budget, path)
    if isinstance(before, list) and isinstance(after, list):
        return _changed_items(before, after, budget, path)
    if canonical.same(before, after):
        return []
    return _note_change(JsonChange(path=path, op=Op.CHANGED, before=before, after=after), budget)


def _note_change(change: JsonChange, budget: PageBudget) -> list[JsonChange]:
    """Return the change if the budget allows another one."""
    if budget.changes <= 0:
        budget.left_out += 1
        return []
    budget.changes -= 1
    return [change]


def _changed_members(
    before: dict[str, Any], after: dict[str, Any], budget: PageBudget, path: tuple[str, ...]
) -> list[JsonChange]:
    changes: list[JsonChange] = []
    for key in dict.fromkeys([*before, *after]):
        place = (*path, key)
        if key not in after:
            changes += _note_change(JsonChange(path=place, op=Op.REMOVED, before=before[key]), budget)
        elif key not in before:
            changes += _note_change(JsonChange(path=place, op=Op.ADDED, after=after[key]), budget)
        else:
            changes += json_changes(before[key], after[key], budget, place)
    return changes


@dataclass(frozen=True, kw_only=True)
class _Item:
    place: int
    op: Op
    before: int
    """The positions before and after; equal if it has only one."""
    after: int
    is_displaced: bool = False
    """For a changed item: whether it really moved, not only relative to its neighbours."""


def _changed_items(
    before: list[Any], after: list[Any], budget: PageBudget, path: tuple[str, ...]
) -> list[JsonChange]:
    """Return the changes of a list; equal items are matched at any position."""
    items = _compared_items(before, after, budget)
    changed: list[JsonChange] = []
    for number, item in enumerate(items):
        if budget.changes <= 0:
            budget.left_out += len(items) - number
            break
        inside, op = (*path, str(item.place + 1)), item.op
        old, new = before[item.before : item.before + 1], after[item.after : item.after + 1]
        if op is Op.CHANGED:
            edits = json_changes(old[0], new[0], budget, inside)
            came_from = item.before + 1 if item.is_displaced else None
            changed += [replace(change, came_from=came_from) for change in edits] if came_from else edits
        elif op is Op.MOVED:
            changed += _note_change(
                JsonChange(path=inside, op=op, before=item.before + 1, after=new[0]), budget
            )
        elif op is Op.REMOVED:
            changed += _note_change(JsonChange(path=inside, op=op, before=old[0]), budget)
        else:
            changed += _note_change(JsonChange(path=inside, op=op, after=new[0]), budget)
    return changed


def _compared_items(before: list[Any], after: list[Any], budget: PageBudget) -> list[_Item]:
    """Return the changes of items that are not equal, in the order in which a page shows them."""
    old, new = [canonical.comparable(item) for item in before], [canonical.comparable(item) for item in after]
    between = list(gaps(common_runs(old, new, budget), len(old), len(new)))
    removed = {i for places, _ in between for i in places}
    added = {j for _, places in between for j in places}
    items = [_Item(place=j, op=Op.MOVED, before=i, after=j) for i, j in _moves(old, new, removed, added)]
    similar = _similar(before, after, removed, added, budget)
    pairs = [*similar, *(pair for gap in between for pair in _alike(before, after, gap, removed, added))]
    # The budget limits the similar ones; all others are in one gap.
    displaced = _overtaking(pairs) | {
        (i, j) for i, j in similar if not any(i in gap and j in filled for gap, filled in between)
    }
    items += [
        _Item(place=j, op=Op.CHANGED, before=i, after=j, is_displaced=(i, j) in displaced) for i, j in pairs
    ]
    items += [_Item(place=i, op=Op.REMOVED, before=i, after=i) for i in removed]
    items += [_Item(place=j, op=Op.ADDED, before=j, after=j) for j in added]
    return sorted(items, key=lambda item: item.place)


def _overtaking(pairs: list[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the pairs of positions whose relative order was reversed."""
    reversed_pairs, furthest = set(), -1
    for i, j in sorted(pairs):
        if j < furthest:
            reversed_pairs.add((i, j))
        furthest = max(furthest, j)
    return reversed_pairs


def _moves(old: list[str], new: list[str], removed: set[int], added: set[int]) -> list[tuple[int, int]]:
    """Return the pairs of equal items at different positions; removes both from the sets."""
    places: dict[str, list[int]] = {}
    for j in sorted(added, reverse=True):
        places.setdefault(new[j], []).append(j)
    pairs = [(i, places[old[i]].pop()) for i in sorted(removed) if places.get(old[i])]
    removed -= {i for i, _ in pairs}
    added -= {j for _, j in pairs}
    return pairs


def _alike(
    before: list[Any], after: list[Any], gap: tuple[range, range], removed: set[int], added: set[int]
) -> list[tuple[int, int]]:
    """Return the pairs of items of which one was changed into the other; removes both from the sets."""
    pairs = []
    for i, j in zip([i for i in gap[0] if i in removed], [j for j in gap[1] if j in added], strict=False):
        if _type(before[i]) == _type(after[j]):
            pairs.append((i, j))
            removed.discard(i)
            added.discard(j)
    return pairs


def _similar(
    before: list[Any], after: list[Any], removed: set[int], added: set[int], budget: PageBudget
) -> list[tuple[int, int]]:
    """Return the pairs of items whose texts have the most words in common; removes both from the sets."""

    def words_at(items: Sequence[Any], place: int) -> frozenset[str]:
        text = items[place].get("content") if isinstance(items[place], dict) else None
        return frozenset(_WORDS.findall(text)) if isinstance(text, str) else frozenset()

    old = {place: words_at(before, place) for place in removed}
    new = {place: words_at(after, place) for place in added}
    pairs = []
    for j in sorted(place for place in added if new[place]):
        candidates = [i for i in removed if old[i] and _type(before[i]) == _type(after[j])]
        if not budget.spend(len(removed) + len(candidates) * len(new[j])):
            break
        scores = [(len(old[i] & new[j]) / len(old[i] | new[j]), -i) for i in candidates]
        likeness, place = max(scores, default=(0.0, 0))
        if likeness >= _ALIKE:
            pairs.append((-place, j))
            removed.discard(-place)
    added -= {j for _, j in pairs}
    return pairs


def _type(item: Any) -> tuple[str, Any]:
    return type(item).__name__, item.get("type") if isinstance(item, dict) else None


Names = Mapping[str, str]
"""The names of prompt blocks, by id; other blocks are shown by their ids."""
NO_NAMES: Final[Names] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class FieldChange:
    title: str
    """The place within the field; empty for the field as a whole."""
    op: Op
    sections: Sequence[Section] = ()
    """Its text; empty for an empty one, and for a change described by the note."""
    note: str = ""
    block_id: str = ""
    left_out: int = 0
    text_path: str = ""
    """The path of its text in the new version, such as `instructions.2.content`; empty if it is not a text.
    """


@dataclass(frozen=True, kw_only=True)
class FieldDifference:
    name: str
    title: str
    op: Op
    """`added` if the version before had no value, `removed` in the opposite case."""
    changes: Sequence[FieldChange]
    """Empty if only the notation differs."""
    note: str = ""
    left_out: int = 0
    """The number of omitted differences, in addition to those of the changes."""

    @property
    def is_whole(self) -> bool:
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
        for name in schema.list_changes(before, after)
    ]


def unchanged_titles(changed: Iterable[FieldDifference], *configs: Config) -> list[str]:
    different = {field.name for field in changed}
    unchanged = {name for config in configs for name in config} - different
    return titles(in_reading_order(unchanged))


def field_difference(
    name: str, before: Any, after: Any, budget: PageBudget, names: Names = NO_NAMES
) -> FieldDifference:
    """Return the changes of a field, within the budget; None means a missing field."""
    old, new = readable(name, before), readable(name, after)
    counted, note = budget.left_out, ""
    if name in LISTED and None in (before, after) and isinstance(old or new, dict):
        old, new = old or {}, new or {}
    elif is_rewritten(before, after):
        # Blocks become their combined text, a value becomes the only variant: then both sides are alike.
        unify = as_text if name == "instructions" else as_variants
        old, new = unify(old), unify(new)
        note = rewriting(name, after, is_same_text=canonical.same(old, new))
    json_differences = json_changes(old, new, budget)
    left_out = budget.left_out - counted
    changes: list[FieldChange] = []
    for number, change in enumerate(json_differences):
        if budget.is_spent:
            left_out += len(json_differences) - number
            break
        title = title_of(name, change, is_list=isinstance(new, list))
        path = "" if is_rewritten(before, after) else _path_of_text(name, after, change)
        changes.append(replace(_change(name, title, change, budget, names), text_path=path))
    return FieldDifference(
        name=name,
        title=words_of(name).title,
        op=_find_op(before, after),
        changes=changes,
        note=note,
        left_out=left_out,
    )


def _path_of_text(name: str, value: Any, change: JsonChange) -> str:
    """Return the path of the text in a change's new value; empty if it has none."""
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


def _find_op(before: Any, after: Any) -> Op:
    if before is None:
        return Op.ADDED
    return Op.REMOVED if after is None else Op.CHANGED


def _change(name: str, title: str, change: JsonChange, budget: PageBudget, names: Names) -> FieldChange:
    title = shorten(title)
    reference_note = describe_reference(change, names) if name == "instructions" else ""
    if reference_note:
        return FieldChange(title=title, op=change.op, note=reference_note, block_id=block_of(change))
    op, note, counted = change.op, "", budget.left_out
    if op is Op.MOVED:
        note, texts = describe_move(int(change.before)), (as_text(change.after),) * 2
    else:
        op = op if change.path else _find_op(change.before, change.after)
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


def title_of(name: str, change: JsonChange, *, is_list: bool) -> str:
    """Return the place of a change in a field, such as `Block 2` or `search · description`.

    `is_list` says whether the field is a list: of blocks, or of variants.
    """
    keys = list(change.path)
    parts: list[str] = []
    if is_list and keys:
        words: dict[str, Any] = {"number": keys.pop(0), "before": change.came_from}
        if name != "instructions":
            parts.append(_("Variant %(number)s") % words)
        elif change.came_from is not None:
            parts.append(_("Block %(number)s, block %(before)s before") % words)
        else:
            parts.append(_("Block %(number)s") % words)
        keys = keys[1:] if keys[:1] == ["value"] else keys
    for key in keys:
        if key == "rules":
            parts.append(str(_WHEN.get(name, _USED_WHEN)))
        elif key == "description":
            parts.append(_("description"))
        elif key not in _NEEDLESS.get(name, ()):
            parts.append(key)
    return " · ".join(filter(None, parts))


def is_rewritten(before: Any, after: Any) -> bool:
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


def describe_reference(change: JsonChange, names: Mapping[str, str]) -> str:
    """Return the sentence about a reference to a prompt block; empty for every other change."""
    if change.path[1:] == ("id",):
        before, after = (_name_item(value, names) for value in (change.before, change.after))
        return _("Uses the prompt block %(after)s instead of %(before)s.") % {
            "after": after,
            "before": before,
        }
    if len(change.path) != 1 or not is_reference(_find_item(change)):
        return ""
    block = {"block": _name_item(block_of(change), names)}
    if change.op is Op.ADDED:
        return _("Now uses the prompt block %(block)s.") % block
    if change.op is Op.REMOVED:
        return _("No longer uses the prompt block %(block)s.") % block
    return _("The prompt block %(block)s was block %(number)s before.") % {**block, "number": change.before}


def block_of(change: JsonChange) -> str:
    item = _find_item(change)
    return str(item["id"] if isinstance(item, dict) else item)


def _find_item(change: JsonChange) -> Any:
    return change.before if change.op is Op.REMOVED else change.after


def describe_move(place: int) -> str:
    return _("It was number %(number)s before.") % {"number": place}


def _has_placeholders(text: str) -> bool:
    try:
        as_one_text([{"type": "text", "content": text}])
    except Invalid:
        return True
    return False


def _name_item(block_id: str, names: Mapping[str, str]) -> str:
    name = names.get(block_id, "")
    if not name or name == block_id:
        return block_id
    return _("%(name)s (%(id)s)") % {"name": name, "id": block_id}
