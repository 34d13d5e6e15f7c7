"""The URLs of the pages about datasets, below that of a workspace."""

from __future__ import annotations

from django.urls import URLPattern, path

from capabilities.evaluation.studio import base, datasets, experiments, files, gates
from studio.views import StudioPage


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
