"""The admin site, open to the members of any workspace; `is_staff` does not matter."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _
from unfold.sites import UnfoldAdminSite

from studio.accounts.attempts import remember_browser
from studio.accounts.forms import ChangePasswordForm, SignInForm, with_retry_after
from studio.auth import caller_of, may_enter
from studio.error_pages import error_page
from studio.kinds import KINDS
from studio.preferences.language import catalog_address
from studio.preferences.stored import preferences_of


class StudioSite(UnfoldAdminSite):
    """The studio. The editor decides who may do what; Django's model permissions play no part.

    Its templates have names of their own, so that another admin site of a project keeps Django's.
    """

    site_title = site_header = "The editor"
    enable_nav_sidebar = False
    login_form = SignInForm
    login_template = "studio/accounts/login.html"
    logout_template = "studio/accounts/logged_out.html"
    password_change_template = "studio/accounts/password_change_form.html"  # noqa: S105
    password_change_done_template = "studio/accounts/password_change_done.html"  # noqa: S105

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Return the addresses of the studio, and none of those that the admin brings.

        The admin's own pages (shortcuts by content type, completion, a search over models) check no rights
        of a workspace.
        """
        from studio.urls import urlpatterns  # noqa: PLC0415  its pages are drawn in this site's frame

        return urlpatterns

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Return nothing: the studio has a navigation of its own."""
        return []

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the form to sign in with, and sign in."""
        response: HttpResponse = super().login(request, extra_context)
        if isinstance(response, TemplateResponse):
            return with_retry_after((response.context_data or {}).get("form"), response)
        if request.method == "POST" and request.user.is_authenticated:
            remember_browser(request, response)
        return response

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Sign out on POST; a GET leads to the home page."""
        if request.method != "POST":
            return HttpResponseRedirect(reverse("studio:index"))
        response: HttpResponse = super().logout(request, extra_context)
        return response

    def password_change(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        """Show the form to change one's own password with, and change it."""
        context = {**self.each_context(request), **(extra_context or {})}
        response = PasswordChangeView.as_view(
            form_class=ChangePasswordForm,
            success_url=reverse("studio:password_change_done"),
            template_name=self.password_change_template,
            extra_context=context,
        )(request)
        if isinstance(response, TemplateResponse):
            return with_retry_after((response.context_data or {}).get("form"), response)
        return response

    def has_permission(self, request: HttpRequest) -> bool:
        """Say whether the user may use the studio."""
        return may_enter(caller_of(request))

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return what the frame of every page shows."""
        return {
            **super().each_context(request),
            "site_title": self.site_title,  # which unfold has from a setting of its own
            "site_header": self.site_header,
            "navigation": self._navigation(request),
            "bell": self._bell(request),
            "preferences": preferences_of(request),
            "script_catalog": catalog_address(),
        }

    def _bell(self, request: HttpRequest) -> dict[str, Any]:
        from studio.activity.notifications import MOST, unread  # noqa: PLC0415  its page is drawn in this frame

        return {"unread": SimpleLazyObject(lambda: unread(request)), "most": MOST}

    def catch_all_view(self, request: HttpRequest, url: str) -> HttpResponse:
        """Answer for an address without a page."""
        return error_page(request, 404, _("There is nothing here"), _("No page has this address."))

    def _navigation(self, request: HttpRequest) -> list[dict[str, Any]]:
        home = reverse("studio:index")
        pages = [(_("Home"), home), *((kind.title, kind.address("changelist")) for kind in KINDS)]
        pages.append((_("Workspaces"), reverse("studio:versioning_workspace_changelist")))
        here = request.path
        return [
            {
                "title": title,
                "address": address,
                "current": here == home if address == home else here.startswith(address),
            }
            for title, address in pages
        ]
