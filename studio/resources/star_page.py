"""Where a star is set or taken away."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse

from studio.error_pages import came_from
from studio.resources.base import ResourcePage


class StarPage(ResourcePage):
    """Where a star is set or taken away: a form without a page of its own."""

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Lead to the resource, for people who come here after signing in."""
        return self.go(self.address("change"))

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Set it with `starred=yes`, else take it away; answer a script, or lead back to the page."""
        change = (
            self.collection.favorite if request.POST.get("starred") == "yes" else self.collection.unfavorite
        )
        _, favorited = change(self.resource_id, by=self.caller)
        if request.headers.get("Accept") == "application/json":
            return JsonResponse({"starred": favorited.by_caller})
        return self.go(came_from(request) or self.address("change"))
