"""Receives the fields of a context: to preview in it, and to save it as an example."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse

from studio.examples.changes import change_examples
from studio.examples.stored import Examples
from studio.preview.views import PreviewPage


class ContextPage(PreviewPage):
    """The preview page for a posted form; for scripts, parts of the page and the context as JSON."""

    def get(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Return the context of the example that the address names, as JSON, or go to the preview."""
        if "example" not in request.GET:
            return self.go(self.address("preview"))
        example = Examples.of(self.kind, self.resource_id, self.resource, self.caller).get(
            request.GET.get("example", "")
        )
        return JsonResponse({"name": example.name, "context": example.context})

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Perform the button's action, and show the saved version in the posted context."""
        form = self.saved_form().take(request.POST)
        status = change_examples(form, request.POST.get("do", ""))
        return self.preview_page(form, status=status)
