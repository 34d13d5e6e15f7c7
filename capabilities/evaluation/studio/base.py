"""Shared parts of several pages: a base class, the choices of forms, names, and the next step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final, Self
from urllib.parse import urlencode

from django import forms
from django.contrib.admin.utils import quote
from django.db.models import Prefetch, prefetch_related_objects
from django.http import HttpRequest, JsonResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from editor_client.shared import canonical
from editor_client.shared.text_keys import collation_key

from capabilities.evaluation.datasets.models import Dataset
from capabilities.evaluation.datasets.verbs import Datasets, right_to_change
from capabilities.evaluation.experiments.models import Experiment, ExperimentOutcome
from capabilities.evaluation.experiments.verbs import Experiments
from capabilities.evaluation.gates.models import Gate
from capabilities.evaluation.scoring.kind import SCORER
from studio.editing.choices import MAX_CHOICES, ReferenceChoice
from studio.kinds import KINDS_BY_SLUG
from studio.named import names_of
from studio.navigation import Link, NavigationRow
from studio.workspaces.views import WorkspacePage, address
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.agents import AGENT
from versioning.domain.errors import Invalid, NotFound
from versioning.domain.uuids import is_uuid
from versioning.editor.catalog import suggestions
from versioning.models import AgentVersion

Choices = list[tuple[str, str]]
MOST_LISTED: Final = 50
"""The maximum number of agents that a form lists; more are searched."""


def agent_choices(workspace_id: str, by: Caller) -> Choices:
    """Return the agents of a workspace, stored or defined in code, that the caller may read: id and name."""
    editor = get_editor()
    rows = editor.collection(AGENT).list(by=by).filter(workspace=workspace_id)
    ids = set(rows.values_list("pk", flat=True))
    if workspace_id == editor.code.workspace_id:
        ids |= editor.code.readable_by(by).keys()
    return sorted(agent_names(ids, by).items(), key=lambda choice: collation_key(choice[1]))


def offer_agents(form: forms.Form, workspace_id: str, by: Caller, *first: tuple[str, Any]) -> None:
    """Set the choices of the field `agent`: a short list, or else a field with search-as-you-type."""
    field = form.fields["agent"]
    rows = get_editor().collection(AGENT).list(by=by).filter(workspace=workspace_id)
    if rows[: MOST_LISTED + 1].count() <= MOST_LISTED:
        offer(form, agent=[*first, *agent_choices(workspace_id, by)])
        return
    help_text = _("Enter part of the name or id.")
    if first:
        help_text += " " + _("Leave empty for every agent.")
    form.fields["agent"] = forms.CharField(
        label=field.label,
        required=field.required,
        help_text=help_text,
        widget=forms.TextInput(attrs={"pick": "agent"}),
    )


class AgentChoicesPage(WorkspacePage):
    """Agents of a workspace for search-as-you-type: `?q=refund`, as JSON."""

    right = Right.READ_DRAFTS

    def get(self, request: HttpRequest, workspace: str) -> JsonResponse:
        """Return the first agents that have the text in their id or name."""
        text = request.GET.get("q", "").replace("\x00", "").strip()
        kind = KINDS_BY_SLUG[AGENT.slug]
        agents = suggestions(kind.catalog(self.caller), text, MAX_CHOICES, workspace_id=self.workspace.pk)
        return JsonResponse({"choices": [asdict(ReferenceChoice.of(kind, row)) for row in agents]})


def agent_names(ids: Iterable[str], by: Caller) -> Mapping[str, str]:
    """Return the names of those agents, stored or defined in code, that the caller may read, by their ids."""
    return {
        pk: name for (_slug, pk), name in names_of(((AGENT.slug, agent_id) for agent_id in ids), by).items()
    }


def scorer_choices(workspace_id: str, by: Caller, *, selected: Iterable[str] = ()) -> Choices:
    """Return the scorers of a workspace that the caller may read: id and name.

    Those in `selected` are always included.
    """
    rows = get_editor().collection(SCORER).list(by=by).filter(workspace=workspace_id)
    names = {row.pk: str(row.latest.config["name"]) for row in rows.select_related("latest_version")}
    choices = {**{scorer_id: scorer_id for scorer_id in selected}, **names}
    return sorted(choices.items(), key=lambda choice: collation_key(choice[1]))


def offer(form: forms.Form, **choices: Sequence[tuple[str, Any]]) -> None:
    """Set the choices of fields of a form."""
    for name, field_choices in choices.items():
        form.fields[name].choices = field_choices  # type: ignore[attr-defined]


def json_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a field of a form; None for an empty one; raises `ValidationError`."""
    if not text.strip():
        return None
    try:
        value = canonical.parse(text)
    except Invalid as error:
        raise forms.ValidationError(str(error.issues[0].message)) from None
    if not isinstance(value, dict):
        raise forms.ValidationError(_("must be a JSON object"))
    return value


def address_of_experiment(experiment: Experiment) -> str:
    """Return the address of the page about an experiment whose dataset exists."""
    dataset_id, public = str(experiment.dataset_id), quote(experiment.public_id)
    return address("experiment", experiment.workspace_id, dataset_id, public)


class DatasetPage(WorkspacePage):
    """A page about the dataset in the address."""

    right = Right.READ_DRAFTS
    page_of_dataset = "dataset"
    """The tab to which the page belongs."""

    @cached_property
    def dataset(self) -> Dataset:
        """The dataset; raises `NotFound` if it belongs to another workspace."""
        dataset = Datasets.find(self.kwargs["dataset"], right=self.right, by=self.caller)
        if dataset.workspace_id != self.workspace.pk:
            raise NotFound
        return dataset

    @property
    def dataset_id(self) -> str:
        """Its id, once access is checked."""
        return str(self.dataset.pk)

    def scorer_choices(self) -> Choices:
        """Return the scorers that forms offer: id and name."""
        return scorer_choices(self.workspace.pk, self.caller, selected=self.dataset.scorer_ids)

    def own_address(self, page: str = "dataset", *rest: str) -> str:
        """Return the address of another page about this dataset."""
        return self.address(page, self.kwargs["dataset"], *rest)

    def _tabs_of_dataset(self) -> NavigationRow:
        may_change = self.may(right_to_change(self.dataset))
        tabs = {
            "dataset": (_("Items"), True),
            "experiments": (_("Experiments"), True),
            "dataset_scorers": (_("Scorers"), may_change),
            "dataset_versions": (_("Versions"), True),
            "dataset_settings": (_("Settings"), may_change),
        }
        return NavigationRow.of(
            [
                Link(title=title, address=self.own_address(page), is_current=page == self.page_of_dataset)
                for page, (title, is_offered) in tabs.items()
                if is_offered
            ]
        )

    def page(self, template: str, *, title: str, status: int = 200, **context: Any) -> TemplateResponse:
        """Return a page about the dataset."""
        right = right_to_change(self.dataset)
        dataset_context = {
            "dataset": self.dataset,
            "may_save": self.may(Right.SAVE),
            "is_followed": right is Right.PUBLISH,
            "may_change": self.may(right),
            "table_address": self.own_address(),
            "datasets_address": reverse("studio:datasets"),
            "tabs": self._tabs_of_dataset(),
            "settings": None,
            "experiments_address": self.own_address("experiments"),
            "start_address": self.own_address("start_experiment"),
            "import_address": self.own_address("dataset_import"),
            "export_address": self.own_address("dataset_export"),
            "delete_address": self.own_address("dataset_delete"),
        }
        return super().page(template, title=title, status=status, **{**dataset_context, **context})


@dataclass(frozen=True, kw_only=True)
class ExperimentNames:
    """The names of some experiments on pages."""

    agents: Mapping[str, str]
    """The names of agents that the caller may read, by their ids."""
    numbers: Mapping[str, int]
    """The numbers of versions of these agents, by their ids."""
    baselines: frozenset[str]
    """The experiments that are the baseline of another."""

    @classmethod
    def of(cls, rows: Iterable[Experiment], by: Caller, *, agent_id: str = "") -> Self:
        """Look up the names; the number of queries does not depend on the number of experiments."""
        experiments = list(rows)
        prefetch_related_objects(
            experiments,
            Prefetch("pair_of", queryset=Experiment.objects.only("pk", "target_id", "version_id")),
            Prefetch("candidates", queryset=Experiment.objects.only("pk", "pair_of_id").order_by()),
        )
        tried = [row for row in experiments if row.target_id]
        agents = agent_names({agent_id, *(row.target_id for row in tried)} - {""}, by)
        both = [run for row in tried if row.target_id in agents for run in (row, row.pair_of) if run]
        versions = AgentVersion.objects.filter(
            pk__in={run.version_id for run in both if is_uuid(run.version_id)}
        )
        numbers = versions.order_by().values_list("pk", "number") if both else ()
        return cls(
            agents=agents,
            numbers={str(pk): number for pk, number in numbers},
            baselines=frozenset(row.pk for row in experiments if row.candidates.all()),
        )

    def version(self, experiment: Experiment) -> str:
        """Return the version that was tried, as `version 7`; empty if there is none with a number."""
        number = self.numbers.get(experiment.version_id)
        return "" if number is None else _("version %(number)d") % {"number": number}

    def title(self, experiment: Experiment) -> str:
        """Return the name of an experiment or, without one, its target and its baseline."""
        if experiment.name or not experiment.target_id:
            return experiment.name or experiment.public_id
        target = self.agents.get(experiment.target_id, experiment.target_id)
        version = self.version(experiment)
        baseline = self.version(experiment.pair_of) if experiment.pair_of else ""
        words = {"target": target, "version": version, "baseline": baseline}
        if version and baseline:
            return _("%(target)s, %(version)s vs. %(baseline)s") % words
        return _("%(target)s, %(version)s") % words if version else target


@dataclass(frozen=True, kw_only=True)
class Step:
    """The next step."""

    number: int
    title: str
    sentence: str
    address: str
    link: str
    steps = 4


def next_step(page: DatasetPage) -> Step | None:
    """Return the next step for people who can save, up to the gate; None once there is one."""
    dataset = page.dataset
    if not page.may(Right.SAVE):
        return None
    if not dataset.items_count:
        return Step(
            number=1,
            title=_("Questions with good answers"),
            sentence=_("Paste them from a spreadsheet, or type them into the table."),
            address=page.own_address("dataset_import"),
            link=_("Import or paste"),
        )
    if not dataset.scorer_ids:
        return Step(
            number=2,
            title=_("Choose a scorer"),
            sentence=_("A scorer compares each answer with the good one, or lets a model judge it."),
            address=page.own_address("dataset_scorers"),
            link=_("Choose a scorer"),
        )
    newest = Experiments.list(dataset_id=page.dataset_id, by=page.caller).order_by("-created_at").first()
    if newest is None:
        return Step(
            number=3,
            title=_("Run a first experiment"),
            sentence=_("An experiment runs an agent on every item and counts the good answers."),
            address=page.own_address("start_experiment"),
            link=_("New experiment"),
        )
    wants_gate = newest.outcome == ExperimentOutcome.COMPLETE and page.may(Right.PUBLISH)
    if not wants_gate or Gate.objects.filter(dataset=dataset).exists():
        return None
    initial = {"dataset": page.dataset_id, "agent": newest.target_id, "scorer": dataset.scorer_ids}
    return Step(
        number=4,
        title=_("Add a gate"),
        sentence=_("A gate requires an experiment like this one before a version of the agent goes live."),
        address=f"{page.address('new_gate')}?{urlencode(initial, doseq=True)}",
        link=_("New gate"),
    )
