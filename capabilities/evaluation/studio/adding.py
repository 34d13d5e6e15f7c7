"""Adding what was just tried to a dataset, as an item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from editor_client.shared import canonical, tags

from capabilities.evaluation.datasets.items import ItemTooLarge
from capabilities.evaluation.datasets.verbs import Datasets
from capabilities.evaluation.studio.choices import offer
from studio.extensions import Action
from studio.marks import as_text
from studio.translation import translated
from studio.views import StudioPage
from studio.workspaces.names import workspace_choices
from studio.workspaces.views import address
from versioning.domain import texts
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Conflict, Invalid


class AddForm(forms.Form):
    """An item, and the dataset to which it is added."""

    dataset = forms.ChoiceField(label=gettext_lazy("Dataset"))
    input = forms.CharField(label=gettext_lazy("Input"), strip=False, widget=forms.Textarea)
    ground_truth = forms.CharField(
        label=gettext_lazy("A good answer"),
        required=False,
        strip=False,
        widget=forms.Textarea,
        help_text=gettext_lazy("Starts with the actual answer. Change it to a good one."),
    )
    tags = forms.CharField(label=gettext_lazy("Tags, separated by commas"), required=False)
    about = forms.CharField(required=False, widget=forms.HiddenInput)
    """The feedback of which the item is made, as JSON; it goes into its metadata."""

    @property
    def item(self) -> dict[str, Any]:
        """The item, by the names of the API."""
        given = self.cleaned_data
        item = {"input": texts.typed_cell(given["input"].replace("\r\n", "\n"))}
        truth = given["ground_truth"].replace("\r\n", "\n")
        if truth:
            item["groundTruth"] = texts.typed_cell(truth)
        named, said = tags.listed_in(given["tags"]), feedback_in(given["about"])
        metadata = {**({tags.MEMBER: named} if named else {}), **({"feedback": said} if said else {})}
        return {**item, "metadata": metadata} if metadata else item


def feedback_in(text: str) -> dict[str, Any]:
    """Return the feedback in the JSON that a form holds; nothing of what is no JSON object."""
    try:
        value = canonical.parse(text) if text else None
    except Invalid:
        return {}
    return value if isinstance(value, dict) else {}


class AddItemPage(StudioPage):
    """Receives an input with its answer, shows them in a form, and adds the item."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the empty form."""
        return self.show(self._form())

    def post(self, request: HttpRequest) -> HttpResponse:
        """Show what was tried, or add the item; after an error, show the form again."""
        if request.POST.get("do") != "add":
            tried, output, about = (request.POST.get(name, "") for name in ("tried", "output", "about"))
            began = {
                "input": texts.format_value(texts.typed_cell(tried)) if tried else "",
                "ground_truth": texts.format_value(output),
                "about": about,
            }
            return self.show(self._form(initial=began))
        form = self._form(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        chosen = Datasets.find(form.cleaned_data["dataset"], right=Right.SAVE, by=self.caller)
        try:
            Datasets.add(str(chosen.pk), [form.item], places=[""], by=self.caller)
        except Invalid as error:
            for issue in error.issues:
                form.add_error(None, f"{issue.field}: {translated(issue.message)}")
            return self.show(form, status=400)
        except (Conflict, ItemTooLarge) as error:
            form.add_error(None, as_text(error.message, request))
            return self.show(form, status=400)
        return self.go(address("dataset", chosen.workspace_id, str(chosen.pk)), _("Item added."))

    def _form(self, data: Any = None, **more: Any) -> AddForm:
        form = AddForm(data, **more)
        mine = dict(workspace_choices(Right.SAVE, self.caller))
        found = Datasets.list(by=self.caller).filter(workspace__in=mine)
        several = len(mine) > 1
        names = {
            str(one.pk): f"{one.name} ({mine[one.workspace_id]})" if several else one.name for one in found
        }
        offer(form, dataset=list(names.items()))
        # Whoever saves several answers saves them to one dataset.
        form.initial.setdefault("dataset", found.order_by("-updated_at").values_list("pk", flat=True).first())
        return form

    def show(self, form: AddForm, *, status: int = 200) -> HttpResponse:
        """Return the page."""
        return self.page(
            "evaluation/add_item.html",
            title=_("Save as dataset item"),
            status=status,
            form=form,
            said=feedback_in(form["about"].value() or ""),
            datasets_address=reverse("studio:datasets"),
        )


def answer_actions(caller: Caller) -> Iterator[Action]:
    """Yield what can be done with an answer that was tried."""
    if caller.scope(Right.SAVE) != frozenset():
        yield Action(title=_("Save as dataset item"), address=reverse("studio:add_item"))
