"""Trying a scorer on an answer, or on an item of a dataset; nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from editor_client.shared import canonical

from capabilities.evaluation.datasets.models import Dataset, Revision
from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.scoring.kind import SCORER
from capabilities.evaluation.scoring.outcomes import MISSING, Attempt
from capabilities.evaluation.scoring.verbs import Scoring
from capabilities.evaluation.studio.choices import json_object
from studio.error_pages import error_page
from studio.kinds import StudioKind
from studio.resources.base import ResourcePage
from versioning.api.limits import RunsFull, waits_for_models
from versioning.domain import texts
from versioning.domain.access import Right
from versioning.domain.errors import NotFound, VersioningError
from versioning.domain.texts import clip
from versioning.domain.uuids import parse_uuid
from versioning.models.text_keys import ByName

MAX_ITEMS: Final = 50
"""How many items of a dataset are offered."""
_LONG: Final = forms.Textarea


class TryForm(forms.Form):
    """An answer, and what it is an answer to."""

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
        """What is scored."""
        given = self.cleaned_data
        truth = given["ground_truth"].replace("\r\n", "\n")
        return Attempt(
            input=texts.typed_cell(given["input"].replace("\r\n", "\n")),
            output=given["output"].replace("\r\n", "\n"),
            ground_truth=texts.typed_cell(truth) if truth else MISSING,
            metadata=given["metadata"],
        )


class TryScorerPage(ResourcePage):
    """Scores an answer with the latest version of a scorer."""

    tab = "try_scorer"

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show the form, with an item of a dataset if one is chosen."""
        self.require(Right.SAVE)
        return self.show(TryForm(initial=self._of_item()))

    @waits_for_models
    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show what the scorer says."""
        self.require(Right.SAVE)
        form = TryForm(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        outcome = Scoring.current().try_out(self.resource_id, form.attempt, by=self.caller)
        return self.show(form, outcome=outcome)

    def failed(self, error: VersioningError) -> HttpResponse:
        """Return the page for an error, such as that too many requests wait for models."""
        if isinstance(error, RunsFull):
            message = _("Too many requests wait for models. Try again soon.")
            return error_page(self.request, 503, _("The server is busy"), message)
        return super().failed(error)

    def show(self, form: TryForm, *, status: int = 200, **more: Any) -> HttpResponse:
        """Return the page."""
        chosen = self._chosen()
        found = Datasets.list(workspace=self.workspace_id, by=self.caller).order_by(ByName("name"), "pk")
        return self.page(
            "evaluation/try.html",
            title=_("Try"),
            status=status,
            form=form,
            datasets=[(str(pk), name) for pk, name in found.values_list("pk", "name")],
            chosen=None if chosen is None else str(chosen.pk),
            items=[] if chosen is None else list(self._items(chosen)),
            **more,
        )

    def _chosen(self) -> Dataset | None:
        """The dataset from which an item is taken, if there is one."""
        text = self.request.GET.get("dataset", "")
        return Datasets.find(text, by=self.caller) if text else None

    def _items(self, dataset: Dataset) -> Iterator[tuple[str, str]]:
        rows = Revision.objects.of_version(dataset).order_by("item__created_at", "item")[:MAX_ITEMS]
        for row in rows:
            yield str(row.item_id), clip(texts.format_value(row.payload.get("input")), 80)

    def _of_item(self) -> dict[str, str]:
        chosen, item = self._chosen(), self.request.GET.get("item", "")
        if chosen is None or not item:
            return {}
        found = Revision.objects.of_version(chosen).filter(item=parse_uuid(item)).first()
        if found is None:
            raise NotFound
        payload = found.payload
        metadata = payload.get("metadata")
        return {
            "input": texts.format_value(payload.get("input")),
            "ground_truth": texts.format_value(payload["groundTruth"]) if "groundTruth" in payload else "",
            "metadata": canonical.file_text(metadata) if metadata else "",
        }


def resource_urls(kind: StudioKind) -> Iterator[URLPattern]:
    """Yield the URL of the page, which only scorers have."""
    if kind.slug == SCORER.slug:
        name = kind.url_name("try_scorer")
        yield path("<str:resource>/try-scorer/", TryScorerPage.as_view(kind=kind), name=name)
