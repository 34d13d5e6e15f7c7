"""The lists of agents and of prompt blocks."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from studio.kinds import AGENT, StudioKind
from studio.resources.create import workspace_choices
from studio.resources.rows import Row
from studio.resources.summaries import STATES
from studio.views import StudioPage
from versioning.domain.access import Caller, Right
from versioning.editor.catalog import Filter, ResourceState
from versioning.models import Visibility
from versioning.models.search import MAX_LENGTH

PER_PAGE: Final = 50
MAX_TEXT: Final = MAX_LENGTH
NOT_LIVE: Final = "not_live"
OLD_STATES: Final = {
    "Published": ResourceState.PUBLISHED.value,
    "Changed": ResourceState.CHANGED.value,
    "Draft": NOT_LIVE,
}
"""The words that stood in the addresses of filtered lists before, with what stands there now."""
PLAIN_FILTERS: Final = ("workspace", "visibility", "author", "label", "folder")
ORDERS: Final = {"changed": "-updated_at", "id": "id", "newest": "-created_at"}


class FilterForm(forms.Form):
    """What a list can be narrowed by. Nothing is required, and unknown words are refused."""

    q = forms.CharField(label="Search", required=False, max_length=MAX_TEXT)
    workspace = forms.ChoiceField(label="Workspace", required=False)
    state = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[
            ("", _("Any")),
            *((state.value, words.word) for state, words in STATES.items()),
            (NOT_LIVE, _("Not live: never published, or unpublished")),
        ],
    )
    visibility = forms.ChoiceField(
        label="Visibility", required=False, choices=[("", "Any"), *Visibility.choices]
    )
    author = forms.CharField(label="Last edit by", required=False, max_length=MAX_TEXT)
    label = forms.CharField(label="Label", required=False, max_length=MAX_TEXT)
    folder = forms.CharField(required=False, max_length=MAX_TEXT, widget=forms.HiddenInput)
    order = forms.ChoiceField(
        label="Order",
        required=False,
        choices=[("changed", "Changed last"), ("id", "By id"), ("newest", "Made last")],
    )

    def __init__(self, data: Any, *, kind: StudioKind, caller: Caller) -> None:
        super().__init__(data, auto_id="filter-%s")
        workspaces = [("", "Any"), *workspace_choices(Right.READ, caller)]
        self.fields["workspace"].choices = workspaces  # type: ignore[attr-defined]
        if not kind.has_visibility:
            del self.fields["visibility"]
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"
        for name in ("author", "label"):
            self.fields[name].widget.attrs |= {"list": f"known-{name}s", "autocomplete": "off"}

    @property
    def wanted(self) -> Filter:
        """The filter, without values that are not valid."""
        self.is_valid()
        given = self.cleaned_data
        state = given.get("state", "")
        return Filter(
            text=given.get("q", ""),
            state=ResourceState(state) if state and state != NOT_LIVE else None,
            not_live=state == NOT_LIVE,
            **{name: given.get(name, "") for name in PLAIN_FILTERS},
        )

    @property
    def sorting(self) -> str:
        """The column to sort the rows by."""
        return ORDERS[self.cleaned_data.get("order") or "changed"]

    @property
    def given(self) -> dict[str, str]:
        """The valid values that were given, without the page."""
        return {name: value for name, value in self.cleaned_data.items() if value}


class ListPage(StudioPage):
    """All resources of one kind that the caller may read."""

    kind: StudioKind = AGENT

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show a page of the filtered list, which updates itself."""
        state = OLD_STATES.get(request.GET.get("state", ""))
        if state is not None:
            query = request.GET.copy()
            query["state"] = state
            return self.go(f"?{query.urlencode()}")
        self.listen({"resource_kind": self.kind.word})
        form = FilterForm(request.GET, kind=self.kind, caller=self.caller)
        wanted = form.wanted
        found = self.kind.catalog(self.caller).search(wanted, order=form.sorting)
        page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
        rows = [Row.of(self.kind, entry) for entry in page.object_list]
        return self.page(
            "studio/resources/list.html",
            title=self.kind.title,
            kind=self.kind,
            form=form,
            wanted=wanted,
            page=page,
            rows=rows,
            query=urlencode(form.given),
            is_narrowed=bool(form.given.keys() - {"order"}),
            is_filtered=bool(form.errors or form.given.keys() - {"order", "q", "folder"}),
            authors=sorted({row.shown.author_name for row in rows if row.shown and row.shown.author_name}),
            labels=sorted({label for row in rows for label in row.labels}),
            may_create=may_create(self.caller),
            add_address=self.kind.address("add"),
            list_address=request.path,
            without_folder=urlencode({name: value for name, value in form.given.items() if name != "folder"}),
        )


def may_create(caller: Caller) -> bool:
    """Say whether there is a workspace in which the caller may create something."""
    scope = caller.scope(Right.SAVE)
    return scope is None or bool(scope)
