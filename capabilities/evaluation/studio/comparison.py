"""What an experiment says compared with its baseline: in a sentence, and item by item, differences first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from editor_client.shared.pairing import ComparedItem, Comparison, ItemOutcome
from editor_client.shared.statistics import MIN_PAIRS, Verdict

from capabilities.evaluation.experiments.models import Cell, Experiment, Score
from studio.diff.texts import Section, sections, spans
from studio.limits import PageBudget
from versioning.domain import texts

OUTCOMES: Final[Mapping[ItemOutcome, Promise]] = {
    ItemOutcome.WIN: pgettext_lazy("item", "better"),
    ItemOutcome.LOSS: pgettext_lazy("item", "worse"),
    ItemOutcome.TIE: pgettext_lazy("item", "the same"),
}
VERDICTS: Final[Mapping[Verdict, Promise]] = {
    Verdict.TOO_FEW: gettext_lazy("Not enough items to tell."),
    Verdict.BETTER: gettext_lazy("The version is better than the baseline."),
    Verdict.WORSE: gettext_lazy("The version is worse than the baseline."),
    Verdict.NO_DIFFERENCE_FOUND: gettext_lazy(
        "No difference was found, which does not mean that there is none."
    ),
}


@dataclass(frozen=True)
class Result:
    """What was answered in an attempt at an item."""

    cell: Cell

    @property
    def input(self) -> str:
        """What was asked; empty once the dataset is gone."""
        value = self.cell.member("input")
        return "" if value is None else texts.format_value(value)

    @property
    def reference(self) -> str:
        """What a good answer would have been; empty without one."""
        value = self.cell.member("groundTruth")
        return "" if value is None else texts.format_value(value)

    @property
    def output(self) -> str:
        """The answer."""
        return texts.format_value(self.cell.output) if self.cell.output_json else ""

    @property
    def scores(self) -> list[Score]:
        """What the scorers say of it, by their ids."""
        return sorted(self.cell.scores.all(), key=lambda one: one.scorer_id)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """An item with both answers, and how they differ."""

    item: ComparedItem
    here: Result | None
    baseline: Result | None
    sections: Sequence[Section]
    is_equal: bool
    is_passed_or_not: bool
    """Whether the scores are 1 for passed and 0 for not passed."""

    @property
    def outcome(self) -> Promise:
        """Whether it is better or worse here."""
        return OUTCOMES[self.item.outcome]

    @property
    def input(self) -> str:
        """What was asked."""
        return self.here.input if self.here else ""

    @property
    def reference(self) -> str:
        """What a good answer would have been; empty without one."""
        return self.here.reference if self.here else ""


def sentences(comparison: Comparison) -> list[str]:
    """Return what a comparison says: the numbers first, then the verdict, then what else one has to know."""
    primary = comparison.primary
    if primary is None or not comparison.pairs:
        return [_("No item has a score in both, so there is nothing to compare.")]
    numbers = {"wins": primary.wins, "losses": primary.losses, "ties": primary.ties}
    if primary.detectable is None:
        found = [_("Better on %(wins)d, worse on %(losses)d, same on %(ties)d.") % numbers]
    else:
        found = [
            _(
                "Better on %(wins)d, worse on %(losses)d, same on %(ties)d; "
                "a drop of %(points)d points or more would have been noticed."
            )
            % {**numbers, "points": primary.detectable}
        ]
    found.append(str(VERDICTS[primary.verdict]))
    if primary.verdict is Verdict.TOO_FEW:
        found.append(_("At least %(count)d items with a score in both are needed.") % {"count": MIN_PAIRS})
    if comparison.not_contemporary:
        found.append(_("Both ran on different days or with different models, which may be the difference."))
    left_out = sum(asdict(comparison.left_out).values())
    if left_out:
        found.append(_("Items that could not be compared: %(count)d.") % {"count": left_out})
    return found


def differences_first(items: Iterable[ComparedItem]) -> list[ComparedItem]:
    """Return the worse items, then the better ones, then those without a difference."""
    return sorted(items, key=lambda one: one.outcome is ItemOutcome.TIE)


def pairs(here: Experiment, baseline: Experiment, items: Sequence[ComparedItem]) -> Iterator[Pair]:
    """Yield items with the first answer of each side."""
    is_single = here.attempts == baseline.attempts == 1
    ids, budget = [one.item_id for one in items], PageBudget()
    rows = Cell.objects.over().filter(experiment__in=[here.pk, baseline.pk], item_id__in=ids, attempt=0)
    found = {(row.experiment_id, str(row.item_id)): Result(row) for row in rows.with_revisions()}
    for item in items:
        sides = [found.get((one.pk, item.item_id)) for one in (baseline, here)]
        before, after = [side.output if side else "" for side in sides]
        yield Pair(
            item=item,
            baseline=sides[0],
            here=sides[1],
            sections=sections(spans(before, after, budget), budget),
            is_equal=before == after,
            is_passed_or_not=is_single and {item.here, item.baseline} <= {0, 1},
        )
