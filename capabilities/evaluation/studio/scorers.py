"""The texts of the studio about scorers, and the page that tries one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from editor_client.shared import canonical

from capabilities.evaluation.datasets.models import Dataset, Revision
from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.scoring.kind import PRESETS
from capabilities.evaluation.scoring.scoring import MISSING, Attempt
from capabilities.evaluation.scoring.verbs import Scoring
from capabilities.evaluation.studio.base import json_object
from studio.error_pages import error_page
from studio.kind_words import FieldWords, FirstChoice, KindWords, Part
from studio.pages import FormPage
from studio.resources.base import ResourcePage
from versioning.api.limits import RunsFull, waits_for_models
from versioning.domain import texts
from versioning.domain.access import Right
from versioning.domain.config import Config
from versioning.domain.errors import NotFound, VersioningError
from versioning.domain.texts import clip
from versioning.domain.uuids import parse_uuid
from versioning.models.text_keys import ByName

_VALUE: Final = Part(
    name="value",
    title=_("Compared with"),
    help=_("Such as {{groundTruth}}, the good answer of an item, which it is if this is empty."),
)
_TEXT: Final = Part(name="value", title=_("Text"), help=_("Such as {{groundTruth}} or {{metadata.name}}."))
_LIMIT: Final = Part(name="value", title=_("At most"))
_IGNORE_CASE: Final = Part(
    name="ignoreCase", title=_("Upper and lower case count as equal"), control="yes_no"
)
_TOLERANCE: Final = Part(
    name="tolerance", title=_("Tolerance"), help=_("Numbers that differ by no more count as equal.")
)

PARTS: Final[Mapping[str, Sequence[Part]]] = {
    "equals": (
        _VALUE,
        _IGNORE_CASE,
        Part(name="trim", title=_("White space around it does not count"), control="yes_no"),
    ),
    "contains": (
        Part(name="values", title=_("Texts"), help=_("One in each line."), control="lines"),
        Part(
            name="mode",
            title=_("Texts that must occur"),
            control="choice",
            options={"all": _("all"), "any": _("at least one")},
        ),
        _IGNORE_CASE,
    ),
    "startsWith": (_TEXT, _IGNORE_CASE),
    "endsWith": (_TEXT, _IGNORE_CASE),
    "regex": (
        Part(name="pattern", title=_("Pattern"), help=_("In the syntax of RE2."), control="line"),
        _IGNORE_CASE,
    ),
    "jsonSchema": (Part(name="schema", title=_("JSON Schema"), control="json"),),
    "jsonEquals": (
        Part(name="path", title=_("Path"), help=_("Such as items.0.name."), control="line"),
        _VALUE,
        _TOLERANCE,
    ),
    "numeric": (
        _VALUE,
        _TOLERANCE,
        Part(
            name="decimal",
            title=_("Decimal sign"),
            help=_("In the answer and in the value. The other one may stand between groups of three digits."),
            control="choice",
            options={".": _("point: 1,234.5"), ",": _("comma: 1.234,5")},
        ),
    ),
    "similarity": (
        _VALUE,
        Part(
            name="algorithm",
            title=_("Measured by"),
            control="choice",
            options={"levenshtein": _("characters (levenshtein)"), "tokens": _("words (tokens)")},
        ),
    ),
    "calledTool": (
        Part(name="name", title=_("Name"), control="line"),
        Part(name="args", title=_("With these arguments"), control="json"),
        Part(name="not", title=_("The tool must not be called"), control="yes_no"),
    ),
    "maxTokens": (_LIMIT,),
    "maxMilliseconds": (_LIMIT,),
    "llm-judge": (
        Part(
            name="choices",
            title=_("Verdicts"),
            help=_("From two to ten; a row without a label is left out. Which pass is decided here."),
            control="rows",
            parts=(
                Part(name="label", title=pgettext_lazy("verdict", "Label"), control="line"),
                Part(name="score", title=_("Score")),
                Part(name="passes", title=_("Passes"), control="yes_no"),
            ),
        ),
        Part(
            name="promptBlock",
            title=_("Prompt block"),
            help=_("The id of a prompt block whose published text is the instructions."),
            control="line",
        ),
    ),
    "code": (Part(name="name", title=_("Name"), control="line"),),
}
"""By type; the others have no settings."""


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


SCORER_WORDS: Final = KindWords(
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
    first_choice=FirstChoice(
        field="type", begins=lambda kind: {"config": _BEGINNINGS[kind]} if kind in _BEGINNINGS else {}
    ),
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


MAX_ITEMS: Final = 50
"""The maximum number of items of a dataset that are offered."""
_LONG: Final = forms.Textarea


class TryForm(forms.Form):
    """An answer and its input."""

    input = forms.CharField(label=gettext_lazy("Input"), required=False, strip=False, widget=_LONG)
    output = forms.CharField(label=gettext_lazy("Answer"), required=False, strip=False, widget=_LONG)
    ground_truth = forms.CharField(
        label=gettext_lazy("A good answer"), required=False, strip=False, widget=_LONG
    )
    metadata = forms.CharField(label=gettext_lazy("Metadata, as JSON"), required=False, widget=_LONG)

    def clean_metadata(self) -> dict[str, Any]:
        """Return the metadata; raises `ValidationError` unless it is a JSON object."""
        return json_object(self.cleaned_data["metadata"]) or {}

    @property
    def attempt(self) -> Attempt:
        """The scored answer."""
        fields = self.cleaned_data
        truth = fields["ground_truth"].replace("\r\n", "\n")
        return Attempt(
            input=texts.typed_cell(fields["input"].replace("\r\n", "\n")),
            output=fields["output"].replace("\r\n", "\n"),
            ground_truth=texts.typed_cell(truth) if truth else MISSING,
            metadata=fields["metadata"],
        )


class TryScorerPage(FormPage, ResourcePage):
    """Scores an answer with the latest version of a scorer."""

    tab = "try_scorer"
    form_class = TryForm
    template = "evaluation/try.html"
    title = gettext_lazy("Try")

    @waits_for_models
    def post(self, request: HttpRequest, **ids: str) -> HttpResponse:
        return super().post(request, **ids)

    def form(self, data: Any = None) -> TryForm:
        self.require(Right.SAVE)
        form: TryForm = super().form(data)
        return form

    @cached_property
    def dataset(self) -> Dataset | None:
        """The dataset whose items are offered, if one is chosen."""
        dataset_id = self.request.GET.get("dataset", "")
        return Datasets.find(dataset_id, by=self.caller) if dataset_id else None

    def initial(self) -> dict[str, str]:
        """Return the item of the dataset that is chosen, if any."""
        item_id = self.request.GET.get("item", "")
        if self.dataset is None or not item_id:
            return {}
        revision = Revision.objects.of_version(self.dataset).filter(item=parse_uuid(item_id)).first()
        if revision is None:
            raise NotFound
        payload = revision.payload
        metadata = payload.get("metadata")
        return {
            "input": texts.format_value(payload.get("input")),
            "ground_truth": texts.format_value(payload["groundTruth"]) if "groundTruth" in payload else "",
            "metadata": canonical.file_text(metadata) if metadata else "",
        }

    def save(self, form: TryForm) -> HttpResponse:
        """Show the score."""
        return self.show(
            form, outcome=Scoring.current().try_out(self.resource_id, form.attempt, by=self.caller)
        )

    def handle_error(self, error: VersioningError) -> HttpResponse:
        """Return the page for an error, such as that too many requests wait for models."""
        if isinstance(error, RunsFull):
            message = gettext("Too many requests wait for models. Try again soon.")
            return error_page(self.request, 503, gettext("The server is busy"), message)
        return super().handle_error(error)

    def context(self) -> dict[str, Any]:
        items = []
        if self.dataset is not None:
            rows = Revision.objects.of_version(self.dataset).order_by("item__created_at", "item")[:MAX_ITEMS]
            items = [
                (str(row.item_id), clip(texts.format_value(row.payload.get("input")), 80)) for row in rows
            ]
        datasets = Datasets.list(workspace=self.workspace_id, by=self.caller).order_by(ByName("name"), "pk")
        return {
            "datasets": [(str(pk), name) for pk, name in datasets.values_list("pk", "name")],
            "chosen": None if self.dataset is None else str(self.dataset.pk),
            "items": items,
        }
