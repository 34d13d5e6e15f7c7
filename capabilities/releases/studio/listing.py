"""The releases of a workspace, or of all; and creating one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from capabilities.releases.automatic import automatic_among
from capabilities.releases.models import Release
from capabilities.releases.models.releases import MAX_DESCRIPTION, MAX_TITLE, State
from capabilities.releases.studio.for_you import MINE, SHOW, own_drafts
from capabilities.releases.studio.links import of_release
from capabilities.releases.studio.wording import Wording, state_in_words
from capabilities.releases.verbs import Releases
from studio.workspaces.names import workspace_choices
from studio.workspaces.views import ListingPage, WorkspacePage, add_errors, address
from versioning.domain.access import Right
from versioning.domain.errors import Invalid

PER_PAGE: Final = 50
ALL: Final = "all"

_TITLES: Final = {
    State.DRAFT.value: pgettext_lazy("releases", "Drafts"),
    MINE: pgettext_lazy("releases", "My drafts"),
    State.PUBLISHED.value: pgettext_lazy("releases", "Published"),
    State.REVERTED.value: pgettext_lazy("releases", "Reverted"),
    ALL: pgettext_lazy("releases", "All"),
}


class ReleaseForm(forms.Form):
    """The title and the description of a release."""

    title = forms.CharField(
        label=gettext_lazy("Title"),
        max_length=MAX_TITLE,
        help_text=gettext_lazy("So that people recognize it, such as “Autumn campaign”."),
    )
    description = forms.CharField(label=gettext_lazy("Purpose"), required=False, max_length=MAX_DESCRIPTION)


@dataclass(frozen=True, kw_only=True)
class Line:
    """A release in a list."""

    release: Release
    count: int
    """The number of items."""
    workspace_name: str = ""
    """The name of its workspace, in a list of several."""
    is_scheduled: bool = False
    """Whether it will be published automatically."""

    @property
    def address(self) -> str:
        """The address of its page."""
        return of_release(self.release)

    @property
    def state(self) -> Wording:
        """Its state."""
        return state_in_words(self.release, is_scheduled=self.is_scheduled)


class ReleasesPage(ListingPage):
    """The releases, newest first; the page updates itself."""

    tab = "releases"

    def get(self, request: HttpRequest, **_address: str) -> HttpResponse:
        """Show a page of the releases in one state, by default drafts, or of all."""
        workspace_id = self.listed_id
        self.listen(self.scope)
        given = request.GET.get(SHOW, "")
        show = given if given in _TITLES else State.DRAFT.value
        page: Any = Paginator(self._found(show, workspace_id), PER_PAGE).get_page(request.GET.get("page"))
        return self.page(
            "releases/releases.html",
            title=_("Releases"),
            show=show,
            choices=[
                (title, f"?{self.query(**_narrowed(one))}", one == show) for one, title in _TITLES.items()
            ],
            page=page,
            query=self.query(**_narrowed(show)),
            kept=_narrowed(show),
            lines=self._lines(list(page.object_list)),
            **self._adding(),
        )

    def _found(self, show: str, workspace_id: str | None) -> Any:
        if show == MINE:
            return own_drafts(self.caller, workspace_id).with_people()
        state = None if show == ALL else show
        return Releases.current().list(workspace=workspace_id, state=state, by=self.caller)

    def _lines(self, shown: Sequence[Release]) -> list[Line]:
        counted = Release.objects.filter(pk__in=[one.pk for one in shown]).order_by()
        counts = dict(counted.annotate(count=Count("items")).values_list("pk", "count"))
        scheduled = automatic_among(shown)
        return [
            Line(
                release=one,
                is_scheduled=one.pk in scheduled,
                count=counts.get(one.pk, 0),
                workspace_name=self.shown_names.get(one.workspace_id, ""),
            )
            for one in shown
        ]

    def _adding(self) -> dict[str, Any]:
        """Return where a release is created: in the workspace, or in one of several to choose from."""
        if self.listed_id is not None:
            may_save = self.caller.may(Right.SAVE, self.listed_id)
            return {"add_address": address("new_release", self.listed_id) if may_save else ""}
        offered = [
            (address("new_release", pk), name) for pk, name in workspace_choices(Right.SAVE, self.caller)
        ]
        if len(offered) == 1:
            return {"add_address": offered[0][0]}
        return {"add_addresses": offered}


def _narrowed(show: str) -> dict[str, str]:
    return {} if show == State.DRAFT else {SHOW: show}


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
