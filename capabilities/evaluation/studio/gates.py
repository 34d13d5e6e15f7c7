"""The gates of a workspace, and their judgements on the pages about versions and releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib.admin.utils import quote
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy, pgettext_lazy
from editor_client.shared import canonical
from editor_client.shared.gates import GateState

from capabilities.evaluation.datasets.models import Dataset
from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.experiments.models import Experiment, Summary
from capabilities.evaluation.experiments.schemas import MAX_ATTEMPTS
from capabilities.evaluation.gates.api import MAX_DAYS
from capabilities.evaluation.gates.check import sentence
from capabilities.evaluation.gates.evidence import Judgement, judge_request, known_to
from capabilities.evaluation.gates.models import LATEST, Bypass, Gate, TooFew, ToolPolicy
from capabilities.evaluation.gates.verbs import Change, Gates, missing_run
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.scoring.models import Scorer
from capabilities.evaluation.studio.base import (
    address_of_experiment,
    json_object,
    offer,
    offer_agents,
    scorer_choices,
)
from capabilities.evaluation.studio.experiments import cost_in_words, explain_rate, plan_with_cost
from studio.kinds import AGENT, KINDS_BY_SLUG, StudioKind
from studio.named import Place, person, resource_name
from studio.pages import ActionPage, FormPage
from studio.panels import Panel, Slot, SubjectOnPage, VersionOnPage
from studio.translation import translate
from studio.views import safe_next_url
from studio.workspaces.views import WorkspacePage, address
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid, NotFound, VersioningError
from versioning.domain.snapshots import Snapshot
from versioning.editor.gate import PublishRequest
from versioning.models import Event, VersionedResource
from versioning.models.text_keys import ByName
from versioning.serving.grants import target_of

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

KEPT: Final = "kept"
PINNED: Final = "pinned"
"""The choice of the current version of the dataset for the gate."""
RULES: Final[dict[str, Promise]] = {
    "notWorse": gettext_lazy("it is not found to be worse than live"),
    "nonInferior": gettext_lazy("it is at most … worse than live (proven)"),
    "noNewFailures": gettext_lazy("nothing fails that passes live"),
    "allPass": gettext_lazy("every item passes, in every attempt"),
    "passRate": gettext_lazy("at least …% of the items pass"),
    "maxTokens": gettext_lazy("it uses at most … × the tokens of live"),
}
_WITH_NUMBER: Final[dict[str, Promise]] = {
    "nonInferior": gettext_lazy("it is at most %(number)s worse than live (proven)"),
    "passRate": gettext_lazy("at least %(number)s%% of the items pass"),
    "maxTokens": gettext_lazy("it uses at most %(number)s × the tokens of live"),
}
NUMBERS: Final = {"nonInferior": "margin", "passRate": "min", "maxTokens": "ratio"}
"""The rules with a number, and its member."""
PERCENT: Final = 100
BYPASSES: Final = {Bypass.ADMIN: gettext_lazy("admins, with a reason"), Bypass.NOBODY: gettext_lazy("no one")}


def in_words(rule: Mapping[str, Any]) -> str:
    """Return a rule in words, with its number."""
    name, tag, scorer = rule["rule"], rule.get("tag"), rule.get("scorerId")
    if name == "allPass" and tag is not None:
        words = _("every item with the tag %(tag)s passes, in every attempt") % {"tag": tag}
    elif name in NUMBERS:
        number = rule[NUMBERS[name]]
        words = str(_WITH_NUMBER[name]) % {
            "number": f"{PERCENT * number if name == 'passRate' else number:g}"
        }
    else:
        words = str(RULES[name])
    return f"{words} ({scorer})" if scorer is not None else words


class GateForm(forms.Form):
    """The requirements of a gate before a version goes live."""

    agent = forms.ChoiceField(label=gettext_lazy("Agent"), required=False)
    dataset = forms.ChoiceField(label=gettext_lazy("Dataset"))
    scorers = forms.MultipleChoiceField(
        label=gettext_lazy("Scorers"),
        error_messages={"required": gettext_lazy("Choose at least one scorer.")},
    )
    primary = forms.ChoiceField(label=gettext_lazy("Deciding scorer"), required=False)
    attempts = forms.IntegerField(
        label=gettext_lazy("Attempts for each item"), min_value=1, max_value=MAX_ATTEMPTS, initial=1
    )
    rule = forms.ChoiceField(label=gettext_lazy("A version may go live if"), choices=list(RULES.items()))
    number = forms.FloatField(
        label=gettext_lazy("Limit (the … in the rule)"),
        required=False,
        help_text=gettext_lazy(
            "A percentage of the items, points of the score, or a factor, depending on the rule."
        ),
    )
    tag = forms.CharField(label=gettext_lazy("Only items with this tag (optional)"), required=False)
    days = forms.IntegerField(
        label=gettext_lazy("Days until evidence expires"), min_value=1, max_value=MAX_DAYS, initial=30
    )
    policy = forms.ChoiceField(
        label=gettext_lazy("Items that count"),
        choices=[
            (LATEST, gettext_lazy("all current items; only publishers may change the dataset")),
            (
                PINNED,
                gettext_lazy(
                    "the items of its current version, even after changes; editors may change the dataset"
                ),
            ),
        ],
    )
    context = forms.CharField(
        label=gettext_lazy("Request context"),
        required=False,
        widget=forms.Textarea,
        help_text=gettext_lazy(
            "A JSON object. Only experiments with this context count; an item’s own context takes precedence."
        ),
    )
    tools = forms.ChoiceField(
        label=gettext_lazy("Tools without a mock"),
        choices=[
            (ToolPolicy.DENY, gettext_lazy("make the item fail")),
            (ToolPolicy.ALLOW, gettext_lazy("are called for real")),
        ],
    )
    few = forms.ChoiceField(
        label=gettext_lazy("If there are too few items to tell"),
        choices=[
            (TooFew.REFUSE, gettext_lazy("the version can’t go live")),
            (TooFew.ALLOW, gettext_lazy("the version may go live")),
        ],
    )
    bypass = forms.ChoiceField(
        label=gettext_lazy("Who may publish without evidence"), choices=list(BYPASSES.items())
    )
    enabled = forms.ChoiceField(
        label=gettext_lazy("Enabled"), choices=[("yes", gettext_lazy("yes")), ("no", gettext_lazy("no"))]
    )

    CONDITIONS: Final = (
        "primary",
        "attempts",
        "days",
        "policy",
        "context",
        "tools",
        "few",
        "bypass",
        "enabled",
    )
    _OF_RULES: Final = ("number", "tag")

    @property
    def main(self) -> list[forms.BoundField]:
        """The fields that are always visible."""
        return [field for field in self if field.name not in {*self.CONDITIONS, *self._OF_RULES}]

    @property
    def conditions(self) -> list[forms.BoundField]:
        """The other fields that no rule needs."""
        return [self[name] for name in self.CONDITIONS]

    @property
    def has_errors_in_conditions(self) -> bool:
        """Whether one of these has to be corrected."""
        return any(condition.errors for condition in self.conditions)

    def clean_context(self) -> dict[str, Any]:
        """Return the request context; raises `ValidationError` unless it is a JSON object."""
        return json_object(self.cleaned_data["context"]) or {}

    def clean(self) -> dict[str, Any]:
        """Check that a rule with a number has one that is possible."""
        fields = self.cleaned_data
        rule, number = fields.get("rule"), fields.get("number")
        if rule in NUMBERS and "number" in fields:
            if number is None:
                self.add_error("number", _("is required for this rule"))
            elif rule == "passRate" and not 0 <= number <= PERCENT:
                self.add_error("number", _("must be from 0 to 100"))
            elif rule != "passRate" and number <= 0:
                self.add_error("number", _("must be greater than 0"))
        return fields

    @property
    def rate(self) -> float | None:
        """The share of items that has to pass; None unless the rule is about that."""
        fields = self.cleaned_data
        return fields["number"] / PERCENT if fields["rule"] == "passRate" else None

    @property
    def fields_of_gate(self) -> dict[str, Any]:
        """The fields of the gate, as its verbs take them."""
        data = self.cleaned_data
        fields = {
            "dataset_id": data["dataset"],
            "scorer_ids": data["scorers"],
            "attempts": data["attempts"],
            "evidence_days": data["days"],
            "request_context": data["context"],
            "tool_policy": data["tools"],
            "too_few": data["few"],
            "bypass": data["bypass"],
            "enabled": data["enabled"] == "yes",
        }
        if data["primary"]:
            fields["primary_scorer"] = data["primary"]
        if data["rule"] != KEPT:
            name, number, tag = (data[field] for field in ("rule", "number", "tag"))
            rule = {"rule": name}
            if name in NUMBERS:
                rule[NUMBERS[name]] = number / PERCENT if name == "passRate" else number
            elif name == "allPass" and tag:
                rule["tag"] = tag
            fields["rules"] = [rule]
        return fields


PER_PAGE: Final = 50
CONDITIONS: Final = {
    "policy": LATEST,
    "context": "",
    "tools": ToolPolicy.DENY.value,
    "few": TooFew.REFUSE.value,
}
"""The initial values of the fields about conditions for evidence."""


class GatesPage(WorkspacePage):
    """The gates of a workspace, oldest first."""

    tab = "gates"
    right = Right.READ_DRAFTS

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show a page of them."""
        gates = Gates.list(workspace=self.workspace.pk, by=self.caller)
        page = self.paginate(gates, PER_PAGE)
        may_write = self.may(Right.PUBLISH)
        scorers = Scorer.objects.filter(pk__in={key for gate in page for key in gate.scorer_ids})
        published = set(scorers.filter(active_version__isnull=False).values_list("pk", flat=True))
        lines = []
        for gate in page:
            rates = [rule["min"] for rule in gate.rules if rule["rule"] == "passRate"]
            warnings = (explain_rate(rate, gate.dataset.items_count) for rate in rates)
            unpublished = [
                key for key in gate.scorer_ids if key not in published
            ]  # so there is no evidence yet
            lines.append(
                {
                    "gate": gate,
                    "address": self.address("gate", str(gate.pk)) if may_write else "",
                    "rules": [in_words(rule) for rule in gate.rules],
                    "few": next(filter(None, warnings), None),
                    "unpublished": [
                        (key, KINDS_BY_SLUG[SCORER.slug].address("publish", key)) for key in unpublished
                    ],
                }
            )
        return self.page(
            "evaluation/gates.html",
            title=_("Gates"),
            page=page,
            lines=lines,
            add_address=self.address("new_gate") if may_write else "",
            all_datasets_address=self.address("datasets"),
        )


class NewGatePage(FormPage, WorkspacePage):
    """A new gate; also the base of the page that changes one."""

    tab = "gates"
    right = Right.PUBLISH
    form_class = GateForm
    template = "evaluation/gate.html"
    error_fields = {"datasetId": "dataset", "scorerIds": "scorers", "primaryScorer": "primary"}
    button: StrOrPromise = gettext_lazy("Create gate")
    button_despite_warning: StrOrPromise = gettext_lazy("Create gate anyway")

    @property
    def title(self) -> str:
        return _("New gate")

    def initial(self) -> dict[str, Any]:
        """Return the values in a link to the form."""
        query = self.request.GET
        dataset_id, scorers = query.get("dataset"), query.getlist("scorer")
        if not scorers:
            datasets = (dataset for dataset in self.datasets if dataset_id in {None, str(dataset.pk)})
            scorers = next((dataset.scorer_ids for dataset in datasets), [])
        return {**CONDITIONS, "agent": query.get("agent"), "dataset": dataset_id, "scorers": scorers}

    @cached_property
    def datasets(self) -> list[Dataset]:
        """The datasets of the workspace for the form."""
        rows = Datasets.list(workspace=self.workspace.pk, by=self.caller)
        return list(rows.order_by(ByName("name"), "pk"))

    def form(self, data: Any = None) -> GateForm:
        if data is not None:  # a form that was opened before some of the conditions existed lacks them
            initial = self.initial()
            absent = {name: str(initial[name]) for name in CONDITIONS if name not in data}
            data = data.copy()
            data.update(absent)
        form: GateForm = super().form(data)
        every_agent = [("", _("every agent"))] if self.may(Right.ADMINISTER) else []
        items = ngettext_lazy("%(name)s (%(count)d item)", "%(name)s (%(count)d items)", "count")
        scorers = scorer_choices(self.workspace.pk, self.caller)
        offer(
            form,
            dataset=[
                (str(dataset.pk), items % {"name": dataset.name, "count": dataset.items_count})
                for dataset in self.datasets
            ],
            scorers=scorers,
            primary=[("", _("the first one")), *scorers],
        )
        if not scorers and self.datasets:
            dataset_id = form["dataset"].value() or self.datasets[0].pk
            scorers_address = self.address("dataset_scorers", quote(str(dataset_id)))
            link = format_html('<a class="link" href="{}">{}</a>', scorers_address, _("Choose one."))
            form.fields["scorers"].help_text = format_html("{} {}", _("No scorer yet."), link)
        offer_agents(form, self.workspace.pk, self.caller, *every_agent)
        return form

    def save(self, form: GateForm) -> HttpResponse:
        """Store the gate; if few items have to reach a rate, show the form again with a warning first."""
        if form.rate is not None:
            dataset = Datasets.find(form.cleaned_data["dataset"], by=self.caller)
            few = explain_rate(form.rate, dataset.items_count)
            if few is not None and self.request.POST.get("warned") != few["sentence"]:
                return self.show(form, few=few, button=self.button_despite_warning)
        self.store(form)
        message = _(
            "Gate saved. The page for publishing shows which experiments are missing, and starts them."
        )
        return self.go(self.address("gates"), message)

    def store(self, form: GateForm) -> None:
        """Create the gate; raises `Invalid`."""
        agent_id = form.cleaned_data["agent"] or None
        fields = {**form.fields_of_gate, "dataset_policy": self.choose_policy(form)}
        Gates.current().create(fields, agent_id=agent_id, workspace=self.workspace.pk, by=self.caller)

    def choose_policy(self, form: GateForm) -> int | str:
        """Return the version of the dataset that the form chooses, or the latest."""
        if form.cleaned_data["policy"] == LATEST:
            return LATEST
        return Datasets.find(form.cleaned_data["dataset"], by=self.caller).version

    def context(self) -> dict[str, Any]:
        return {
            "button": self.button,
            "back_address": self.address("gates"),
            "choices_address": self.address("agent_choices"),
        }


class OneGatePage(WorkspacePage):
    """A page about the gate in the address."""

    tab = "gates"
    right = Right.PUBLISH

    @cached_property
    def gate(self) -> Gate:
        """The gate; raises `NotFound` if it belongs to another workspace."""
        gate = Gates.find(self.kwargs["gate"], by=self.caller)
        if gate.workspace_id != self.workspace.pk:
            raise NotFound
        return gate

    @property
    def agent(self) -> str:
        """The name of the agent, or the text for all agents."""
        pk = self.gate.agent_id
        return resource_name(AGENT.slug, pk) if pk else _("every agent")


class GatePage(NewGatePage, OneGatePage):
    """Changes a gate."""

    button = gettext_lazy("Save gate")
    button_despite_warning = gettext_lazy("Save gate anyway")

    @property
    def title(self) -> str:
        return _("Gate for %(agent)s") % {"agent": self.agent}

    @property
    def is_simple(self) -> bool:
        """Whether the form can express its rules."""
        return len(self.gate.rules) == 1 and "scorerId" not in self.gate.rules[0]

    def initial(self) -> dict[str, Any]:
        """Return the values of the gate."""
        gate, rule = self.gate, self.gate.rules[0]
        number = rule.get(NUMBERS.get(rule["rule"], ""))
        return {
            "dataset": str(gate.dataset_id),
            "scorers": list(gate.scorer_ids),
            "primary": gate.primary_scorer,
            "attempts": gate.attempts,
            "rule": rule["rule"] if self.is_simple else KEPT,
            "tag": rule.get("tag", ""),
            "number": PERCENT * rule["min"] if rule["rule"] == "passRate" else number,
            "days": gate.evidence_days,
            "policy": LATEST if gate.dataset_version is None else PINNED,
            "context": canonical.file_text(gate.request_context) if gate.request_context else "",
            "tools": gate.tool_policy,
            "few": gate.too_few,
            "bypass": gate.bypass,
            "enabled": "yes" if gate.enabled else "no",
        }

    def form(self, data: Any = None) -> GateForm:
        """Return the form, without the constant agent; rules that it cannot express can be kept."""
        form = super().form(data)
        del form.fields["agent"]
        if not self.is_simple:
            rules = " + ".join(in_words(rule) for rule in self.gate.rules)
            offer(form, rule=[(KEPT, rules), *RULES.items()])
        return form

    def store(self, form: GateForm) -> None:
        """Change the gate; raises `Invalid`."""
        fields = {**form.fields_of_gate, "dataset_policy": self.choose_policy(form)}
        Gates.current().change(str(self.gate.pk), fields, by=self.caller)

    def choose_policy(self, form: GateForm) -> int | str:
        """Return the version of the dataset; one that was chosen before stays, unless the dataset changes."""
        pinned = self.gate.dataset_version
        is_same = form.cleaned_data["dataset"] == str(self.gate.dataset_id)
        if pinned is not None and is_same and form.cleaned_data["policy"] == PINNED:
            return pinned
        return super().choose_policy(form)

    def context(self) -> dict[str, Any]:
        return {**super().context(), "delete_gate_address": self.address("delete_gate", str(self.gate.pk))}


class DeleteGatePage(ActionPage, OneGatePage):
    """Asks for confirmation before a gate is deleted."""

    done_page = "gates"
    template = "evaluation/ask.html"

    @property
    def title(self) -> str:
        return _("Delete the gate for %(agent)s?") % {"agent": self.agent}

    @property
    def back_address(self) -> str:
        return self.address("gate", str(self.gate.pk))

    def context(self) -> dict[str, Any]:
        return {
            "sentence": _("Versions can then go live without this evidence."),
            "button": _("Delete gate"),
        }

    def act(self) -> str:
        Gates.delete(str(self.gate.pk), by=self.caller)
        return _("Gate deleted.")


SLOTS: Final = {
    "publish": Slot.ACTIONS,
    "review": Slot.ACTIONS,
    "version": Slot.VERSION,
    "edit": Slot.VERSION,
}
"""Its place, by page."""
RELEASE: Final = "release"
STYLESHEETS: Final = ("evaluation/datasets.css",)
STATES: Final[Mapping[GateState | None, tuple[Promise, str]]] = {
    None: (pgettext_lazy("evidence", "Passed"), "chip-published"),
    GateState.SCORER_GONE: (pgettext_lazy("evidence", "Scorer missing"), "chip-danger"),
    GateState.TOO_FEW: (pgettext_lazy("evidence", "Cannot tell"), ""),
    GateState.RUNNING: (pgettext_lazy("evidence", "Running"), ""),
    GateState.INCOMPLETE: (pgettext_lazy("evidence", "Incomplete"), "chip-danger"),
    GateState.FAILED: (pgettext_lazy("evidence", "Failed"), "chip-danger"),
    GateState.STALE: (pgettext_lazy("evidence", "Out of date"), ""),
    GateState.MISSING: (pgettext_lazy("evidence", "Not run"), ""),
}
_NO_PASS: Final = (pgettext_lazy("evidence", "No answer passed"), "chip-changed")
"""For a gate whose rules all hold although a scorer passed nothing, for example because live is as bad."""


def panels(shown: VersionOnPage) -> Iterator[Panel]:
    """Yield the judgements of the gates; nothing without gates."""
    resource, version, caller = shown.resource, shown.version, shown.caller
    if version.version_id == resource.active_id:
        return
    request = PublishRequest(resource=resource, version=version, caller=caller)
    judgements = [judgement for judgement in judge_request(request) if known_to(caller, judgement)]
    publish = f"{shown.kind.address('publish', resource.pk)}?version={quote(version.version_id)}"
    context = {
        "is_short": shown.page == "edit",
        "publish_address": publish if Right.PUBLISH in shown.rights else "",
        "hidden": {
            "kind": shown.kind.slug,
            "resource": resource.pk,
            "version": version.version_id,
            "next": publish if shown.page == "publish" else shown.request.get_full_path(),
        },
    }
    yield from _panel(SLOTS[shown.page], judgements, shown, resource.workspace_id, context)


def subject_panels(shown: SubjectOnPage) -> Iterator[Panel]:
    """Yield the judgements of the gates about a release as a whole."""
    if shown.subject != RELEASE or not shown.is_open:
        return
    if not Gate.objects.enabled().exists():
        return
    try:
        judgements = Gates.current().check(Change(release_id=shown.id), by=shown.caller).gates
    except VersioningError:  # about a deleted item; the page about the release reports it
        return
    context = {"hidden": {"release": shown.id, "next": shown.request.get_full_path()}}
    yield from _panel(Slot.ACTIONS, judgements, shown, shown.workspace_id, context)


def _panel(
    slot: Slot,
    judgements: Sequence[Judgement],
    shown: VersionOnPage | SubjectOnPage,
    workspace_id: str,
    context: Mapping[str, object],
) -> Iterator[Panel]:
    if not judgements:
        return
    caller = shown.caller
    may_run = caller.may(Right.SAVE, workspace_id) and not context.get("is_short")
    ids = [judgement.experiment_id for judgement in judgements if judgement.experiment_id is not None]
    rows = Experiment.objects.in_bulk(ids)
    # Only people who can start the missing runs see their estimated cost.
    by = caller if may_run else None
    lines = [_line(judgement, rows.get(judgement.experiment_id or ""), by) for judgement in judgements]
    context = {
        **context,
        "lines": lines,
        "can_run": any(line["cost"] for line in lines),
        "csrf_token": get_token(shown.request),
        "run_address": address("run_gates", workspace_id),
    }
    html = render_to_string("evaluation/evidence.html", context)
    yield Panel(slot=slot, html=html, stylesheets=STYLESHEETS)


def _line(judgement: Judgement, experiment: Experiment | None, by: Caller | None) -> Mapping[str, Any]:
    """Return a gate's judgement about an agent, with the missing run's cost if the person may start it."""
    gate, state = judgement.gate, judgement.state
    missing = missing_run(judgement) if by is not None else None
    cost, problems, summaries = "", list[str](), list[Summary]()
    if by is not None and missing is not None:
        try:
            _plan, estimate = plan_with_cost(missing.dataset_id, missing.request, by)
            cost, problems = cost_in_words(estimate), [problem.message for problem in estimate.problems]
        except Invalid as error:
            problems = [translate(issue.message) for issue in error.issues]
        except VersioningError as error:
            problems = [translate(error.summary)]
    elif experiment is not None and state is None:
        summaries = [summary for summary in experiment.summary if summary["scorerId"] in gate.scorer_pins]
    if state is None:
        agent = resource_name(AGENT.slug, judgement.affected.id)
        names = {"agent": agent, "dataset": gate.dataset.name}
        explanation = _("%(agent)s was tested on “%(dataset)s”, and every rule holds.") % names
    else:
        explanation = translate(sentence(judgement))
    rates = [
        ngettext(
            "%(scorer)s: %(rate)s%% of %(count)s item passed",
            "%(scorer)s: %(rate)s%% of %(count)s items passed",
            summary["n"],
        )
        % {
            "scorer": resource_name(SCORER.slug, summary["scorerId"]),
            "rate": round(100 * summary["passRate"]),
            "count": summary["n"],
        }
        for summary in summaries
        if summary["passRate"] is not None
    ]
    external = [resource_name(SCORER.slug, key) for key, pin in gate.scorer_pins.items() if pin.is_external]
    passes_nothing = any(summary["passRate"] == 0 for summary in summaries)
    words, chip = _NO_PASS if passes_nothing else STATES[state]
    return {
        "experiment": experiment,
        "address": address_of_experiment(experiment) if experiment else "",
        "state": words,
        "chip": chip,
        "is_running": state is GateState.RUNNING,
        "sentence": explanation,
        "rates": rates,
        "outside": format_html_join(", ", "{}", ((name,) for name in external)),
        "cost": cost,
        "problems": problems,
    }


class RunGatesPage(ActionPage, WorkspacePage):
    """Starts the experiments that gates require for a version or a release, and redirects back."""

    http_method_names = ("post",)
    right = Right.SAVE
    refusals = (Invalid,)

    @property
    def back_address(self) -> str:
        return safe_next_url(self.request, self.address("gates"))

    def act(self) -> str:
        fields = self.request.POST
        change = Change(
            fields.get("kind"), fields.get("resource"), fields.get("version"), fields.get("release")
        )
        count = len(Gates.current().run(change, by=self.caller))
        message = ngettext("%(count)d evaluation was started.", "%(count)d evaluations were started.", count)
        return message % {"count": count}

    def refusal_in_words(self, error: Any) -> str:
        return translate(error.summary)


def notes(
    _caller: Caller, _kind: StudioKind, resource: VersionedResource, versions: Sequence[Snapshot]
) -> Mapping[str, Sequence[SafeString]]:
    """Return the people and reasons of publications without evidence, for the history; one query."""
    target = target_of(resource, get_editor().code)
    events = Event.objects.filter(
        type="gate.bypassed",
        resource_id=target.id,
        resource_uuid=target.identity,
        version_id__in=[version.version_id for version in versions],
    )
    sentences_by_version: dict[str, list[SafeString]] = {}
    for event in events.order_by("position"):
        sentence = format_html(
            _("{who} published it without evidence: “{reason}”"),
            who=person(event.actor, Place.BEGINNING),
            reason=str(event.detail.get("reason") or ""),
        )
        sentences_by_version.setdefault(event.version_id, []).append(
            format_html("<strong>{}</strong>", sentence)
        )
    return {
        version_id: list(dict.fromkeys(sentences)) for version_id, sentences in sentences_by_version.items()
    }
