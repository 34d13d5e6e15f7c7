"""The tables of the log: the entries, and the row that issues their positions."""

from __future__ import annotations

import secrets
import uuid
from typing import TYPE_CHECKING, Final

from django.db import connection, models, transaction

from versioning.domain import telemetry
from versioning.domain.access import Via
from versioning.domain.events import MAX_LENGTH, Audience, Reach
from versioning.models.guarded import Guarded, GuardedQuerySet


def new_epoch() -> str:
    return secrets.token_hex(8)


class EventQuerySet(GuardedQuerySet["Event"]):
    """Entries can only be recorded and read: `record` gives them positions, `prune` deletes the oldest."""


class Event(Guarded):
    """A change. Names are stored as text, because they outlive the objects."""

    refusal = "entries of the log never change, and only pruning.prune() removes them"

    uuid = models.UUIDField(default=uuid.uuid4)
    position = models.BigIntegerField()
    ordinal = models.PositiveIntegerField(default=0)
    """Orders entries with the same position: events of one release, and agents that show a block."""
    type = models.CharField(max_length=MAX_LENGTH)
    created_at = models.DateTimeField()
    workspace_id = models.CharField(max_length=200, blank=True)
    resource_kind = models.CharField(max_length=32, blank=True)
    resource_id = models.CharField(max_length=200, blank=True)
    resource_uuid = models.UUIDField(null=True)
    version_id = models.CharField(max_length=80, blank=True)
    version_number = models.PositiveIntegerField(null=True)
    previous_version_id = models.CharField(max_length=80, blank=True)
    label = models.CharField(max_length=64, blank=True)
    actor = models.TextField(blank=True)
    via = models.CharField(max_length=16, choices=[(via.value, via.value) for via in Via])
    key_prefix = models.CharField(max_length=16, blank=True)
    detail = models.JSONField(default=dict)
    audience = models.CharField(
        max_length=16, choices=[(audience.value, audience.value) for audience in Audience]
    )
    reach = models.PositiveSmallIntegerField(default=Reach.EDITORS.value)
    """The readers of the resource until the event: `versioning.domain.events.Reach`."""
    hidden_from = models.CharField(max_length=200, blank=True)
    """The workspace whose members do not see this entry, because they see the entry about their block
    instead. Only set on entries that inform an agent's readers about a block."""

    trace = models.CharField(max_length=telemetry.MAX_LENGTH, null=True)  # noqa: DJ001  the log is not rewritten
    """The `traceparent` of the change, for its follow-up work; null without traces."""

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ["position", "ordinal"]
        constraints = [
            models.UniqueConstraint(name="event_position_unique", fields=["position", "ordinal"]),
            models.CheckConstraint(
                name="event_via_known", condition=models.Q(via__in=[via.value for via in Via])
            ),
            models.CheckConstraint(
                name="event_audience_known",
                condition=models.Q(audience__in=[audience.value for audience in Audience]),
            ),
        ]
        indexes = [
            models.Index(name="event_of_workspace", fields=["workspace_id", "position"]),
            models.Index(name="event_of_resource", fields=["resource_id", "position"]),
        ]

    def __str__(self) -> str:
        return f"{self.actor or 'the application'}: {self.type} {self.resource_id}".strip()


class LogPosition(models.Model):
    """The one row that issues positions."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    position = models.BigIntegerField(default=0)
    pruned_to = models.BigIntegerField(default=0)
    """The highest pruned position; the oldest entry comes after it."""
    rights_position = models.BigIntegerField(default=0, db_default=0)
    """The position of the newest change that can affect a person's rights."""
    epoch = models.CharField(max_length=32, default=new_epoch, db_default="")
    """Changes with a restore, after which positions belong to other entries."""
    installation = models.CharField(max_length=32, default="", db_default="")
    """The name of the installation, part of back-ups; empty until needed."""

    def __str__(self) -> str:
        return str(self.position)


def name_installation() -> str:
    """Return the name of this installation; if it has none, give it one."""
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.execute(_NAMED, [secrets.token_hex(8)])
        return str(cursor.fetchone()[0])


_NAMED: Final = (
    f"INSERT INTO {LogPosition._meta.db_table} AS log"  # noqa: S608  the name is ours
    " (id, position, pruned_to, installation) VALUES (1, 0, 0, %s)"
    " ON CONFLICT (id) DO UPDATE SET installation ="
    " CASE log.installation WHEN '' THEN EXCLUDED.installation ELSE log.installation END"
    " RETURNING installation"
)


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
