"""The datasets of a workspace, or of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from evaluation.datasets.models import Dataset
from evaluation.datasets.verbs import Datasets
from studio.resources.create import workspace_choices
from studio.workspaces.base import address
from studio.workspaces.listing import ListingPage
from versioning.domain.access import Right

PER_PAGE: Final = 50


@dataclass(frozen=True, kw_only=True)
class Line:
    """A dataset in a list."""

    dataset: Dataset
    workspace_name: str = ""
    """The name of its workspace, in a list of several."""

    @property
    def address(self) -> str:
        """The address of its page."""
        return address("dataset", self.dataset.workspace_id, str(self.dataset.pk))

    @property
    def description(self) -> str:
        """What it is for."""
        return str(self.dataset.settings.get("description", ""))


class DatasetsPage(ListingPage):
    """The datasets, newest first; the page updates itself."""

    tab = "datasets"

    def get(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Show a page of the datasets."""
        workspace_id = self.listed_id
        self.listen(self.scope)
        found = Datasets.list(workspace=workspace_id, by=self.caller)
        page: Any = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
        lines = [
            Line(dataset=one, workspace_name=self.shown_names.get(one.workspace_id, ""))
            for one in page.object_list
        ]
        offered = workspace_choices(Right.SAVE, self.caller)
        if workspace_id is not None:
            offered = [one for one in offered if one[0] == workspace_id]
        return self.page(
            "evaluation/datasets.html",
            title=_("Datasets"),
            page=page,
            query=self.query(),
            lines=lines,
            add_addresses=[(address("new_dataset", pk), name) for pk, name in offered],
        )
