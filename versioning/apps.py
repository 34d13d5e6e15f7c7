"""The application's configuration."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.db.models.signals import post_migrate


class VersioningConfig(AppConfig):
    """Versions of agents and prompt blocks."""

    name = "versioning"
    verbose_name = "Editor"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Make the workspace of the code-defined agents with the tables."""
        post_migrate.connect(make_code_workspace, sender=self)


def make_code_workspace(**_signal: Any) -> None:
    """Make the workspace that owns code-defined agents, when it is missing."""
    code_workspace = settings.EDITOR_CODE_WORKSPACE
    workspaces = apps.get_model("versioning", "Workspace")._default_manager
    workspaces.get_or_create(id=code_workspace, defaults={"name": code_workspace.capitalize()})
