"""The jobs of the editor itself."""

from __future__ import annotations

from versioning.models import LockKey
from versioning.models.text_search import following
from versioning.worker import housekeeping, jobs, override_watch


def register() -> None:
    """Register them."""
    watch = override_watch.OverrideWatch()
    jobs.register(
        jobs.Periodic(
            name="override files", run=watch.look, every=override_watch.SECONDS, in_each_worker=True
        )
    )
    jobs.register(jobs.Periodic(name="waste", run=housekeeping.remove_waste, every=housekeeping.SECONDS))
    jobs.register(jobs.Periodic(name="old events", run=housekeeping.prune_log, every=housekeeping.SECONDS))
    jobs.register(jobs.Periodic(name="keys", run=LockKey.keep_up, every=housekeeping.SECONDS))
    jobs.register(
        jobs.Periodic(name="search index", run=following.follow, every=following.SECONDS, in_each_worker=True)
    )
