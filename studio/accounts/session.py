"""The signed-in account, which an open page checks before it sends a form (`sending.js`)."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token

from studio.views import StudioPage


class SessionPage(StudioPage):
    """The signed-in account, its name, and the CSRF token for its forms."""

    http_method_names = ["get"]

    def get(self, request: HttpRequest) -> HttpResponse:
        """Answer in JSON: `{"person": 7, "name": "…", "token": "…"}`; without a session, redirect."""
        person = {"person": request.user.pk, "name": request.user.get_username()}
        return JsonResponse({**person, "token": get_token(request)})
