"""How much work waits for workers, for `manage.py status` and the metrics."""

from __future__ import annotations

import datetime
from collections.abc import Collection
from typing import NamedTuple

from django.apps import apps
from django.db import models
from django.db.models import Count, Min, Q
from django.db.models.functions import Now
from django.utils import timezone

from versioning.models import PeriodicJob


class Backlog(NamedTuple):
    """The rows of one kind of work that are not done."""

    kind: str
    """The name of its model, such as `delivery`."""
    due: int
    """They could be done now, and no worker has begun."""
    leased: int
    """A worker is at it."""
    later: int
    """Their time has not come."""
    oldest_seconds: float
    """For how long the oldest row has been due; 0 if none is."""


def backlogs() -> list[Backlog]:
    """Return how much of each kind of work waits: rows with a `due_at`, in one statement for each table."""
    return [
        _backlog(model, names)
        for model in apps.get_models()
        if "due_at" in (names := {field.name for field in model._meta.fields})
        and not issubclass(model, PeriodicJob)
    ]


def _backlog(model: type[models.Model], names: Collection[str]) -> Backlog:
    is_due = Q(due_at__lte=Now())
    is_leased = Q(leased_until__gt=Now()) if "leased_until" in names else Q(pk__in=[])
    found = model._default_manager.filter(due_at__isnull=False).aggregate(
        due=Count("pk", filter=is_due & ~is_leased),
        leased=Count("pk", filter=is_leased),
        later=Count("pk", filter=~is_due & ~is_leased),
        oldest=Min("due_at", filter=is_due & ~is_leased),
    )
    kind = str(model._meta.model_name)
    return Backlog(kind, found["due"], found["leased"], found["later"], seconds_since(found["oldest"]))


def seconds_since(moment: datetime.datetime | None) -> float:
    """Return the seconds since a moment; 0 without one, and for one in the future."""
    return 0.0 if moment is None else max(0.0, (timezone.now() - moment).total_seconds())
