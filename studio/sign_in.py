"""The additions of applications to signing in, and its end: a session."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from studio import extensions
from studio.error_pages import own_address
from studio.navigation import Link
from studio.sign_in_methods import SignInExtension

METHOD = "sign_in_method"
"""The attribute of a request with the method of its sign-in."""


def collect() -> list[SignInExtension]:
    return [extension.sign_in for extension in extensions.REGISTERED if extension.sign_in is not None]


def takes_passwords() -> bool:
    return all(addition.takes_passwords() for addition in collect())


def takes_password_of(user: Any) -> bool:
    return user.has_usable_password() and all(addition.takes_password_of(user) for addition in collect())


def forgotten_password() -> str:
    """Return the address for people who have forgotten their password; empty if there is none."""
    return next(filter(None, (addition.forgotten_password() for addition in collect())), "")


def end_sessions(user: Any) -> None:
    for addition in collect():
        addition.ends_sessions(user)


def ways(next_url: str) -> list[Link]:
    return [way for addition in collect() for way in addition.ways(next_url)]


def ask_again(request: HttpRequest) -> HttpResponse | None:
    """Return the answer that asks for the password again before a sensitive action, or None."""
    return next(filter(None, (addition.asks_again(request) for addition in collect())), None)


def with_password(request: HttpRequest, user: Any, next_url: str) -> HttpResponse:
    """Sign in a person whose password was right, unless an application requires a further step."""
    further = next(
        filter(None, (addition.further_step(request, user, next_url) for addition in collect())), None
    )
    return further or open_session(request, user, next_url, method="password")


def open_session(request: HttpRequest, user: Any, next_url: str, *, method: str) -> HttpResponse:
    setattr(request, METHOD, method)
    login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
    return HttpResponseRedirect(own_address(next_url, reverse("studio:index")))
