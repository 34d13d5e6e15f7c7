"""Evaluate a version of an agent from the pages about it: one click with the dataset used last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from capabilities.evaluation.datasets.models import Dataset
from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.experiments.comparing import compare_runs
from capabilities.evaluation.experiments.models import (
    Experiment,
    ExperimentOutcome,
    ExperimentQuerySet,
    TargetType,
)
from capabilities.evaluation.experiments.starting import PUBLISHED_BASELINE
from capabilities.evaluation.experiments.verbs import Experiments
from capabilities.evaluation.gates.models import Gate
from capabilities.evaluation.scoring.models import Scorer
from capabilities.evaluation.studio.base import address_of_experiment
from capabilities.evaluation.studio.experiments import STATES, sentences
from studio.extensions import Action, VersionButton
from studio.kinds import AGENT, StudioKind
from studio.panels import Panel, Slot, VersionOnPage
from studio.resources.base import ResourcePage
from studio.translation import reference_to, translate
from studio.views import safe_next_url
from studio.workspaces.views import address
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Forbidden, Invalid, NotFound, VersioningError
from versioning.domain.selectors import VersionState
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource

MAX_DATASETS: Final = 100
"""The maximum number of datasets offered, most recently changed first."""
SLOTS: Final = {"publish": Slot.ACTIONS, "version": Slot.ACTIONS}
STYLESHEETS: Final = ("evaluation/datasets.css",)
BUTTON: Final = "evaluate"
"""The value of the button of the edit page."""
CHOOSING: Final = "choose-dataset"
"""The value of the button in the menu of the edit page."""
EDITING: Final = frozenset({"edit", "since"})
PAGES: Final = EDITING | SLOTS.keys()
BUTTON_OF_VERSIONS: Final = VersionButton(
    page="evaluate",
    template="evaluation/choose_button.html",
    right=Right.SAVE,
    on=SLOTS,
    for_live=True,
    stylesheets=STYLESHEETS,
    applies=lambda shown: shown.kind.slug == AGENT.slug and not shown.version.read_only,
)
"""The button while there is no experiment with the agent."""


def evaluate_address(kind: StudioKind, resource_id: str, version_id: str) -> str:
    """Return the address of the page that evaluates a version."""
    return f"{kind.address('evaluate', resource_id)}?{urlencode({'version': version_id})}"


def address_of_form(workspace_id: str, dataset_id: str, agent_id: str, version_id: str) -> str:
    """Return the address of the form for an experiment, with the version chosen."""
    query = urlencode({"agent": agent_id, "version": version_id})
    return f"{address('start_experiment', workspace_id, dataset_id)}?{query}"


def actions(
    caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot
) -> Iterator[Action]:
    """Yield the link to the page that evaluates a version."""
    if kind.slug == AGENT.slug and caller.may(Right.SAVE, resource.workspace_id):
        choosing = evaluate_address(kind, resource.pk, version.version_id)
        yield Action(title=_("Evaluate…"), address=choosing, then=CHOOSING)


def find_last(resource: VersionedResource, by: Caller) -> Experiment | None:
    """Return the last experiment with an agent whose dataset still has items; None without one."""
    return _experiments(resource, by).filter(dataset__items_count__gt=0).first()


def _experiments(resource: VersionedResource, by: Caller) -> ExperimentQuerySet:
    """Return the experiments with an agent, newest first, without those that were only baselines."""
    filters = {"targetType": TargetType.AGENT, "targetId": resource.pk, "workspaceId": resource.workspace_id}
    rows = Experiments.list(filters, by=by).filter(dataset__isnull=False, candidates=None)
    return rows.select_related("dataset").order_by("-created_at", "pk")


def build_request(last: Experiment, resource: VersionedResource, version_id: str) -> Mapping[str, object]:
    """Return the request for an experiment like an earlier one, with a version of the agent.

    Its baseline is the live version, unless that is the evaluated one.
    """
    scored_by = [(scorer.scorer_id, scorer.is_primary) for scorer in last.scorers.all()]
    existing = set(Scorer.objects.filter(pk__in=[name for name, _ in scored_by]).values_list("pk", flat=True))
    scorers = [name for name, _ in scored_by if name in existing]
    more = {
        "scorerIds": scorers,
        "primaryScorer": next(
            (name for name, is_primary in scored_by if is_primary and name in existing), None
        ),
        "requestContext": dict(last.request_context),
        "limits": last.settings.get("limits"),
        "baseline": PUBLISHED_BASELINE if resource.active_id not in {None, version_id} else None,
    }
    return {
        "targetType": TargetType.AGENT.value,
        "targetId": resource.pk,
        "selector": {"versionId": version_id},
        "attempts": last.attempts,
        "unmockedToolPolicy": last.tool_policy,
        **{name: value for name, value in more.items() if value},
    }


def start_like(last: Experiment, resource: VersionedResource, version_id: str, by: Caller) -> Experiment:
    """Start an experiment like an earlier one; raises as `Experiments.start` does."""
    request = build_request(last, resource, version_id)
    return Experiments.current().start(str(last.dataset_id), request, by=by).experiment


def after_saving(caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot) -> str:
    """Evaluate a version that was just saved; return the address of the page with its result.

    For publishers it is the page with the button *Publish*.
    """
    last = find_last(resource, caller)
    if last is None:
        return evaluate_address(kind, resource.pk, version.version_id)
    try:
        started = start_like(last, resource, version.version_id, caller)
    except VersioningError:  # the form shows the reason once it is sent
        dataset_id = str(last.dataset_id)
        return address_of_form(resource.workspace_id, dataset_id, resource.pk, version.version_id)
    if not caller.may(Right.PUBLISH, resource.workspace_id) or resource.active_id == started.version_id:
        return address_of_experiment(started)
    return f"{kind.address('publish', resource.pk)}?{urlencode({'version': started.version_id})}"


def _sentence(row: Experiment) -> str:
    """Return the progress of an experiment, or its result with the numbers and the verdict."""
    dataset = str(row.dataset and row.dataset.name)
    if not row.outcome:
        numbers = {"dataset": dataset, "done": row.over_count, "all": row.cells_count}
        return _("Evaluating on “%(dataset)s”: %(done)d of %(all)d answers.") % numbers
    if row.outcome != ExperimentOutcome.COMPLETE:
        words = {"dataset": dataset, "state": STATES[row.outcome]}
        return _("The evaluation on “%(dataset)s” has no result (%(state)s).") % words
    summary, baseline = row.primary_summary, row.pair_of
    if summary is None or summary["passRate"] is None:
        result = _("Evaluated on “%(dataset)s”, without a score.") % {"dataset": dataset}
    else:
        result = ngettext(
            "%(passed)d of %(count)d item passed on “%(dataset)s”.",
            "%(passed)d of %(count)d items passed on “%(dataset)s”.",
            summary["n"],
        ) % {"dataset": dataset, "passed": summary["passed"], "count": summary["n"]}
    is_compared = baseline is not None and baseline.outcome
    comparison = sentences(compare_runs(row, baseline))[:2] if baseline and is_compared else []
    return " ".join([result, *comparison])


def experiments_with(about: Mapping[str, Any]) -> Sequence[QuerySet[Any]]:
    """Return the experiments with an agent; without any there is no panel."""
    return [Experiment.objects.filter(target_type=about["kind"], target_id=about["resource_id"])]


def panels(shown: VersionOnPage) -> Iterator[Panel]:
    """Yield the result of the last evaluation of a version, and the button that evaluates it.

    If gates require evidence, their own panel has the button.
    """
    resource, version, caller = shown.resource, shown.version, shown.caller
    if shown.kind.slug != AGENT.slug or version.read_only:
        return
    may_save = Right.SAVE in shown.rights
    last = find_last(resource, caller) if may_save else None
    if shown.page in EDITING and last is not None:
        html = render_to_string("evaluation/evaluate_button.html", {"button": BUTTON, "last": last})
        yield Panel(slot=Slot.ACTIONS, html=html, stylesheets=STYLESHEETS)
    if shown.page not in SLOTS:
        return
    row = None
    if last is not None or not may_save:  # otherwise there is no experiment at all
        row = _experiments(resource, caller).filter(version_id=version.version_id).first()
    is_running = row is not None and not row.outcome
    asks = last is not None and shown.page == "publish"
    gates = Gate.objects.enabled().filter(workspace=resource.workspace_id)
    asked_by_gates = asks and gates.filter(Q(agent_id="") | Q(agent_id=resource.pk)).exists()
    if asked_by_gates and row is not None and is_running:
        # The panel of the gates shows the same run.
        row = None if gates.filter(dataset=row.dataset_id).exists() else row
    if asked_by_gates or (row is not None and is_running):
        last = None
    choosing = evaluate_address(shown.kind, resource.pk, version.version_id)
    context = {
        "result": row
        and {
            "row": row,
            "is_running": is_running,
            "address": address_of_experiment(row),
            "is_outdated": row.dataset is not None and row.dataset_version != row.dataset.version,
            "sentence": _sentence(row),
        },
        "last": last,
        "is_draft": resource.state_of(version) is VersionState.DRAFT,
        "is_compared": resource.active_id not in {None, version.version_id},
        "version": version,
        "address": shown.kind.address("evaluate", resource.pk),
        "choosing_address": choosing if may_save else "",
        "offers_choice": not asked_by_gates,
        "csrf_token": get_token(shown.request),
        "next": shown.request.get_full_path(),
    }
    html = render_to_string("evaluation/evaluate_panel.html", context)
    if html.strip():
        yield Panel(slot=SLOTS[shown.page], html=html, stylesheets=STYLESHEETS)


class EvaluatePage(ResourcePage):
    """Evaluates a version: choose a dataset, or start immediately with the last one."""

    tab = "history"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the datasets of the workspace; with only one, go to the form for the experiment."""
        self.require(Right.SAVE)
        version = self._version(request.GET.get("version", ""))
        filled = Datasets.list(workspace=self.workspace_id, by=self.caller).filter(items_count__gt=0)
        datasets = list(filled.order_by("-updated_at", "pk")[:MAX_DATASETS])
        if len(datasets) == 1:
            return self.go(self._form(datasets[0], version))
        last = find_last(self._agent, self.caller)
        return self.page(
            "evaluation/evaluate.html",
            title=_("Evaluate %(version)s") % {"version": reference_to(version)},
            datasets=[(dataset, self._form(dataset, version)) for dataset in datasets],
            last_id=None if last is None else last.dataset_id,
            datasets_address=address("datasets", self.workspace_id),
        )

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Start an experiment like the last one with the agent."""
        self.require(Right.SAVE)
        version = self._version(request.POST.get("version", ""))
        last = find_last(self._agent, self.caller)
        if last is None:
            return self.go(evaluate_address(self.kind, self.resource_id, version.version_id))
        back = safe_next_url(request, evaluate_address(self.kind, self.resource_id, version.version_id))
        try:
            started = start_like(last, self._agent, version.version_id, self.caller)
        except (Forbidden, NotFound):
            raise
        except Invalid as error:
            return self.go(back, translate(error.summary), level=messages.ERROR)
        except VersioningError as error:
            return self.go(back, translate(error.message), level=messages.ERROR)
        if back == address_of_experiment(started):
            return self.go(back)
        return self.go(back, _("Evaluation started."))

    @property
    def _agent(self) -> VersionedResource:
        """The agent; raises `NotFound` for one that only code defines."""
        if self.resource is None:
            raise NotFound
        return self.resource

    def _version(self, version_id: str) -> Snapshot:
        """Return a version, by default the current one; raises `NotFound`."""
        chosen_id = version_id or self._agent.current.version_id
        version: Snapshot = self.collection.version(self.resource_id, chosen_id, by=self.caller).version
        return version

    def _form(self, dataset: Dataset, version: Snapshot) -> str:
        return address_of_form(self.workspace_id, str(dataset.pk), self.resource_id, version.version_id)
