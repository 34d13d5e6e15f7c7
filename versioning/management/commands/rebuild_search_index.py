"""Rebuild the index for searching."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from versioning.models import text_search


class Command(BaseCommand):
    """`manage.py rebuild_search_index`."""

    help = "Rebuild the search index from the stored versions."
    requires_system_checks = ()  # they would load the framework, which the index does not need

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Rebuild it; the service may keep running."""
        documents = text_search.rebuild()
        self.stdout.write(f"The search index has {documents} versions.")
