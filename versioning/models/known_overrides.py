"""What the log has said of override files: what was published when it was last looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models

if TYPE_CHECKING:
    from versioning.domain.snapshots import Snapshot


class KnownOverrideQuerySet(models.QuerySet["KnownOverride"]):
    """The known state of override files."""

    def note(self, agent_id: str, digest: str, version: Snapshot | None) -> None:
        """Take note of what the file of an agent holds, or is about to: nobody has to notice it any more.

        To be called in the transaction that changes the file, before the file is changed: the row is locked
        from then on, and whoever looks for changes waits for the end of the transaction. The digest is that
        of the file's configuration, empty when nothing is published.
        """
        version_id = version.version_id if version else ""
        self.update_or_create(agent_id=agent_id, defaults={"digest": digest, "version_id": version_id})


class KnownOverride(models.Model):
    """The override of an agent that code defines, as the log knows it."""

    agent_id = models.CharField(primary_key=True, max_length=200)
    digest = models.CharField(max_length=64, blank=True)
    """Of the configuration that is published; empty when none is."""
    version_id = models.CharField(max_length=80, blank=True)

    objects = KnownOverrideQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.agent_id}: {self.version_id or 'not published'}"
