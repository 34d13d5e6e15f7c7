"""The application's additions to the studio."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from capabilities.accounts.sign_in import account, sessions, single_sign_on
from capabilities.accounts.sign_in.conf import takes_password_of, takes_passwords
from capabilities.accounts.sign_in.factors.pages import further_step
from studio.extensions import Extension, WorkspaceTab
from studio.navigation import MainPage
from studio.sign_in_methods import SignInExtension

STUDIO: Final = Extension(
    own_urls="capabilities.accounts.sign_in.urls",
    urls="capabilities.accounts.administration.urls",
    tabs=[WorkspaceTab(page="service_accounts", title=_("Service accounts"), place=1, is_setting=True)],
    account_pages=[MainPage(page="account", title=_("Your account"))],
    sign_in=SignInExtension(
        takes_passwords=takes_passwords,
        takes_password_of=takes_password_of,
        ends_sessions=sessions.end_all,
        ways=single_sign_on.ways,
        further_step=further_step,
        asks_again=account.ask_again,
    ),
)
