"""The application's configuration."""

from __future__ import annotations

from typing import Any

from django.apps import apps as global_apps
from django.apps.registry import Apps
from django.conf import settings
from django.db.models.signals import post_migrate

from versioning.capabilities import EditorApp
from versioning.conf import SETTINGS, apply_default


class VersioningConfig(EditorApp):
    name = "versioning"
    verbose_name = "Editor"
    settings = "versioning.conf.SETTINGS"
    follows = "versioning.models.followers.RECORDED_DELETIONS"
    personal_data = "versioning.models.personal_data.OF_THE_CORE"
    jobs = "versioning.worker.housekeeping.JOBS"
    system_checks = (
        "versioning.conf.check_api_prefix",
        "versioning.conf.check_sqlite",
        "versioning.conf.check_values",
        "versioning.models.accounts.check_user_model",
        "versioning.models.kind_checks.check_kinds",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Runs before every `ready()`, one of which may create a project's framework.
        for setting in SETTINGS:
            apply_default(setting)

    def ready(self) -> None:
        """Load declarations, watch direct changes, and create the code's workspace after migrations."""
        super().ready()
        from versioning.models import direct_changes, text_keys  # noqa: PLC0415  the models are there only now

        text_keys.connect()
        direct_changes.connect()
        post_migrate.connect(make_code_workspace, sender=self)


def make_code_workspace(*, apps: Apps = global_apps, **_signal: Any) -> None:
    """Create the workspace of code-defined agents if it is missing.

    `apps` has the models as of the migrations; their tables may be older or missing.
    """
    try:
        workspaces = apps.get_model("versioning", "Workspace")._default_manager
    except LookupError:
        return
    code_workspace = settings.EDITOR_CODE_WORKSPACE
    workspaces.get_or_create(id=code_workspace, defaults={"name": code_workspace.capitalize()})
