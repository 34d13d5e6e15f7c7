"""The home page: what needs me, and what happened."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from studio.pages import StudioPage


class HomePage(StudioPage):
    """Where everybody starts."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show it."""
        return self.page("studio/home.html", title="Home")
