"""The settings of mail: the server, the sender, and the base of its links.

A project that sends mail already has set Django's `EMAIL_BACKEND`: the editor then sends through it.
"""

from __future__ import annotations

from email.utils import parseaddr
from typing import Any, Final
from urllib.parse import urlsplit

import environ
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.mail import get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.core.validators import validate_email
from django.urls import get_script_prefix

from versioning.conf import Setting, written_as

TIMEOUT: Final = 15.0
"""The maximum seconds of the mail server for each answer."""
_SECURE_PORTS: Final = {"smtp+tls": 587, "smtps": 587, "smtp+ssl": 465}
_NEED_A_HOST: Final = frozenset({"smtp", *_SECURE_PORTS})


def is_on() -> bool:
    """Return whether this installation sends mail."""
    # With a project's own backend, links also need the public address.
    has_own_backend = bool(settings.EDITOR_PUBLIC_URL) and settings.is_overridden("EMAIL_BACKEND")
    return bool(settings.EMAIL_URL) or has_own_backend


def public_address(path: str) -> str:
    """Return the public address of a page.

    The public address already contains the path under which the service is mounted, which is unknown in a
    worker.
    """
    return (
        f"{str(settings.EDITOR_PUBLIC_URL).rstrip('/')}/{path.removeprefix(get_script_prefix()).lstrip('/')}"
    )


def public_host() -> str:
    """Return the host of the public address."""
    return urlsplit(settings.EDITOR_PUBLIC_URL).hostname or "localhost"


def sender() -> str:
    """Return the sender of all mail."""
    if settings.EDITOR_MAIL_FROM:
        return str(settings.EDITOR_MAIL_FROM)
    if not settings.EMAIL_URL and settings.is_overridden("DEFAULT_FROM_EMAIL"):
        return settings.DEFAULT_FROM_EMAIL
    return f"editor@{public_host()}"


def connection() -> BaseEmailBackend:
    """Return a connection to the mail server, which is not open yet."""
    return _connect(settings.EMAIL_URL) if settings.EMAIL_URL else get_connection()


def _connect(url: str) -> BaseEmailBackend:
    """Return the connection for a URL as django-environ reads it; raises `ImproperlyConfigured`."""
    scheme = url.partition(":")[0]
    try:
        config = environ.Env.email_url_config(url) if scheme in environ.Env.EMAIL_SCHEMES else {}
    except ValueError:  # such as an invalid port; the error might contain the password
        config = {}
    if not config or "?" in url or (scheme in _NEED_A_HOST and not config["EMAIL_HOST"]):
        raise ImproperlyConfigured(
            "EMAIL_URL is not the URL of a mail server: write smtp+tls://user:password@host:587, "
            "smtp+ssl://… or "
            f"smtp://…, and not {scheme[:10]}://…, or leave it empty."
        )
    if config["EMAIL_BACKEND"].endswith("filebased.EmailBackend"):
        return get_connection(config["EMAIL_BACKEND"], file_path=config["EMAIL_FILE_PATH"])
    return get_connection(
        config["EMAIL_BACKEND"],
        host=config["EMAIL_HOST"],
        port=config["EMAIL_PORT"] or _SECURE_PORTS.get(scheme, 25),
        username=config["EMAIL_HOST_USER"] or "",
        password=config["EMAIL_HOST_PASSWORD"] or "",
        use_tls=bool(config.get("EMAIL_USE_TLS")),
        use_ssl=bool(config.get("EMAIL_USE_SSL")),
        timeout=TIMEOUT,
    )


def _check_url(name: str, value: str) -> None:
    if not value:
        return
    _connect(value)
    if not settings.EDITOR_PUBLIC_URL:
        raise ImproperlyConfigured(
            f"{name} is set, and EDITOR_PUBLIC_URL is not: mail needs it, because its links begin with it."
        )


def _check_sender(name: str, value: Any) -> None:
    if not value:
        return
    try:
        validate_email(parseaddr(value)[1])
        is_valid = value.isprintable()
    except ValidationError:
        is_valid = False
    if not is_valid:
        raise ImproperlyConfigured(f"{name} has to be a mail address, not {value!r}.")


def _check_public_address(name: str, value: str) -> None:
    check = written_as(r"https?://[^\s/?#@]+(/[^\s?#]*)?", "an address such as https://editor.example.com")
    check(name, value)
    try:
        is_valid = not value or (urlsplit(value).port != 0 and bool(urlsplit(value).hostname))
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ImproperlyConfigured(f"{name} has no host, or a port that does not exist: {value!r}.")


SETTINGS: Final = (
    Setting(
        "EMAIL_URL",
        "",
        "the server that takes [mail](../guides/send-mail.md)",
        "off",
        check=_check_url,
        error_id="mail.E001",
    ),
    Setting(
        "EDITOR_PUBLIC_URL",
        "",
        "the address at which people reach the editor",
        "none",
        check=_check_public_address,
        error_id="mail.E002",
    ),
    Setting(
        "EDITOR_MAIL_FROM",
        "",
        "the sender of mail",
        "`editor@` and the host of `EDITOR_PUBLIC_URL`",
        check=_check_sender,
        error_id="mail.E003",
    ),
)
