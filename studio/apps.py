"""The application's configuration."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class StudioConfig(AppConfig):
    """The pages where people draft, compare and publish."""

    name = "studio"


class StudioAdminConfig(AdminConfig):
    """Django's admin, with the studio in place of the site that it brings."""

    default_site = "studio.site.StudioSite"
