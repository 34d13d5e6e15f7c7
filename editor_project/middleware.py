"""Django's middleware about people, skipped by API requests with a key.

Such a request has no session and no signed-in person, and browsers never send it automatically.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.deprecation import MiddlewareMixin

from versioning.serving.followed_keys import bearer_key

_API: Final = f"/{settings.EDITOR_API_PREFIX}/"
_HAS_KEY: Final = "has_api_key"


class _AboutPeople(MiddlewareMixin):
    """Skips the wrapped middleware for requests with a key."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        return self.get_response(request) if has_key(request) else super().__call__(request)


class Sessions(_AboutPeople, SessionMiddleware):
    """Sessions."""


class Csrf(_AboutPeople, CsrfViewMiddleware):
    """Protection against forged requests, which rely on cookies that browsers send automatically."""

    def process_view(self, request: HttpRequest, *view: Any) -> Any:
        return None if has_key(request) else super().process_view(request, *view)


class Authentication(_AboutPeople, AuthenticationMiddleware):
    """The signed-in person."""


class Messages(_AboutPeople, MessageMiddleware):
    """Messages on the next page."""


def has_key(request: HttpRequest) -> bool:
    cached: bool | None = getattr(request, _HAS_KEY, None)
    if cached is None:
        is_api = request.path_info.startswith(_API)
        cached = is_api and bearer_key(request.META.get("HTTP_AUTHORIZATION", "")) is not None
        setattr(request, _HAS_KEY, cached)
    return cached
