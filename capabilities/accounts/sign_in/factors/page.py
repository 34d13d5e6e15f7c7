"""The page about a person's second factors."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from capabilities.accounts.sign_in.conf import takes_password_of
from capabilities.accounts.sign_in.events import record
from capabilities.accounts.sign_in.factors import second_step, webauthn
from capabilities.accounts.sign_in.factors.models import Kind, SecondFactor, recovery_codes_left
from studio import shown_once
from studio.views import StudioPage
from versioning.domain.errors import NotFound, VersioningError
from versioning.domain.uuids import is_key


@method_decorator(never_cache, name="dispatch")
class SecondFactorPage(StudioPage):
    """Shows a person's second factors; adds and removes them."""

    asks_password_again = True

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show them and, once, new recovery codes."""
        return self._show(codes=shown_once.shown_now(request, second_step.CODES))

    def post(self, request: HttpRequest) -> HttpResponse:
        """Do what a button says."""
        user: Any = request.user
        if "remove" in request.POST:
            return self._remove(user, request.POST["remove"])
        if "codes" in request.POST:
            return self._with_codes(user, _("The earlier recovery codes are not valid any more."))
        if request.POST.get("credential"):
            made = webauthn.add(request, user, request.POST.get("name", ""), request.POST["credential"])
            problem = "" if made else _("The security key was not accepted. Try again.")
            if made:
                record("secondFactor.added", user, kind="webauthn")
        else:
            problem = second_step.set_up_app(request, user, request.POST.get("code", ""))
        if problem:
            return self._show(problem, status=400)
        message = _("Second factor set up. From now on you need it after your password.")
        return (
            self.go(request.path, message) if recovery_codes_left(user) else self._with_codes(user, message)
        )

    def _with_codes(self, user: Any, message: str) -> HttpResponse:
        if not SecondFactor.is_set_up(user):
            raise NotFound
        response = self.go(self.request.path, message)
        second_step.show_new_codes(self.request, response, user)
        return response

    def _remove(self, user: Any, number: str) -> HttpResponse:
        rows = SecondFactor.of(user).exclude(kind=Kind.RECOVERY)
        found = rows.filter(pk=number).first() if is_key(number) else None
        if found is None:
            raise NotFound
        found.delete()
        if not rows.exists():
            SecondFactor.of(user).delete()
        record("secondFactor.removed", user, kind=found.kind)
        return self.go(self.request.path, _("Second factor removed."))

    def failed(self, error: VersioningError) -> HttpResponse:
        """Say so where second factors cannot be read."""
        return second_step.unreadable(self.request, error)

    def _show(self, problem: str = "", *, status: int = 200, codes: Any = None) -> HttpResponse:
        user: Any = self.request.user
        factors = list(SecondFactor.of(user).exclude(kind=Kind.RECOVERY))
        return self.page(
            "company/second_factor.html",
            title=_("Second factor"),
            status=status,
            problem=problem,
            codes=codes,
            factors=factors,
            has_app=any(factor.kind == Kind.TOTP for factor in factors),
            left=recovery_codes_left(user),
            signs_in_with_password=takes_password_of(user),
            **webauthn.for_page(
                webauthn.options_to_add(self.request, user) if webauthn.is_available() else None
            ),
            **second_step.about_app(self.request, user),
        )
