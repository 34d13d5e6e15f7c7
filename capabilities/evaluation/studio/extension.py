"""The application's extension of the studio."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _

from capabilities.evaluation.gates.check import EvaluationRequired
from capabilities.evaluation.gates.models import Gate
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.studio import base, datasets, evaluating, experiments, files, gates, scorers
from studio.extensions import Extension, ResourceTab, WorkspaceTab
from studio.kinds import AGENT, StudioKind
from studio.navigation import MainPage
from studio.views import StudioPage
from versioning.domain.access import Right


def resource_urls(kind: StudioKind) -> Iterator[URLPattern]:
    """Yield the URLs of the pages about scorers and agents."""
    if kind.slug == SCORER.slug:
        view, name = scorers.TryScorerPage.as_view(kind=kind), kind.url_name("try_scorer")
        yield path("<str:resource>/try-scorer/", view, name=name)
    elif kind.slug == AGENT.slug:
        view, name = evaluating.EvaluatePage.as_view(kind=kind), kind.url_name("evaluate")
        yield path("<str:resource>/evaluate/", view, name=name)


STUDIO: Final = Extension(
    urls="capabilities.evaluation.studio.extension",
    own_urls="capabilities.evaluation.studio.own_urls",
    answer_actions=datasets.answer_actions,
    panels=evaluating.panels,
    panels_need=Right.READ_DRAFTS,
    panels_on=evaluating.PAGES,
    concerns=evaluating.experiments_with,
    buttons=[evaluating.BUTTON_OF_VERSIONS],
    actions=evaluating.actions,
    after_saving={
        evaluating.BUTTON: evaluating.after_saving,
        evaluating.CHOOSING: lambda _caller, kind, resource, version: evaluating.evaluate_address(
            kind, resource.pk, version.version_id
        ),
    },
    named_in_events=experiments.named_in_events,
    reasons={EvaluationRequired.code: _("Publish without evidence")},
    resource_urls="capabilities.evaluation.studio.extension.resource_urls",
    resource_tabs=[
        ResourceTab(
            page="try_scorer", title=_("Try"), right=Right.SAVE, kinds=lambda kind: kind.slug == SCORER.slug
        )
    ],
    pages=[
        MainPage(page="datasets", title=_("Datasets"), place=60, sections=["datasets/"]),
        MainPage(
            page="experiments",
            title=_("Experiments"),
            place=61,
            sections=["datasets/<str:dataset>/experiments/<str:experiment>/"],
        ),
    ],
    tabs=[
        WorkspaceTab(page="datasets", title=_("Datasets"), right=Right.READ_DRAFTS, place=60),
        WorkspaceTab(page="gates", title=_("Gates"), right=Right.READ_DRAFTS, place=61),
    ],
)
EVIDENCE: Final = Extension(
    panels=gates.panels,
    panels_need=Right.READ_DRAFTS,
    panels_on=gates.SLOTS,
    concerns=lambda _about: [
        Gate.objects.enabled()
    ],  # one in any workspace may be about a dependent of the resource
    subject_panels=gates.subject_panels,
    notes=gates.notes,
)
"""The judgements of gates."""


def page(route: str, view: type[StudioPage], name: str) -> URLPattern:
    """Return a route with the name that `WorkspacePage.address` expects."""
    return path(route, view.as_view(), name=f"versioning_workspace_{name}")


_ONE = "datasets/<str:dataset>/"
urlpatterns = [
    page("datasets/", datasets.DatasetsPage, "datasets"),
    page("datasets/add/", datasets.NewDatasetPage, "new_dataset"),
    page(_ONE, datasets.TablePage, "dataset"),
    page(f"{_ONE}settings/", datasets.SettingsPage, "dataset_settings"),
    page(f"{_ONE}scorers/", datasets.ScorersPage, "dataset_scorers"),
    page(f"{_ONE}delete/", datasets.DeletePage, "dataset_delete"),
    page(f"{_ONE}versions/", datasets.VersionsPage, "dataset_versions"),
    page(f"{_ONE}import/", files.ImportPage, "dataset_import"),
    page(f"{_ONE}export/", files.ExportPage, "dataset_export"),
    page(f"{_ONE}items/<str:item>/", datasets.ItemPage, "dataset_item"),
    page(f"{_ONE}items/<str:item>/purge/", datasets.PurgePage, "dataset_item_purge"),
    page(f"{_ONE}experiments/", experiments.ExperimentsPage, "experiments"),
    page(f"{_ONE}experiments/add/", experiments.StartPage, "start_experiment"),
    page(f"{_ONE}experiments/<str:experiment>/", experiments.ExperimentPage, "experiment"),
    page(f"{_ONE}experiments/<str:experiment>/blind/", experiments.BlindPage, "judge_blind"),
    page("agent-choices/", base.AgentChoicesPage, "agent_choices"),
    page("gates/", gates.GatesPage, "gates"),
    page("gates/run/", gates.RunGatesPage, "run_gates"),
    page("gates/add/", gates.NewGatePage, "new_gate"),
    page("gates/<str:gate>/", gates.GatePage, "gate"),
    page("gates/<str:gate>/delete/", gates.DeleteGatePage, "delete_gate"),
]
