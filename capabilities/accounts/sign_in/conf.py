"""The settings of signing in."""

from __future__ import annotations

import datetime
from importlib.util import find_spec
from typing import Any, Final

from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from capabilities.accounts.sign_in import providers
from versioning.conf import DAYS, Setting, at_most, one_of, positive

PASSWORD: Final = "password"  # noqa: S105  a way of signing in
BOTH: Final = "both"
SSO: Final = "sso"
_DAYS_WITH_SSO: Final = 30


def takes_providers() -> bool:
    return str(settings.EDITOR_SIGN_IN) != PASSWORD


def takes_passwords() -> bool:
    return str(settings.EDITOR_SIGN_IN) != SSO


def takes_password_of(user: Any) -> bool:
    """Return whether a person can sign in with a password: with required single sign-on, only superusers."""
    return user.has_usable_password() and (takes_passwords() or user.is_superuser)


def idle() -> datetime.timedelta:
    """Return the seconds for which a session stays open without a request."""
    return datetime.timedelta(hours=settings.EDITOR_SESSION_IDLE)


def key_days() -> float | None:
    """Return the days without a sign-in of its owner after which a key is refused; None for never."""
    days: float | None = settings.EDITOR_KEYS_NEED_SIGN_IN_DAYS
    if days is None:
        return _DAYS_WITH_SSO if takes_providers() else None
    return days or None


def _check_oidc(name: str, _value: Any) -> None:
    if providers.providers() and find_spec("jwt") is None:
        raise ImproperlyConfigured(f"{name} needs the packages of editor-server[sso], and PyJWT is missing.")


def _check_sign_in(name: str, value: Any) -> None:
    one_of(PASSWORD, BOTH, SSO)(name, value)
    if value != PASSWORD and not providers.providers():
        raise ImproperlyConfigured(f"{name} is {value!r}, and EDITOR_OIDC names no provider.")


def _check_groups(name: str, _value: Any) -> None:
    for number, rule in enumerate(providers.group_rules()):
        if rule.provider not in providers.providers():
            raise ImproperlyConfigured(
                f"{name}[{number}].provider is {rule.provider!r}, which EDITOR_OIDC does not name."
            )


def _check_directory(name: str, value: Any) -> None:
    if value and value not in providers.providers():
        raise ImproperlyConfigured(f"{name} is {value!r}, which EDITOR_OIDC does not name.")


def check_directory(**_options: Any) -> list[checks.CheckMessage]:
    try:
        if not providers.providers() or providers.provider_of_directory() is not None:
            return []
    except ImproperlyConfigured:
        return []  # the check of EDITOR_OIDC reports the reason
    message = "EDITOR_OIDC names several providers, so none is linked to accounts that a directory makes."
    hint = "Set EDITOR_DIRECTORY_PROVIDER to the id of the provider that belongs to the directory."
    return [checks.Warning(message, hint=hint, id="company.W001")]


SETTINGS: Final = (
    Setting(
        "EDITOR_OIDC",
        "",
        "the providers for [single sign-on](../guides/single-sign-on.md), as JSON",
        "none",
        check=_check_oidc,
        error_id="company.E001",
    ),
    Setting(
        "EDITOR_SIGN_IN",
        PASSWORD,
        "how people sign in",
        check=_check_sign_in,
        error_id="company.E002",
    ),
    Setting(
        "EDITOR_SSO_SIGN_UP",
        "on",
        "whether the first sign-in through a provider makes an account",
        check=one_of("on", "off"),
        error_id="company.E003",
    ),
    Setting(
        "EDITOR_SSO_GROUPS",
        "",
        "which groups of a provider have [which roles](../guides/single-sign-on.md#map-groups-to-roles), "
        "as JSON",
        "none",
        check=_check_groups,
        error_id="company.E004",
    ),
    Setting(
        "EDITOR_DIRECTORY_PROVIDER",
        "",
        "the id of the provider whose subjects are the external ids of the "
        "[directory](../guides/connect-a-directory.md)",
        "the only one",
        check=_check_directory,
        error_id="company.E007",
    ),
    Setting(
        "EDITOR_KEYS_NEED_SIGN_IN_DAYS",
        None,
        "after how many days without a sign-in of their owner API keys are refused",
        "off; `30` with single sign-on",
        kind=float,
        check=lambda name, value: None if value is None else at_most(DAYS)(name, value),
        error_id="company.E005",
    ),
    Setting(
        "EDITOR_REQUIRE_MFA",
        default=False,
        meaning="whether people who sign in with a password need a "
        "[second factor](../guides/second-factor.md)",
        shown="off",
    ),
    Setting(
        "EDITOR_SESSION_IDLE",
        336.0,
        "after how many hours without a request a session ends",
        check=at_most(DAYS * 24, positive),
        error_id="company.E006",
    ),
)
