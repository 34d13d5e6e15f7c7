"""The application's configuration."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType

from django.apps import AppConfig, apps


class ReleasesConfig(AppConfig):
    """Publishing several resources together."""

    name = "releases"
    verbose_name = "Releases"
    default_auto_field = "django.db.models.BigAutoField"
    api_urls = "releases.api_urls"
    """The routes that it adds to the API."""
    editor_attributes = MappingProxyType({"releases": "releases.verbs.Releases"})
    """What it adds to the Python interface."""

    def ready(self) -> None:
        """Answer for the selector `release`, keep the versions that open releases hold, add pages."""
        # Not at the top: they need the models.
        import_module("releases.selecting").register()
        if apps.is_installed("studio"):
            import_module("releases.studio.extension").register()
