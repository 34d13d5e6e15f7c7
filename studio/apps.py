"""The application's configuration."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig


class StudioConfig(AppConfig):
    """The pages where people draft, compare and publish."""

    name = "studio"

    def ready(self) -> None:
        """Let examples go with the resources that they belong to."""
        import_module("studio.examples.stored").follow_deletions()


class StudioAdminConfig(SimpleAdminConfig):
    """Django's admin, with the studio in place of its site.

    `autodiscover` stays off and nothing is registered: the pages that other applications bring check no
    rights of a workspace, and run scripts that the studio's policy forbids.
    """

    default_site = "studio.site.StudioSite"
