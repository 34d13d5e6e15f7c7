"""The page for signing in."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

from studio import sign_in, site
from studio.accounts.attempts import remember_browser
from studio.accounts.forms import SignInForm, SuperuserSignInForm, with_retry_after


class LoginPage(LoginView):
    """The form for passwords, and links to other ways of signing in."""

    authentication_form = SignInForm
    template_name = "studio/accounts/login.html"
    http_method_names = ["get", "post", "head"]
    for_superusers = False
    """Whether it is the door that stays open for superusers where passwords are not taken otherwise."""

    @classmethod
    def shown(
        cls, request: HttpRequest, *, title: str, for_superusers: bool = False, **context: Any
    ) -> HttpResponseBase:
        """Return the page, or go home if the person is signed in."""
        if request.method == "GET" and site.has_permission(request):
            return HttpResponseRedirect(reverse("studio:index"))
        context = {
            **site.each_context(request),
            "title": title,
            "app_path": request.get_full_path(),
            **context,
        }
        return cls.as_view(extra_context=context, for_superusers=for_superusers)(request)

    @property
    def _takes_passwords(self) -> bool:
        return self.for_superusers or sign_in.takes_passwords()

    def get_form_class(self) -> type[Any]:
        """Return the form; behind the door for superusers, one that refuses others."""
        return SuperuserSignInForm if self.for_superusers else self.authentication_form

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return what the page shows."""
        ways = [] if self.for_superusers else sign_in.ways(self._next)
        forgotten = sign_in.forgotten_password() if self._takes_passwords else ""
        shown = {"takes_passwords": self._takes_passwords, "ways": ways, "forgotten_password": forgotten}
        return super().get_context_data(**shown, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Sign in, or show the form again; where no passwords are taken, show the other ways."""
        if not self._takes_passwords:
            return self.render_to_response(self.get_context_data(), status=403)
        response = super().post(request, *args, **kwargs)
        return with_retry_after(getattr(response, "context_data", {}).get("form"), response)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign the person in, and remember the browser."""
        response = sign_in.with_password(self.request, form.get_user(), self._next)
        remember_browser(self.request, response, form.get_user())
        return response

    @property
    def _next(self) -> str:
        asked = self.request.POST.get(REDIRECT_FIELD_NAME) or self.request.GET.get(REDIRECT_FIELD_NAME, "")
        return asked or reverse("studio:index")
