"""The tables of the index that Django knows. The words are in tables specific to each database."""

from __future__ import annotations

from typing import Any

from django.db import models

from versioning.models.agents import Agent
from versioning.models.prompts import PromptBlock


class SearchDocument(models.Model):
    """A version that can be found by its words.

    On PostgreSQL the table has further columns with the words, on SQLite there is an additional FTS5 table:
    migration 0014 creates them. Deleted resources may leave documents behind for a while.

    There is no index on `resource`: SQLite would begin with the resources that may be read, and look through
    all documents found for each of them.
    """

    version_id = models.UUIDField(unique=True)

    resource: Any
    resource_id: str

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.resource_id} {self.version_id}"


class AgentDocument(SearchDocument):
    """A version of an agent."""

    resource = models.ForeignKey(
        Agent, on_delete=models.DO_NOTHING, related_name="documents", db_constraint=False, db_index=False
    )


class PromptBlockDocument(SearchDocument):
    """A version of a prompt block."""

    resource = models.ForeignKey(
        PromptBlock,
        on_delete=models.DO_NOTHING,
        related_name="documents",
        db_constraint=False,
        db_index=False,
    )


class SearchProgress(models.Model):
    """How far the index has followed the log: a single row."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    position = models.BigIntegerField(default=0)
    """Every change up to this position of the log is indexed."""
    is_whole = models.BooleanField(default=False)
    """Whether the index is complete. If not, any resource may be missing."""

    def __str__(self) -> str:
        return str(self.position)
