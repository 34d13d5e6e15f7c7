"""Sets or removes a star."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse

from studio.error_pages import came_from
from studio.resources.base import ResourcePage


class StarPage(ResourcePage):
    """Sets or removes a star: a form without its own page."""

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Redirect to the resource, for people who come here after signing in."""
        return self.go(self.address("change"))

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Set it with `starred=yes`, otherwise remove it; answer a script, or redirect to the page."""
        change = (
            self.collection.favorite if request.POST.get("starred") == "yes" else self.collection.unfavorite
        )
        _, favorited = change(self.resource_id, by=self.caller)
        if request.headers.get("Accept") == "application/json":
            return JsonResponse({"starred": favorited.by_caller})
        return self.go(came_from(request) or self.address("change"))
