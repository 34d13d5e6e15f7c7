"""Run a worker, with metrics if enabled."""

from __future__ import annotations

from typing import Any

from editor_project import metrics, traces
from editor_project.server import exporter
from versioning.management.commands import work


class Command(work.Command):
    """Replaces the editor's own command, as commands of earlier applications do."""

    def handle(self, *args: Any, once: bool, **options: Any) -> None:
        """Work until SIGTERM or SIGINT, or once."""
        if once:
            super().handle(*args, once=once, **options)
            return
        with exporter.serve_metrics():
            metrics.enable()
            traces.enable()
            super().handle(*args, once=once, **options)
