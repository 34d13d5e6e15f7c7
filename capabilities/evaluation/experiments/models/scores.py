"""Scores and labels: what a scorer says of a cell, or of anything else that was sent; and what people say.

A score without a value is either an error (`error_code`) or not scorable (`not_scorable`, which says why).
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.utils import timezone

from capabilities.evaluation.experiments.models.cells import Cell
from capabilities.evaluation.experiments.models.experiments import MAX_ID, MAX_NAME, Experiment
from versioning.models import Workspace


class Score(models.Model):
    """What a scorer says of an answer: a value, or an error, or that it cannot be scored."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    cell = models.ForeignKey(Cell, null=True, on_delete=models.CASCADE, related_name="scores")
    """Null for what an application scored outside of experiments."""
    run_id = models.CharField(max_length=MAX_ID)
    """The experiment, or the run that an application names."""
    scorer_id = models.CharField(max_length=MAX_ID)
    version_id = models.CharField(max_length=80, blank=True)
    entity_type = models.CharField(max_length=32, blank=True)
    entity_id = models.CharField(max_length=MAX_ID, blank=True)
    """The item, in an experiment."""
    source = models.CharField(max_length=8)
    """`TEST` in experiments, else as it was sent."""
    value = models.FloatField(null=True)
    passed = models.BooleanField(null=True)
    label = models.CharField(max_length=200, blank=True)
    reason = models.TextField(blank=True)
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.TextField(blank=True)
    not_scorable = models.TextField(blank=True)
    """Why it cannot be scored; empty if it can."""
    more_json = models.TextField(blank=True)
    """The other members that were sent."""
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(null=True)

    if TYPE_CHECKING:
        workspace_id: str
        cell_id: int | None

    class Meta:
        ordering = ["-created_at", "pk"]
        constraints = [models.UniqueConstraint(name="score_once", fields=["cell", "scorer_id"])]
        indexes = [
            models.Index(name="score_of_run", fields=["run_id", "scorer_id", "-created_at"]),
            models.Index(name="score_of_scorer", fields=["scorer_id", "-created_at"]),
            models.Index(name="score_of_entity", fields=["entity_type", "entity_id", "-created_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.scorer_id} of {self.run_id}: {self.value}"

    @cached_property
    def more(self) -> dict[str, Any]:
        """The other members that were sent; not to be changed."""
        found: dict[str, Any] = json.loads(self.more_json or "{}")
        return found


class Label(models.Model):
    """What a person says of a result; no judge overwrites it."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="labels")
    item_id = models.UUIDField()
    attempt = models.PositiveSmallIntegerField(default=0)
    name = models.CharField(max_length=MAX_NAME)
    """A scorer's id, if the value says whether it passes; or anything else."""
    value: Any = models.JSONField()
    """A number, a text or a boolean."""
    comment = models.TextField(blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                name="label_once_a_person", fields=["experiment", "item_id", "attempt", "name", "author"]
            )
        ]
        indexes = [models.Index(name="label_of_name", fields=["name", "-created_at"])]

    def __str__(self) -> str:
        return f"{self.name} of {self.item_id}"
