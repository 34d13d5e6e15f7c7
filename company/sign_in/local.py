"""The door for superusers with passwords, where everybody else signs in through a provider."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _

from company.sign_in.conf import takes_passwords
from studio.accounts.login_page import LoginPage


def local_login(request: HttpRequest) -> HttpResponseBase:
    """Show the form for superusers; where passwords are taken anyway, go to the usual page."""
    if takes_passwords():
        return HttpResponseRedirect(reverse("studio:login"))
    return LoginPage.shown(request, title=_("Sign in as a superuser"), for_superusers=True)
