"""What an experiment would cost, in words, before it is started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from capabilities.evaluation.experiments.starting import Estimate, Plan, estimated, planned
from capabilities.evaluation.experiments.verbs import Experiments
from studio.money import in_dollars
from versioning.domain.access import Caller

SAMPLE: Final = 200
"""How many items a page reads to estimate the tokens of all."""
MINUTE: Final = 60


def plan_of(dataset_id: str, request: Mapping[str, Any], by: Caller) -> tuple[Plan, Estimate]:
    """Return what a request for an experiment pins, and what that would cost; raises as starting it would."""
    plan = planned(Experiments.current(), dataset_id, request, by=by)
    return plan, estimated(plan, request.get("attempts", 1), sample=SAMPLE)


def cost_in_words(cost: Estimate) -> str:
    """Return an estimate as `40 answers, about 5,000 tokens, about 3 minutes`."""
    return ", ".join(_parts(cost))


def _parts(cost: Estimate) -> Iterator[str]:
    yield ngettext("%(count)s answer", "%(count)s answers", cost.cells) % {"count": _number(cost.cells)}
    tokens = _rounded(cost.input_tokens + cost.output_tokens)
    if tokens:
        yield _("about %(count)s tokens") % {"count": _number(tokens)}
    if tokens and cost.cost is not None:
        yield _("about %(cost)s") % {"cost": in_dollars(cost.cost)}
    if cost.seconds is not None:
        minutes = round(cost.seconds / MINUTE)
        yield (
            ngettext("about %(count)s minute", "about %(count)s minutes", minutes)
            % {"count": _number(minutes)}
            if minutes
            else _("less than a minute")
        )


def _rounded(count: int) -> int:
    """Return a number with its first two digits: an estimate knows no more."""
    return round(count, 2 - len(str(count))) if count else 0


def _number(count: int) -> str:
    return number_format(count, force_grouping=True)
