"""The subjects for which attempts to sign in are counted, so that passwords cannot be guessed.

Wrong passwords count for the account and for the client's address. A browser that has signed in to the
account before is counted separately; otherwise anyone who knows a user name could lock its owner out with
wrong passwords.
"""

from __future__ import annotations

import ipaddress
import secrets
from typing import Final

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from versioning.models.sign_in_attempts import subject

BROWSER_COOKIE: Final = "editor_browser"
_SALT: Final = "studio.signing_in"  # never changed: existing cookies would become invalid
_COOKIE_AGE: Final = 180 * 24 * 60 * 60
_IPV6_NETWORK: Final = 64  # bits; the smallest network that a provider gives a customer


def remember_browser(request: HttpRequest, response: HttpResponse, user: AbstractBaseUser) -> None:
    """Set the cookie that identifies this browser for the account next time."""
    response.set_cookie(
        BROWSER_COOKIE,
        signing.dumps([_account_subject(user.get_username()), secrets.token_hex(8)], salt=_SALT),
        max_age=_COOKIE_AGE,
        path=reverse("studio:login"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def client_address(request: HttpRequest) -> str | None:
    """Return the address of the client (for IPv6 the network); None if it is uncertain.

    Clients can send any headers, so only the header named by `EDITOR_CLIENT_ADDRESS_HEADER` is used, and of
    several addresses in it the last one, which the proxy itself added. Behind a proxy without such a header
    all clients would have the proxy's address, so None is returned.
    """
    header = settings.EDITOR_CLIENT_ADDRESS_HEADER
    if header:
        text = request.headers.get(header, "").rpartition(",")[2].strip()
    elif settings.EDITOR_HTTPS:
        return None
    else:
        text = request.META.get("REMOTE_ADDR", "")
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return str(ipaddress.ip_network((address, _IPV6_NETWORK), strict=False))
        address = address.ipv4_mapped
    return str(address)


def subjects_of(request: HttpRequest, name: str) -> list[str]:
    """Return the subjects of an attempt; the first one is reset when the password is right."""
    own = _account_subject(name)
    browser = _known_browser(request, own)
    if browser is not None:
        return [browser]
    address = client_address(request)
    return [own, subject("address", address)] if address else [own]


def _known_browser(request: HttpRequest, account_subject: str) -> str | None:
    """Return the subject for the browser if it has signed in to this account before."""
    try:
        known, browser = signing.loads(
            request.COOKIES.get(BROWSER_COOKIE, ""), salt=_SALT, max_age=_COOKIE_AGE
        )
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return subject("browser", f"{known} {browser}") if known == account_subject else None


def _account_subject(name: str) -> str:
    return subject("account", get_user_model().normalize_username(name))
