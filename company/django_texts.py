"""Texts of Django's pages about accounts that Django's German catalog leaves untranslated.

They are here only to be collected: the catalog of this application translates them.
"""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_noop

TEXTS: Final = (
    gettext_noop("Reset password"),
    gettext_noop("Set password"),
    gettext_noop("Set password: %s"),
    gettext_noop("Enabled"),
    gettext_noop("Disabled"),
    gettext_noop("Password-based authentication"),
    gettext_noop("Password-based authentication was disabled."),
    gettext_noop("Disable password-based authentication"),
    gettext_noop("Enable password-based authentication"),
    gettext_noop("Enable password-based authentication for this user by setting a password."),
    gettext_noop("This action will <strong>enable</strong> password-based authentication for this user."),
    gettext_noop(
        "Whether the user will be able to authenticate using a password or not. If disabled, they may still "
        "be able to authenticate using other backends, such as Single Sign-On or LDAP."
    ),
    gettext_noop("Raw passwords are not stored, so there is no way to see the user’s password."),
    gettext_noop("Conflicting form data submitted. Please try again."),
    gettext_noop("In case you’ve forgotten, you are:"),
)
