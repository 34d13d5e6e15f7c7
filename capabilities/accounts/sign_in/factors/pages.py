"""The step after the right password: a code or a security key, or a required set-up."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from django.contrib.auth import get_user_model, logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from capabilities.accounts.models import (
    Kind,
    SecondFactor,
    new_recovery_codes,
    recovery_codes_left,
    use_recovery_code,
)
from capabilities.accounts.sign_in.conf import takes_password_of
from capabilities.accounts.sign_in.events import record
from capabilities.accounts.sign_in.factors import totp, webauthn
from studio import one_time_secrets, sign_in, site
from studio.accounts.forms import sentence_about_waiting
from studio.error_pages import error_page
from studio.views import StudioPage
from versioning.domain.errors import NotFound, VersioningError
from versioning.domain.uuids import is_key
from versioning.models import SignInAttempts
from versioning.models.sealed_keys import KeyUnreadable
from versioning.models.throttle import TooManyAttempts, subject

if TYPE_CHECKING:
    from django.contrib.auth.models import User


CODES: Final = "recovery codes"
"""The name of new recovery codes among the one-time secrets."""
_PENDING: Final = "company.second_step"
"""The session key for the person whose password was right."""
_SECRET: Final = "company.totp_secret"  # noqa: S105  the beginning of a key in a session
_PATIENCE: Final = 600


def further_step(request: HttpRequest, user: Any, next_url: str) -> HttpResponse | None:
    """Ask for a second factor; if one is required, have a person without one set it up."""
    is_set_up = SecondFactor.is_set_up(user)
    if not is_set_up and not settings.EDITOR_REQUIRE_MFA:
        return None
    if request.user.is_authenticated:
        logout(request)  # the previous account's session must not be reused for this person
    else:
        request.session.cycle_key()
    request.session[_PENDING] = {
        "user": str(user.pk),
        "hash": user.get_session_auth_hash(),
        "next": next_url,
        "at": time.time(),
    }
    return HttpResponseRedirect(
        reverse("studio:second_step" if is_set_up else "studio:second_factor_required")
    )


def unreadable(request: HttpRequest, error: VersioningError) -> HttpResponse:
    return error_page(request, 503, _("This action failed"), error.message)


def _secret_name(user: Any) -> str:
    # Bound to the person: another user may have begun to set up an app in this browser and know that secret.
    return f"{_SECRET}.{user.pk}"


def set_up_app(request: HttpRequest, user: Any, code: str) -> str:
    """Store the app being set up if the code is right; otherwise return the error."""
    secret: str = request.session.get(_secret_name(user), "")
    step = totp.find_step(secret, code) if secret else None
    if step is None:
        return _("Wrong code. Check the clock of your device, and enter the next code.")
    totp.add(user, secret, step)
    del request.session[_secret_name(user)]
    record("secondFactor.added", user, kind="totp")
    return ""


def show_new_codes(request: HttpRequest, response: HttpResponse, user: Any) -> None:
    """Make recovery codes, and show them once on the page to which a response redirects."""
    one_time_secrets.show_next(request, response, CODES, new_recovery_codes(user))


def _find_person(pending: dict[str, Any]) -> User | None:
    """Return the person whose password was recently right, unless it was changed or the account disabled."""
    if not pending or time.time() > pending["at"] + _PATIENCE:
        return None
    user = get_user_model()._default_manager.filter(pk=pending["user"], is_active=True).first()
    if user is None or not constant_time_compare(user.get_session_auth_hash(), pending["hash"]):
        return None
    return user


@method_decorator([never_cache, sensitive_post_parameters()], name="dispatch")
class PendingView(View):
    """A page for a person between the password and the end of the sign-in."""

    http_method_names = ["get", "post"]
    user: User

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        pending: dict[str, Any] = request.session.get(_PENDING, {})
        user = _find_person(pending)
        if user is None:
            return HttpResponseRedirect(reverse("studio:login"))
        self.user, self.pending = user, pending
        try:
            return super().dispatch(request, *args, **kwargs)
        except KeyUnreadable as error:
            return unreadable(request, error)

    def finish(self, method: str, *, next_url: str = "") -> HttpResponse:
        del self.request.session[_PENDING]
        return sign_in.open_session(self.request, self.user, next_url or self.pending["next"], method=method)

    def show(self, template: str, *, title: str, problem: str, **context: Any) -> HttpResponse:
        base_context = {**site.each_context(self.request), "title": title, "problem": problem}
        status = 400 if problem else 200
        return TemplateResponse(self.request, template, {**base_context, **context}, status=status)


class SecondStepView(PendingView):
    def get(self, request: HttpRequest) -> HttpResponse:
        return self._ask()

    def post(self, request: HttpRequest) -> HttpResponse:
        """Sign in if the code is right; wrong ones are throttled like passwords."""
        throttle_key = subject("second", str(self.user.pk))
        try:
            attempt = SignInAttempts.objects.begin([throttle_key])
        except TooManyAttempts as error:
            response = self._ask(sentence_about_waiting(error.seconds))
            response.status_code = 429
            response["Retry-After"] = str(error.seconds)
            return response
        method = self._proof()
        if method is None:
            record("signIn.failed", self.user, by_themselves=False, method="password", reason="second_factor")
            return self._ask(_("Wrong code. Each code works only once: wait for the next one."))
        attempt.mark_succeeded(throttle_key)
        return self.finish(f"password+{method}")

    def _proof(self) -> str | None:
        form = self.request.POST
        if form.get("credential"):
            return "webauthn" if webauthn.use(self.request, self.user, form["credential"]) else None
        code = form.get("code", "")[:100]
        if totp.use(self.user, code):
            return "totp"
        return "recovery" if use_recovery_code(self.user, code) else None

    def _ask(self, problem: str = "") -> HttpResponse:
        return self.show(
            "company/second_step.html",
            title=_("One more step"),
            problem=problem,
            **webauthn.for_page(webauthn.options_to_use(self.request, self.user)),
        )


class RequiredView(PendingView):
    """Makes a person without a second factor set up an app first."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer only without a second factor, which would otherwise be replaced without being verified."""
        user = request.session.get(_PENDING, {}).get("user")
        if user is not None and SecondFactor.is_set_up(user):
            return HttpResponseRedirect(reverse("studio:second_step"))
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._ask()

    def post(self, request: HttpRequest) -> HttpResponse:
        problem = set_up_app(request, self.user, request.POST.get("code", ""))
        if problem:
            return self._ask(problem)
        response = self.finish("password+totp", next_url=reverse("studio:second_factor"))
        show_new_codes(request, response, self.user)
        return response

    def _ask(self, problem: str = "") -> HttpResponse:
        return self.show(
            "company/second_factor_required.html",
            title=_("Set up a second factor"),
            problem=problem,
            **about_app(self.request, self.user),
        )


def about_app(request: HttpRequest, user: Any) -> dict[str, str]:
    secret = request.session.setdefault(_secret_name(user), totp.new_secret())
    return {"secret": secret, "qr": totp.qr_code(totp.address_for_apps(secret, user.get_username()))}


@method_decorator(never_cache, name="dispatch")
class SecondFactorPage(StudioPage):
    """Shows a person's second factors; adds and removes them."""

    asks_password_again = True

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._show(codes=one_time_secrets.shown_now(request, CODES))

    def post(self, request: HttpRequest) -> HttpResponse:
        user: Any = request.user
        if "remove" in request.POST:
            return self._remove(user, request.POST["remove"])
        if "codes" in request.POST:
            return self._with_codes(user, _("The earlier recovery codes are not valid any more."))
        if request.POST.get("credential"):
            factor = webauthn.add(request, user, request.POST.get("name", ""), request.POST["credential"])
            problem = "" if factor else _("The security key was not accepted. Try again.")
            if factor:
                record("secondFactor.added", user, kind="webauthn")
        else:
            problem = set_up_app(request, user, request.POST.get("code", ""))
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
        show_new_codes(self.request, response, user)
        return response

    def _remove(self, user: Any, number: str) -> HttpResponse:
        rows = SecondFactor.of(user).exclude(kind=Kind.RECOVERY)
        factor = rows.filter(pk=number).first() if is_key(number) else None
        if factor is None:
            raise NotFound
        factor.delete()
        if not rows.exists():
            SecondFactor.of(user).delete()
        record("secondFactor.removed", user, kind=factor.kind)
        return self.go(self.request.path, _("Second factor removed."))

    def handle_error(self, error: VersioningError) -> HttpResponse:
        return unreadable(self.request, error)

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
            **about_app(self.request, user),
        )
