"""The application's configuration."""

from django.apps import AppConfig


class StudioConfig(AppConfig):
    """The pages where people draft, compare and publish."""

    name = "studio"
