"""Delete old versions of every resource."""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Count

from versioning.conf import get_editor
from versioning.domain.access import COMMAND
from versioning.domain.errors import NotFound
from versioning.domain.kinds import KINDS
from versioning.editor import Collection


class Command(BaseCommand):
    """Keeps the newest versions, and every published, latest or labelled one."""

    help = "Delete the old versions of each resource beyond EDITOR_KEEP_VERSIONS."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--keep", type=int, help="number of versions to keep of each (default EDITOR_KEEP_VERSIONS)"
        )

    def handle(self, *_args: Any, keep: int | None, **_options: Any) -> None:
        """Prune every resource that has more versions than that."""
        keep = settings.EDITOR_KEEP_VERSIONS if keep is None else keep
        if keep < 0:
            raise CommandError("--keep must not be negative")
        if keep == 0:
            self.stdout.write("Nothing to do: EDITOR_KEEP_VERSIONS is not set, all versions are kept.")
            return
        editor = get_editor()
        removed = sum(self._prune(editor.collection(kind), keep) for kind in KINDS)
        self.stdout.write(f"Removed {removed} versions.")

    def _prune(self, collection: Collection[Any], keep: int) -> int:
        long_ones = collection.all.alias(length=Count("versions")).filter(length__gt=keep)
        removed = 0
        for resource_id in long_ones.order_by("pk").values_list("pk", flat=True):
            with suppress(NotFound):  # deleted in the meantime
                removed += collection.prune(resource_id, keep, by=COMMAND)
        return removed
