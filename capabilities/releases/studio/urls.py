"""The URLs of the pages about releases, below that of a workspace."""

from __future__ import annotations

from django.urls import path

from capabilities.releases.studio.detail import ReleasePage
from capabilities.releases.studio.listing import NewReleasePage, ReleasesPage

urlpatterns = [
    path("releases/", ReleasesPage.as_view(), name="versioning_workspace_releases"),
    path("releases/add/", NewReleasePage.as_view(), name="versioning_workspace_new_release"),
    path("releases/<str:release>/", ReleasePage.as_view(), name="versioning_workspace_release"),
]
