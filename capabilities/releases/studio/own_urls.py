"""The URLs of the releases of all workspaces, and those that receive chosen resources of any."""

from __future__ import annotations

from django.urls import path

from capabilities.releases.studio.adding import AddPage
from capabilities.releases.studio.listing import ReleasesPage
from capabilities.releases.studio.publish_many import PublishTogetherPage

urlpatterns = [
    path("releases/", ReleasesPage.as_view(), name="releases"),
    path("releases/add/", AddPage.as_view(), name="add_to_release"),
    path("releases/publish/", PublishTogetherPage.as_view(), name="publish_together"),
]
