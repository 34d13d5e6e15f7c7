"""Variants: several values of one field, each with its conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from studio.forms.inputs import Input, Reading, Shown
from studio.forms.rules import read_rules, show_rules


def show_variants(show: Callable[[Any], Shown], variants: Sequence[dict[str, Any]]) -> list[Shown]:
    """Return a row for each variant; `show` makes the controls of its value."""
    return [{"value": show(one["value"]), "rules": show_rules(one.get("rules"))} for one in variants]


def read_variants(
    read: Callable[[Input, str, Reading], Any], rows: Input, path: str, reading: Reading
) -> list[dict[str, Any]] | None:
    """Return the variants, or None; `read` reads the value of each."""
    found = []
    for position, row in enumerate(rows.rows):
        below = f"{path}.{position}"
        reading.note(below, row)
        value = read(row["value"], f"{below}.value", reading)
        rules = read_rules(row["rules"], f"{below}.rules", reading)
        # A variant always has a value: the configuration reports what is missing in it.
        variant = {"value": {} if value is None else value}
        found.append(variant if rules is None else {**variant, "rules": rules})
    return found or None


def as_variants(value: Any) -> list[dict[str, Any]]:
    """Return a value as variants: unchanged, or as one that always applies."""
    return value if isinstance(value, list) else [{"value": {} if value is None else value}]


def is_one_value(value: Any) -> bool:
    """Return whether a value is the same in every context: no variants, or one without conditions."""
    return not isinstance(value, list) or (
        len(value) <= 1 and not any((one.get("rules") or {}).get("conditions") for one in value)
    )


def as_one_value(value: Any) -> Any:
    """Return the value in every context, if `is_one_value` is true; None if there is none."""
    if not isinstance(value, list):
        return value
    return value[0]["value"] or None if value else None
