"""The texts of the studio about scorers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, pgettext_lazy

from capabilities.evaluation.scoring.kind import PRESETS
from capabilities.evaluation.studio.parts import PARTS
from studio.kind_words import FieldWords, FirstChoice, KindWords
from versioning.domain.config import Config

TYPES: Final = {
    "equals": _("The answer is this value (equals)"),
    "contains": _("Texts are in the answer (contains)"),
    "startsWith": _("How the answer begins (startsWith)"),
    "endsWith": _("How the answer ends (endsWith)"),
    "regex": _("A part of the answer matches a pattern (regex)"),
    "jsonSchema": _("The answer is JSON of this form (jsonSchema)"),
    "jsonEquals": _("A value in the JSON of the answer (jsonEquals)"),
    "numeric": _("The first number of the answer (numeric)"),
    "similarity": _("How similar the answer is to a text (similarity)"),
    "calledTool": _("A tool was called, or was not (calledTool)"),
    "maxTokens": _("The answer costs no more tokens (maxTokens)"),
    "maxMilliseconds": _("The answer takes no longer (maxMilliseconds)"),
    "llm-judge": _("A model judges the answer (llm-judge)"),
    "code": _("A function of the application (code)"),
    "external": _("An application sends the score (external)"),
}
PRESET_TYPES: Final = {
    "answer-relevancy": _("Whether the answer is about the question (answer-relevancy, for other runtimes)"),
    "answer-similarity": _(
        "How similar the answer is to the good answer (answer-similarity, for other runtimes)"
    ),
    "bias": _("Whether the answer is biased (bias, for other runtimes)"),
    "context-precision": _("Whether the best sources come first (context-precision, for other runtimes)"),
    "context-relevance": _(
        "Whether the sources are about the question (context-relevance, for other runtimes)"
    ),
    "faithfulness": _("Whether the sources support the answer (faithfulness, for other runtimes)"),
    "hallucination": _("Whether the answer contradicts the sources (hallucination, for other runtimes)"),
    "noise-sensitivity": _(
        "Whether irrelevant text changes the answer (noise-sensitivity, for other runtimes)"
    ),
    "prompt-alignment": _(
        "Whether the answer follows the instructions (prompt-alignment, for other runtimes)"
    ),
    "tool-call-accuracy": _("Whether the right tools were called (tool-call-accuracy, for other runtimes)"),
    "toxicity": _("Whether the answer is insulting or harmful (toxicity, for other runtimes)"),
}
"""Types that are stored for other runtimes and not run here."""
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
            help=_("How the answer is judged. Each type has its own settings."),
            options={**TYPES, **{preset: PRESET_TYPES.get(preset, preset) for preset in PRESETS}},
            control="choice",
        ),
        "config": FieldWords(
            title=_("Configuration"),
            help=_("Configuration of the type, as JSON."),
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
