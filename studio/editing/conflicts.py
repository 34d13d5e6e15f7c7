"""Conflicting edits by two people: the changes of each, and whether they can be merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from studio.diff.fields import FieldDifference, differences
from studio.diff.merging import Clash, Merge, merge
from studio.editing.forms import Submission
from studio.field_words import titles
from studio.forms.fields import too_large
from studio.limits import PageBudget
from versioning.domain.config import Config, ConfigSchema

MAX_CLASHES: Final = 5
"""The maximum number of conflicting sentences on a page."""


def _half_a_budget() -> PageBudget:
    whole = PageBudget()
    return PageBudget(
        characters=whole.characters // 2,
        lines=whole.lines // 2,
        changes=whole.changes // 2,
        steps=whole.steps // 2,
    )


@dataclass(frozen=True, kw_only=True)
class Conflict:
    is_gone: bool
    """Whether the version from which the form started was deleted."""
    theirs: Sequence[FieldDifference]
    yours: Sequence[FieldDifference]
    mine: Sequence[str]
    both: Sequence[str]
    overlapping: Sequence[str]
    can_take_both: bool
    clashes: Sequence[Clash]
    """The sentences that both changed, the first few."""
    can_prefer: bool
    """Whether both can be merged with the wording of one side in conflicts."""

    @property
    def must_choose(self) -> bool:
        return bool(self.both) or self.is_gone

    @classmethod
    def of(cls, submission: Submission, latest: Config, schema: ConfigSchema) -> Conflict:
        before, changed = submission.began_with, submission.changed
        theirs = differences(before, latest, schema, _half_a_budget()) if before is not None else []
        their_names = {field.name for field in theirs}
        merged = merged_with(submission, latest, schema)
        return cls(
            is_gone=before is None,
            theirs=theirs,
            yours=differences(latest, {**latest, **changed}, schema, _half_a_budget()),
            mine=titles(changed),
            both=titles(name for name in changed if name in their_names),
            overlapping=titles(name for name in changed if merged and name in merged.overlaps),
            can_take_both=bool(changed and theirs) and merged is not None and not merged.overlaps,
            clashes=merged.clashes[:MAX_CLASHES] if merged else (),
            can_prefer=bool(changed and theirs) and merged is not None and bool(merged.overlaps),
        )


def merged_with(
    submission: Submission, latest: Config, schema: ConfigSchema, *, prefers_theirs: bool = False
) -> Merge | None:
    """Return the changes of a form merged with those saved since it was opened.

    In conflicts, the result has the form's changes, or with `prefers_theirs` the saved ones.

    None if that is impossible: the version from which the form started was deleted, or a changed field is too
    large for a form.
    """
    if submission.began_with is None:
        return None
    mine = schema.merge(submission.began_with, submission.changed)
    sides = (latest, mine) if prefers_theirs else (mine, latest)
    merged = merge(submission.began_with, *sides, _half_a_budget())
    large: Any = too_large(merged.config, list(submission.names))
    return None if set(large) & {*submission.changed} else merged
