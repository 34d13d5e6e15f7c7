"""Downloading a version as an override file."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from editor_client.shared import canonical, ids

from studio.resources.base import ResourcePage
from versioning.domain.selectors import Selector


class DownloadPage(ResourcePage):
    """Sends the exact bytes that an export, or a pull request, would contain."""

    def get(self, request: HttpRequest, resource: str, version: str) -> HttpResponse:
        """Send the file of one version."""
        selected = Selector(version_id=version)
        config = self.collection.export(self.resource_id, selector=selected, by=self.caller)
        return HttpResponse(
            canonical.file_text(config),
            content_type="application/json",
            headers={"Content-Disposition": f'attachment; filename="{ids.encode(self.resource_id)}.json"'},
        )
