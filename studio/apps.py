"""The application's configuration."""

from importlib import import_module

from django.apps import AppConfig
from django.contrib.admin.apps import SimpleAdminConfig


class StudioConfig(AppConfig):
    """The pages where people draft, compare and publish."""

    name = "studio"


class StudioAdminConfig(SimpleAdminConfig):
    """Django's admin, with the studio in place of the site that it brings.

    No other application registers its models here: what they bring are pages that ask nobody
    for the rights of a workspace, and scripts that the studio does not run.
    """

    default_site = "studio.site.StudioSite"

    def ready(self) -> None:
        """Mount the pages."""
        super().ready()
        import_module("studio.admin")
