"""The releases of a workspace, and creating one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from releases.models import Release
from releases.models.releases import MAX_DESCRIPTION, MAX_TITLE, State
from releases.studio.links import of_release
from releases.studio.wording import STATES, Wording
from releases.verbs import Releases
from studio.workspaces.base import WorkspacePage
from studio.workspaces.forms import add_errors
from versioning.domain.access import Right
from versioning.domain.errors import Invalid

PER_PAGE: Final = 50
ALL: Final = "all"

_TITLES: Final = {
    State.DRAFT.value: pgettext_lazy("releases", "Drafts"),
    State.PUBLISHED.value: pgettext_lazy("releases", "Published"),
    State.REVERTED.value: pgettext_lazy("releases", "Reverted"),
    ALL: pgettext_lazy("releases", "All"),
}


class ReleaseForm(forms.Form):
    """The title and the description of a release."""

    title = forms.CharField(
        label=gettext_lazy("Title"),
        max_length=MAX_TITLE,
        help_text=gettext_lazy("For people to recognize it, such as “Autumn campaign”."),
    )
    description = forms.CharField(
        label=gettext_lazy("What it is for"), required=False, max_length=MAX_DESCRIPTION
    )


@dataclass(frozen=True, kw_only=True)
class Line:
    """A release in a list."""

    release: Release
    count: int
    """The number of items."""

    @property
    def address(self) -> str:
        """The address of its page."""
        return of_release(self.release)

    @property
    def state(self) -> Wording:
        """Its state."""
        return STATES[self.release.state]


class ReleasesPage(WorkspacePage):
    """The releases, newest first; the page updates itself."""

    tab = "releases"
    right = Right.READ_DRAFTS

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show a page of the releases in one state, by default drafts, or of all."""
        self.listen({"workspace_id": self.workspace.pk})
        given = request.GET.get("show", "")
        show = given if given in _TITLES else State.DRAFT.value
        found = Releases.current().list(
            workspace=self.workspace.pk, state=None if show == ALL else show, by=self.caller
        )
        page: Any = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
        shown = list(page.object_list)
        counted = Release.objects.filter(pk__in=[one.pk for one in shown]).order_by()
        counts = dict(counted.annotate(count=Count("items")).values_list("pk", "count"))
        return self.page(
            "releases/releases.html",
            title=_("Releases"),
            show=show,
            choices=[
                (title, "?" if one == State.DRAFT else f"?{urlencode({'show': one})}", one == show)
                for one, title in _TITLES.items()
            ],
            page=page,
            query=urlencode({"show": show}) if show != State.DRAFT else "",
            lines=[Line(release=one, count=counts.get(one.pk, 0)) for one in shown],
            add_address=self.address("new_release") if self.may_save else "",
        )

    @property
    def may_save(self) -> bool:
        """Whether the caller may create releases."""
        return self.caller.may(Right.SAVE, self.workspace_id)


class NewReleasePage(WorkspacePage):
    """Creates an empty release; items are added from the pages about resources."""

    tab = "releases"
    right = Right.SAVE

    def get(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Show the form."""
        return self.show(ReleaseForm())

    def post(self, request: HttpRequest, workspace: str) -> HttpResponse:
        """Create it, and show it."""
        form = ReleaseForm(request.POST)
        if not form.is_valid():
            return self.show(form, status=400)
        try:
            made = Releases.current().create(self.workspace.pk, by=self.caller, **form.cleaned_data)
        except Invalid as error:
            add_errors(form, error)
            return self.show(form, status=400)
        return self.go(of_release(made))

    def show(self, form: ReleaseForm, *, status: int = 200) -> HttpResponse:
        """Return the page."""
        return self.page(
            "releases/new.html",
            title=_("New release"),
            status=status,
            form=form,
            back_address=self.address("releases"),
        )
