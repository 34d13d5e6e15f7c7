"""The application's configuration."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.apps.registry import Apps
from django.conf import settings
from django.core import checks
from django.db.models.signals import post_migrate

from versioning.conf import apply_defaults, check_api_prefix, check_sqlite, check_values, declared


class VersioningConfig(AppConfig):
    """Versions of agents and prompt blocks."""

    name = "versioning"
    verbose_name = "Editor"
    default_auto_field = "django.db.models.BigAutoField"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Before any `ready()`: a project's framework may be created in one of them.
        apply_defaults()

    def ready(self) -> None:
        """Check the settings, create the code's workspace, watch direct changes, and register the jobs."""
        from versioning.models import direct_changes  # noqa: PLC0415  the models are there only now

        direct_changes.connect()
        checks.register(check_api_prefix, checks.Tags.urls)
        checks.register(check_sqlite)
        apply_defaults(declared())
        checks.register(check_values)
        post_migrate.connect(make_code_workspace, sender=self)
        from versioning.worker import own_jobs  # noqa: PLC0415  it needs the models, which are ready by now

        own_jobs.register()


def make_code_workspace(*, apps: Apps = global_apps, **_signal: Any) -> None:
    """Create the workspace of code-defined agents if it is missing.

    `apps` has the models in the state of the migrations, whose tables may be older ones, or missing.
    """
    try:
        workspaces = apps.get_model("versioning", "Workspace")._default_manager
    except LookupError:
        return
    code_workspace = settings.EDITOR_CODE_WORKSPACE
    workspaces.get_or_create(id=code_workspace, defaults={"name": code_workspace.capitalize()})
