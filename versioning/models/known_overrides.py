"""What the log has recorded about override files: their state when last read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models

if TYPE_CHECKING:
    from versioning.domain.snapshots import Snapshot


class KnownOverrideQuerySet(models.QuerySet["KnownOverride"]):
    """The known state of override files."""

    def note(self, agent_id: str, digest: str, version: Snapshot | None) -> None:
        """Record the current or coming content of an agent's file, so that the worker reports no change.

        Call it in the transaction that changes the file, before the file is changed: the row is locked from
        then on, so the worker waits for the end of the transaction. The digest is that of the file's
        configuration, empty if nothing is published.
        """
        version_id = version.version_id if version else ""
        self.update_or_create(agent_id=agent_id, defaults={"digest": digest, "version_id": version_id})


class KnownOverride(models.Model):
    """The override of a code-defined agent, as last recorded in the log."""

    agent_id = models.CharField(primary_key=True, max_length=200)
    digest = models.CharField(max_length=64, blank=True)
    """The digest of the published configuration; empty if there is none."""
    version_id = models.CharField(max_length=80, blank=True)

    objects = KnownOverrideQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.agent_id}: {self.version_id or 'not published'}"
