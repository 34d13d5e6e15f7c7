"""A new dataset; its settings, its versions, and deleting it."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from editor_client.shared import canonical

from capabilities.evaluation.datasets.models import MAX_NAME, DatasetVersion
from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.studio.base import DatasetPage
from capabilities.evaluation.studio.choices import json_object, offer
from studio.workspaces.views import WorkspacePage, add_errors
from versioning.domain.access import Right
from versioning.domain.errors import Conflict, Invalid

PER_PAGE: Final = 50
_NAMES: Final = {
    "inputSchema": "input_schema",
    "groundTruthSchema": "ground_truth_schema",
    "scorerIds": "scorers",
}
"""Maps members of the API to form fields."""


class DatasetForm(forms.Form):
    """The name of a dataset, and what it is for."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=MAX_NAME)
    description = forms.CharField(label=gettext_lazy("Purpose"), required=False)


class SettingsForm(DatasetForm):
    """All that can be set about a dataset."""

    scorers = forms.MultipleChoiceField(
        label=gettext_lazy("Scorers"),
        required=False,
        help_text=gettext_lazy("Used for the items unless an experiment selects others."),
    )
    input_schema = forms.CharField(
        label=gettext_lazy("JSON Schema of the inputs"), required=False, widget=forms.Textarea
    )
    ground_truth_schema = forms.CharField(
        label=gettext_lazy("JSON Schema of the references"), required=False, widget=forms.Textarea
    )

    def clean_input_schema(self) -> Any:
        """Return the schema; raises `ValidationError` unless it is JSON."""
        return json_object(self.cleaned_data["input_schema"])

    def clean_ground_truth_schema(self) -> Any:
        """Return the schema; raises `ValidationError` unless it is JSON."""
        return json_object(self.cleaned_data["ground_truth_schema"])


class NewDatasetPage(WorkspacePage):
    """Creates an empty dataset."""

    tab = "datasets"
    right = Right.SAVE

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show the form."""
        return self.show(DatasetForm())

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Create it, and show it; after an error, show the form again."""
        form = DatasetForm(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        given = form.cleaned_data
        try:
            made = Datasets.current().create(
                {"description": given["description"] or None},
                name=given["name"],
                workspace=self.workspace.pk,
                by=self.caller,
            )
        except Conflict as error:
            form.add_error("name", error.message)
            return self.show(form, status=400)
        return self.go(self.address("dataset", str(made.pk)))

    def show(self, form: forms.Form, *, status: int = 200) -> HttpResponse:
        """Return the page."""
        return self.page(
            "evaluation/form.html",
            title=_("New dataset"),
            status=status,
            form=form,
            button=_("Create dataset"),
            back_address=self.address("datasets"),
        )


class SettingsPage(DatasetPage):
    """The settings of a dataset."""

    page_of_dataset = "dataset_settings"
    right = Right.SAVE

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Show the form."""
        held = self.dataset.settings
        schemas = {_NAMES[name]: held.get(name) for name in ("inputSchema", "groundTruthSchema")}
        initial = {
            "name": self.dataset.name,
            "description": held.get("description", ""),
            "scorers": self.held,
            **{name: canonical.file_text(schema) if schema else "" for name, schema in schemas.items()},
        }
        return self.show(self._form(initial=initial))

    def post(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Save the settings; after an error, show the form again."""
        form = self._form(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        given = form.cleaned_data
        changes = {
            "name": given["name"],
            "description": given["description"] or None,
            "scorerIds": given["scorers"] or None,
            "inputSchema": given["input_schema"],
            "groundTruthSchema": given["ground_truth_schema"],
        }
        try:
            Datasets.current().change(self.dataset_id, changes, by=self.caller)
        except Conflict as error:
            form.add_error("name", error.message)
            return self.show(form, status=400)
        except Invalid as error:
            add_errors(form, error, **_NAMES)
            return self.show(form, status=400)
        return self.go(self.own_address(), _("Settings saved."))

    def _form(self, data: Any = None, **more: Any) -> SettingsForm:
        form = SettingsForm(data, **more)
        offer(form, scorers=self.scorer_choices())
        return form

    def show(self, form: forms.Form, *, status: int = 200) -> HttpResponse:
        """Return the page."""
        return self.page(
            "evaluation/form.html",
            title=_("Settings of %(name)s") % {"name": self.dataset.name},
            status=status,
            form=form,
            button=_("Save settings"),
            back_address=self.own_address(),
            offers_deletion=True,
        )


class DeletePage(DatasetPage):
    """Asks for confirmation before a dataset is deleted."""

    page_of_dataset = "dataset_settings"
    right = Right.SAVE

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Ask."""
        return self.page(
            "evaluation/ask.html",
            title=_("Delete %(name)s?") % {"name": self.dataset.name},
            sentence=_("All items in all versions are deleted, too. This cannot be undone."),
            button=_("Delete dataset"),
            back_address=self.own_address("dataset_settings"),
        )

    def post(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Delete it, and show the list."""
        name = self.dataset.name
        Datasets.delete(self.dataset_id, by=self.caller)
        return self.go(self.address("datasets"), _("Dataset “%(name)s” deleted.") % {"name": name})


class VersionsPage(DatasetPage):
    """The versions of a dataset, newest first."""

    page_of_dataset = "dataset_versions"

    def get(self, request: HttpRequest, workspace: str, dataset: str) -> HttpResponse:
        """Show a page of them."""
        found = DatasetVersion.objects.filter(dataset=self.dataset)
        page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
        return self.page(
            "evaluation/versions.html",
            title=_("Versions of %(name)s") % {"name": self.dataset.name},
            page=page,
        )
