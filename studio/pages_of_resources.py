"""The pages about one resource, and their places below its address. One entry a page."""

from __future__ import annotations

from studio.choices import ChoicesPage
from studio.comparing import ComparePage
from studio.confirming import DeletePage, DiscardPage, UnpublishPage, UsagePage, VisibilityPage
from studio.converting import ConvertPage
from studio.downloading import DownloadPage
from studio.editing import EditPage
from studio.history import DeleteVersionPage, HistoryPage, LabelsPage, RestorePage, VersionPage
from studio.pages import MountedPage
from studio.previewing import PreviewPage
from studio.publishing import PublishPage
from studio.trying import TryPage

RESOURCE_PAGES: tuple[MountedPage, ...] = (
    MountedPage(name="usage", path="<str:resource>/usage/", view=UsagePage),
    MountedPage(name="unpublish", path="<str:resource>/unpublish/", view=UnpublishPage),
    MountedPage(name="discard", path="<str:resource>/discard/", view=DiscardPage),
    MountedPage(name="visibility", path="<str:resource>/visibility/", view=VisibilityPage),
    MountedPage(name="delete", path="<str:resource>/delete/", view=DeletePage),
    MountedPage(name="change", path="<str:resource>/change/", view=EditPage),
    MountedPage(name="convert", path="<str:resource>/convert/", view=ConvertPage),
    MountedPage(name="choices", path="<str:resource>/choices/", view=ChoicesPage),
    MountedPage(name="preview", path="<str:resource>/preview/", view=PreviewPage),
    MountedPage(name="history", path="<str:resource>/history/", view=HistoryPage),
    MountedPage(name="compare", path="<str:resource>/compare/", view=ComparePage),
    MountedPage(name="publish", path="<str:resource>/publish/", view=PublishPage),
    MountedPage(name="version", path="<str:resource>/versions/<str:version>/", view=VersionPage),
    MountedPage(name="restore", path="<str:resource>/versions/<str:version>/restore/", view=RestorePage),
    MountedPage(name="download", path="<str:resource>/versions/<str:version>/download/", view=DownloadPage),
    MountedPage(name="labels", path="<str:resource>/versions/<str:version>/labels/", view=LabelsPage),
    MountedPage(
        name="version_delete", path="<str:resource>/versions/<str:version>/delete/", view=DeleteVersionPage
    ),
    MountedPage(name="try", path="<str:resource>/try/", view=TryPage),
)
