"""The URLs that receive chosen resources, of any workspace."""

from __future__ import annotations

from django.urls import path

from releases.studio.adding import AddPage
from releases.studio.publish_many import PublishTogetherPage

urlpatterns = [
    path("releases/add/", AddPage.as_view(), name="add_to_release"),
    path("releases/publish/", PublishTogetherPage.as_view(), name="publish_together"),
]
