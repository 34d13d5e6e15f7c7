"""The additions of an application to signing in; `studio.sign_in` combines all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse

from studio.navigation import Link


@dataclass(frozen=True, kw_only=True)
class SignInExtension:
    """An application's additions to signing in (`Extension.sign_in`)."""

    takes_passwords: Callable[[], bool] = lambda: True
    """Whether the page for signing in has the form for passwords, and new accounts choose one."""
    ways: Callable[[str], Sequence[Link]] = lambda _next: ()
    """Returns links to other ways of signing in that lead to an address of the studio afterwards."""
    further_step: Callable[[HttpRequest, Any, str], HttpResponse | None] = lambda _request, _user, _next: None
    """Returns the answer with a further step after the right password, or None."""
    takes_password_of: Callable[[Any], bool] = lambda _user: True
    """Whether a person who has a password may sign in with it."""
    forgotten_password: Callable[[], str] = lambda: ""
    """Returns the address for people who have forgotten their password; empty if there is none."""
    ends_sessions: Callable[[Any], object] = lambda _user: None
    """Ends all sessions of a person who has set a new password without being signed in."""
    asks_again: Callable[[HttpRequest], HttpResponse | None] = lambda _request: None
    """Returns the answer that asks a signed-in person for the password again, or None if entered recently."""
