"""What people prefer who judged pairs of answers without knowing which is which."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from editor_client.shared import statistics

from capabilities.evaluation.experiments.models import Experiment, Label
from capabilities.evaluation.studio.comparison import VERDICTS

NAME: Final = "preferred"
"""The name of the labels; each holds the id of the experiment that answered better, or `SAME`."""
SAME: Final = "same"


@dataclass(frozen=True, kw_only=True)
class Preferences:
    """What people said of the answers of an experiment and its baseline; an item counts once."""

    wins: int
    losses: int
    ties: int
    people: int

    @property
    def items(self) -> int:
        """How many items were judged."""
        return self.wins + self.losses + self.ties

    @property
    def sentences(self) -> list[str]:
        """The numbers, then what they say."""
        numbers = {"wins": self.wins, "losses": self.losses, "ties": self.ties}
        found = [_("Preferred on %(wins)d, not on %(losses)d, no difference on %(ties)d.") % numbers]
        p = statistics.sign_test(self.wins, self.losses)
        found.append(str(VERDICTS[statistics.verdict(self.items, self.wins - self.losses, p)]))
        said = ngettext("%(count)d person judged.", "%(count)d people judged.", self.people)
        return [*found, said % {"count": self.people}]


def preferences_of(here: Experiment, baseline: Experiment) -> Preferences | None:
    """Return what people prefer, by the majority for each item; None if nobody has judged yet."""
    worth = {here.pk: 1, baseline.pk: -1, SAME: 0}
    said: defaultdict[str, int] = defaultdict(int)
    people = set()
    for item, value, author in Label.objects.filter(experiment=here, name=NAME).values_list(
        "item_id", "value", "author"
    ):
        if isinstance(value, str) and value in worth:
            said[str(item)] += worth[value]
            people.add(author)
    signs = Counter((one > 0) - (one < 0) for one in said.values())
    if not said:
        return None
    return Preferences(wins=signs[1], losses=signs[-1], ties=signs[0], people=len(people))
