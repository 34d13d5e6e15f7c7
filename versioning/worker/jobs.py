"""The registry of jobs, which workers do.

An application declares its own (`EditorApp.jobs`): a `Periodic` for periodic checks, a `Queue` for rows of
its own table that become due.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.apps import apps
from django.db import models
from django.db.models import Count, Min, Q
from django.db.models.functions import Now
from django.utils import timezone

from versioning.domain.registering import require_callable, require_instance
from versioning.models import PeriodicJob
from versioning.models.due_work import DueWork


@dataclass(frozen=True, kw_only=True)
class Periodic:
    """A job that runs periodically.

    After a failure it is tried again with growing pauses of up to a minute, or at its usual time if that is
    sooner.
    """

    name: str
    run: Callable[[], None]
    every: float
    """Seconds from the end of one run to the start of the next."""
    in_each_worker: bool = False
    """Whether each worker runs it, and not only one at a time. For jobs that check often and seldom find
    work, such as changed files: no write is needed to take a turn, and no lease of a killed worker delays it.
    Such a job must be correct if two workers run it at the same time."""


@dataclass(frozen=True, kw_only=True)
class Queue:
    """Rows that become due: each is leased by one worker, passed to `run`, and finished when that returns.

    `run` may finish or postpone the row itself, in the transaction of its work: then the work is done
    exactly once, otherwise at least once. If `run` raises, the row is due again after a pause that doubles
    each time, from a second to an hour.
    """

    name: str
    model: str
    """The model of the rows, a subclass of `DueWork`, as `app_label.Model`."""
    run: Callable[[Any], None]
    threads: int = 1
    """The number of rows that each worker processes at the same time. If rows have owners, these take turns
    with the threads: none takes more than half of them."""
    at_once: int = 10
    """The number of rows that a thread leases at a time: more for quick work, 1 for slow work."""
    in_batches: bool = False
    """Whether `run` gets the list of all rows that were leased at once, which have one owner. It finishes or
    postpones the rows it has processed; the other rows are due as before."""

    @property
    def rows(self) -> type[DueWork]:
        model: type[DueWork] = apps.get_model(self.model)
        return model


Job = Periodic | Queue

_jobs: dict[str, Job] = {}


def register(job: Job) -> None:
    """Register a job for workers that start from now on; raises `ValueError` if its name is taken."""
    require_instance(job, Periodic, Queue, by="jobs.register()")
    require_callable(job.run, by=f"the job {job.name!r}")
    if _jobs.setdefault(job.name, job) != job:
        raise ValueError(f"there is another job of the name {job.name!r}")


def list_jobs() -> Mapping[str, Job]:
    return _jobs


class Backlog(NamedTuple):
    """The rows of one kind of work that are not done."""

    kind: str
    """The name of its model, such as `delivery`."""
    due: int
    """Rows that could be done now and are not leased."""
    leased: int
    """Rows that a worker is processing."""
    later: int
    """Rows that are not due yet."""
    oldest_seconds: float
    """The seconds for which the oldest row has been due; 0 if none is."""


def backlogs() -> list[Backlog]:
    """Return the backlog of each kind of work: rows with a `due_at`, in one statement for each table."""
    return [_backlog(kind, model) for kind, model in work_models().items()]


def work_models() -> dict[str, type[models.Model]]:
    """Return the models of work, which have a `due_at`, by name; `work_name` has the word for people."""
    return {
        str(model._meta.model_name): model
        for model in apps.get_models()
        if "due_at" in {field.name for field in model._meta.fields} and not issubclass(model, PeriodicJob)
    }


def _backlog(kind: str, model: type[models.Model]) -> Backlog:
    is_due = Q(due_at__lte=Now())
    has_lease = "leased_until" in {field.name for field in model._meta.fields}
    is_leased = Q(leased_until__gt=Now()) if has_lease else Q(pk__in=[])
    counts = model._default_manager.filter(due_at__isnull=False).aggregate(
        due=Count("pk", filter=is_due & ~is_leased),
        leased=Count("pk", filter=is_leased),
        later=Count("pk", filter=~is_due & ~is_leased),
        oldest=Min("due_at", filter=is_due & ~is_leased),
    )
    return Backlog(kind, counts["due"], counts["leased"], counts["later"], seconds_since(counts["oldest"]))


def seconds_since(moment: datetime.datetime | None) -> float:
    """Return the seconds since a moment; 0 without one, and for one in the future."""
    return 0.0 if moment is None else max(0.0, (timezone.now() - moment).total_seconds())
