"""Accepting an invitation: its link leads to a page that offers the role and asks for confirmation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.middleware.csrf import get_token
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from studio import sign_in
from studio.accounts.new_passwords import NewPasswordForm
from studio.error_pages import framed
from studio.translation import translated
from studio.views import StudioPage
from studio.workspaces.names import role_name
from versioning.conf import get_editor
from versioning.domain.access import Via
from versioning.domain.errors import Forbidden, IdTaken, Invalid, NotFound
from versioning.editor import Invitations
from versioning.models import Invitation
from versioning.models.accounts import account, unsaved_account

if TYPE_CHECKING:
    from django.contrib.auth.models import User

OPENED: Final = "studio.invitation"
"""The session key for the digest of the invitation link that was opened last."""
_TEMPLATE: Final = "studio/accounts/invited.html"


@never_cache
def open_link(request: HttpRequest, token: str) -> HttpResponse:
    """Move the secret out of the address: store its digest in the session, and redirect.

    So the secret is in no `Referer`, and only once in the history of the browser.
    """
    digest = Invitation.objects.digest_of(token.rstrip("/"))
    try:
        _invitations().find(digest)
    except NotFound:
        request.session.pop(OPENED, None)
    else:
        request.session[OPENED] = digest
    return HttpResponseRedirect(reverse("studio:versioning_workspace_accept"))


def is_invited(request: HttpRequest, user: User) -> bool:
    """Return whether an invitation of this user was opened in this browser and can be accepted."""
    try:
        return _invitations().find(request.session.get(OPENED, "")).username == user.get_username()
    except NotFound:
        return False


@method_decorator([never_cache, sensitive_post_parameters()], name="dispatch")
class AcceptPage(View):
    """Asks for confirmation: from the invited account, or with a password for a new one."""

    http_method_names = ("get", "post")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the invitation, and how to accept it."""
        try:
            invitation = self._opened()
        except NotFound:
            return self._too_late()
        return self._show(invitation)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Accept the invitation, or show why that is not possible."""
        try:
            invitation = self._opened()
            if request.POST.get("invitation") != str(invitation.pk):
                # Another link was opened in this browser in the meantime: people accept only what they saw.
                return self._show(invitation, status=409)
            if request.user.is_authenticated:
                return self._accept(invitation, request.user)
            return self._make_account(invitation)
        except NotFound:
            return self._too_late()

    def _accept(self, invitation: Invitation, user: User) -> HttpResponse:
        try:
            _invitations().accept(invitation.digest, by=user, via=Via.STUDIO)
        except Forbidden:
            return self._show(invitation, status=403)
        return self._done()

    def _make_account(self, invitation: Invitation) -> HttpResponse:
        form = NewPasswordForm(unsaved_account(invitation.username), self.request.POST)
        taken = account(invitation.username) is not None
        if taken or not sign_in.takes_passwords() or not form.is_valid():
            return self._show(invitation, form, status=400)
        password = form.cleaned_data["new_password1"]
        try:
            _invitations().accept_with_new_account(invitation.digest, password, via=Via.STUDIO)
        except (IdTaken, Invalid) as error:
            form.add_error(None, translated(error.message))
            return self._show(invitation, form, status=409)
        self.request.session.pop(OPENED, None)
        user = authenticate(self.request, username=invitation.username, password=password)
        home = reverse("studio:index")
        return HttpResponseRedirect(home) if user is None else sign_in.with_password(self.request, user, home)

    def _done(self) -> HttpResponse:
        self.request.session.pop(OPENED, None)
        return HttpResponseRedirect(reverse("studio:index"))

    def _opened(self) -> Invitation:
        return _invitations().find(self.request.session.get(OPENED, ""))

    def _show(
        self, invitation: Invitation, form: NewPasswordForm | None = None, *, status: int = 200
    ) -> HttpResponse:
        here = reverse("studio:versioning_workspace_accept")
        signed_in = self.request.user.get_username() if self.request.user.is_authenticated else ""
        return self._page(
            _("Welcome, %(person)s") % {"person": invitation.username},
            status=status,
            role=role_name(invitation.role),
            invitation=invitation,
            has_account=account(invitation.username) is not None,
            takes_passwords=sign_in.takes_passwords(),
            signed_in=signed_in,
            form=form or NewPasswordForm(unsaved_account(invitation.username)),
            sign_in_address=f"{reverse('studio:login')}?{urlencode({'next': here})}",
        )

    def _too_late(self) -> HttpResponse:
        return self._page(_("Too late"), status=404)

    def _page(self, title: str, *, status: int, **context: Any) -> HttpResponse:
        return framed(self.request, _TEMPLATE, title=title, status=status, **context)


def _invitations() -> Invitations:
    return get_editor().invitation


class SessionPage(StudioPage):
    """The signed-in account, its name, and the CSRF token for its forms."""

    http_method_names = ["get"]

    def get(self, request: HttpRequest) -> HttpResponse:
        """Answer in JSON: `{"person": 7, "name": "…", "token": "…"}`; without a session, redirect."""
        person = {"person": request.user.pk, "name": request.user.get_username()}
        return JsonResponse({**person, "token": get_token(request)})
