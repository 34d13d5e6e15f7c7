"""The project as a Django application: its commands, and the checks of its environment."""

from __future__ import annotations

from versioning.capabilities import EditorApp


class ProjectConfig(EditorApp):
    """The deployment: processes and their environment, independent of capabilities."""

    name = "editor_project"
    verbose_name = "Deployment"
    settings = "editor_project.conf.SETTINGS"
    runs = "editor_project.metrics.observe_run"
    system_checks = [
        "editor_project.environment.check_names",
        "editor_project.conf.check_prefix",
        "editor_project.traces.check",
    ]
