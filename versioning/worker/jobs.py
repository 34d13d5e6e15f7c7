"""What workers do: the registry of jobs.

An application of Django registers its own in `AppConfig.ready()`: a `Periodic` for what is looked at every
so often, a `Queue` for rows of a table of its own that come due.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.apps import apps

from versioning.models.due_work import DueWork


@dataclass(frozen=True, kw_only=True)
class Periodic:
    """Something that is done every so often.

    When it fails, it is tried again later and later, up to once a minute (or at its usual time, if that is
    sooner).
    """

    name: str
    run: Callable[[], None]
    every: float
    """Seconds from its end to its next beginning."""
    in_each_worker: bool = False
    """Whether each worker does it, and not only one at a time.

    That is for what looks often and seldom finds anything, such as at files: nothing is written to learn
    whose turn it is, and nobody waits for the lease of a worker that was killed. What it does about what it
    finds has to hold when two do it at once.
    """


@dataclass(frozen=True, kw_only=True)
class Queue:
    """Rows that come due: each is leased by one worker, handed to `run`, and finished when that returns.

    `run` may finish or postpone the row itself, in the transaction of what it does: then that is done exactly
    once. Otherwise it is done at least once. A row whose `run` raises is due again after a while that doubles
    each time, from a second to an hour.
    """

    name: str
    model: str
    """The model of the rows, a subclass of `DueWork`, as `app_label.Model`."""
    run: Callable[[Any], None]
    threads: int = 1
    """How many rows each worker works on at the same time."""
    at_once: int = 10
    """How many rows a thread leases at once: more for work that is quick, 1 for work that takes long."""

    @property
    def rows(self) -> type[DueWork]:
        """The model."""
        found: type[DueWork] = apps.get_model(self.model)
        return found


Job = Periodic | Queue

_jobs: dict[str, Job] = {}


def register(job: Job) -> None:
    """Let workers do a job, from their next start on; raises `ValueError` when its name is taken."""
    if _jobs.setdefault(job.name, job) != job:
        raise ValueError(f"there is another job of the name {job.name!r}")


def registered() -> Mapping[str, Job]:
    """Return all jobs by name."""
    return _jobs
