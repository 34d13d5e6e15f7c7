"""The application's configuration."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class StudioConfig(AppConfig):
    """The pages where people draft, compare and publish."""

    name = "studio"

    def ready(self) -> None:
        """Let examples go with the resources that they belong to."""
        import_module("studio.examples.stored").follow_deletions()
