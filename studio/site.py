"""The admin site: open to the members of any workspace, whatever their staff flag says."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from unfold.forms import AuthenticationForm as UnfoldAuthenticationForm
from unfold.sites import UnfoldAdminSite

from studio.callers import caller_of, may_enter
from studio.faults import fault_page
from studio.kinds import KINDS
from versioning.models import caller_for


class SignInForm(UnfoldAuthenticationForm):
    """Lets in whoever is a member of a workspace; that is asked anew with every request."""

    def confirm_login_allowed(self, user: User) -> None:
        """Raise `ValidationError` for who is inactive, or a member of nothing."""
        AuthenticationForm.confirm_login_allowed(self, user)
        if not may_enter(caller_for(user)):
            raise ValidationError(
                "You are a member of no workspace yet. Ask an admin of a workspace to invite you.",
                code="no_membership",
            )


class StudioSite(UnfoldAdminSite):
    """The studio. Who may do what on a page is the editor's decision, never a model permission."""

    enable_nav_sidebar = False
    login_form = SignInForm

    def has_permission(self, request: HttpRequest) -> bool:
        """Say whether somebody may enter at all."""
        return may_enter(caller_of(request))

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return what the frame of every page shows."""
        return {**super().each_context(request), "navigation": self._navigation(request)}

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        """Answer with the home page."""
        from studio.home import HomePage  # noqa: PLC0415  it is drawn in this site's frame

        return HomePage.as_view()(request)

    def app_index(
        self, request: HttpRequest, app_label: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Lead home: there is one application."""
        return HttpResponseRedirect(reverse("admin:index"))

    def catch_all_view(self, request: HttpRequest, url: str) -> HttpResponse:
        """Answer for an address that no page has."""
        return fault_page(request, 404, "There is nothing here", "No page has this address.")

    def _navigation(self, request: HttpRequest) -> list[dict[str, Any]]:
        home = reverse("admin:index")
        pages = [("Home", home), *((kind.plural.capitalize(), kind.address("changelist")) for kind in KINDS)]
        pages.append(("Workspaces", reverse("admin:versioning_workspace_changelist")))
        here = request.path
        return [
            {
                "title": title,
                "address": address,
                "current": here == home if address == home else here.startswith(address),
            }
            for title, address in pages
        ]
