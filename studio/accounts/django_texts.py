"""Texts of Django's pages about accounts that its German catalog lacks, or words differently.

They are here only to be collected. The catalog of the studio translates them: it precedes those of Django's
applications, as the studio does among the installed ones.
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
    # Words: “Konto” for a user, “Superuser”, “Speichern”.
    gettext_noop("Authentication and Authorization"),
    gettext_noop("user"),
    gettext_noop("users"),
    gettext_noop("User"),
    gettext_noop("superuser status"),
    gettext_noop("Designates that this user has all permissions without explicitly assigning them."),
    gettext_noop(
        "Designates whether this user should be treated as active. "
        "Unselect this instead of deleting accounts."
    ),
    gettext_noop("This account is inactive."),
    gettext_noop("Enter a new password for the user <strong>%(username)s</strong>."),
    gettext_noop("Enter the same password as before, for verification."),
    gettext_noop("The two password fields didn’t match."),
    gettext_noop("This password is entirely numeric."),
    gettext_noop("Save and continue editing"),
    gettext_noop("Save and add another"),
    gettext_noop("Save as new"),
    gettext_noop("Save and view"),
    gettext_noop("Change history: %s"),
    gettext_noop("This object doesn’t have a change history. It probably wasn’t added via this admin site."),
)
