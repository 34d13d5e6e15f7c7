"""Labels: what people say of results."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.utils import timezone

from evaluation.experiments.models.experiments import MAX_NAME, Experiment


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
