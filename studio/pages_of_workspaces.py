"""The pages about workspaces, and their places below `/studio/versioning/workspace/`. One entry a page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from studio.pages import MountedPage, StudioPage


class WorkspacesPage(StudioPage):
    """The workspaces that the caller may see."""

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show them."""
        return self.page("studio/base_page.html", title="Workspaces")


WORKSPACE_PAGES: tuple[MountedPage, ...] = (MountedPage(name="changelist", path="", view=WorkspacesPage),)
