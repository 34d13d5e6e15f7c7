"""The edit page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from studio.pages import ResourcePage


class EditPage(ResourcePage):
    """What is saved last, in fields."""

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Show it."""
        return self.page("studio/base_page.html", title=self.summary.name)
