"""The texts of the studio about scorers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext_lazy

from evaluation.scoring.configs import PRESETS
from evaluation.studio.parts import PARTS
from studio.kind_words import FieldWords, FirstChoice, KindWords
from versioning.domain.config import Config

TYPES: Final = {
    "equals": _("equals: the answer is this value"),
    "contains": _("contains: texts are in the answer"),
    "startsWith": _("startsWith: how the answer begins"),
    "endsWith": _("endsWith: how the answer ends"),
    "regex": _("regex: a part of the answer matches a pattern"),
    "jsonSchema": _("jsonSchema: the answer is JSON of this form"),
    "jsonEquals": _("jsonEquals: a value in the JSON of the answer"),
    "numeric": _("numeric: the first number of the answer"),
    "similarity": _("similarity: how similar the answer is to a text"),
    "calledTool": _("calledTool: a tool was called, or was not"),
    "maxTokens": _("maxTokens: the answer costs no more tokens"),
    "maxMilliseconds": _("maxMilliseconds: the answer takes no longer"),
    "llm-judge": _("llm-judge: a model judges the answer"),
    "code": _("code: a function of the application"),
    "external": _("external: an application sends the score"),
}
OF_JUDGES: Final = frozenset({"instructions", "model"})
"""The fields that only a model that judges needs."""
_BEGINNINGS: Final[Mapping[str, Config]] = {
    "contains": {"values": ["{{groundTruth}}"]},
    "startsWith": {"value": "{{groundTruth}}"},
    "endsWith": {"value": "{{groundTruth}}"},
    "regex": {"pattern": "."},
    "jsonSchema": {"schema": {"type": "object"}},
    "calledTool": {"name": "tool"},
    "maxTokens": {"value": 1000},
    "maxMilliseconds": {"value": 10000},
    "llm-judge": {
        "choices": [
            {"label": "good", "score": 1, "passes": True},
            {"label": "bad", "score": 0, "passes": False},
        ]
    },
    "code": {"name": "function"},
}


def _begins(chosen: str) -> Config:
    return {"config": _BEGINNINGS[chosen]} if chosen in _BEGINNINGS else {}


SCORER: Final = KindWords(
    noun=_("scorer"),
    title=_("Scorers"),
    new=_("New scorer"),
    counted=lambda count: ngettext("%(count)s scorer", "%(count)s scorers", count),
    anything=_("Anything about scorers"),
    named=_("scorer {name}"),
    of_named=_("of scorer {name}"),
    object_named=pgettext_lazy("the object of a sentence", "scorer {name}"),
    created=_("{who} created this scorer"),
    metadata_changed=_("{who} changed the metadata of this scorer"),
    deleted=_("{who} deleted this scorer"),
    delete=_("Delete this scorer"),
    has_changed=_("This scorer has changed since you opened it."),
    beginning=_("A scorer says whether an answer is good: by a rule, or by a model that judges it."),
    needs=lambda name, config: name not in OF_JUDGES or config.get("type") == "llm-judge",
    first_choice=FirstChoice(field="type", begins=_begins),
    fields={
        "instructions": FieldWords(
            title=_("Instructions of the judge"),
            help=_("Instructions for the model that judges; for llm-judge only."),
        ),
        "model": FieldWords(title=_("Model"), help=_("The model that judges; for llm-judge only.")),
        "type": FieldWords(
            title=_("Type"),
            help=_("How the answer is judged. The next page has its settings."),
            options={**TYPES, **{preset: preset for preset in PRESETS}},
            control="choice",
        ),
        "config": FieldWords(
            title=_("Settings"),
            help=_("Settings of the type, as JSON."),
            control="parts",
            parts=PARTS,
            parts_by="type",
        ),
        "scoreRange": FieldWords(
            title=_("Range of scores"), help=_('From 0 to 1, unless {"min", "max"} says otherwise.')
        ),
        "passIf": FieldWords(
            title=_("Passes"),
            help=_(
                'The scores that pass, as {"min", "max"}; by default those from the middle of the range on.'
            ),
        ),
        "tie": FieldWords(title=_("Tie"), help=_("Scores that differ by no more count as equal.")),
        "appliesIf": FieldWords(
            title=_("Applies if"),
            help=_("Conditions on the metadata of an item, as JSON; others are not scored."),
        ),
        "defaultSampling": FieldWords(title=_("Sampling")),
        "presetConfig": FieldWords(
            title=_("Settings of a preset"), help=_("Kept as given, for other runtimes.")
        ),
    },
)
