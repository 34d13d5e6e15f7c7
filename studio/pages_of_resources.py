"""The pages about one resource, and their places below its address. One entry a page."""

from __future__ import annotations

from studio.editing import EditPage
from studio.pages import MountedPage

RESOURCE_PAGES: tuple[MountedPage, ...] = (
    MountedPage(name="change", path="<str:resource>/change/", view=EditPage),
)
