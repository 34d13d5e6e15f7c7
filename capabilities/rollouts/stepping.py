"""Widen rollouts in steps, at times, as the person who planned that.

A step passes the gates like every widening, with the rights and policies of its time. It is taken exactly
once, because its state is stored in the transaction that changes the weight. After a failure the following
steps are cancelled, and so are those of an arm that a person narrows. A step never narrows an arm that a
person has widened further in the meantime.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from capabilities.rollouts.events import FAILED_STEP
from capabilities.rollouts.models import Rollout, RolloutStep, StepState
from capabilities.rollouts.verbs import Rollouts, changing_rollout, reweigh
from versioning.domain.access import Caller, Via
from versioning.domain.errors import Conflict, VersioningError
from versioning.editor.locking import retry_on_conflict
from versioning.models import caller_of_author, events
from versioning.worker.jobs import Periodic

SECONDS: Final = 1.0
"""The seconds between a worker's checks for due steps."""
AT_ONCE: Final = 100
GRACE: Final = datetime.timedelta(days=1)
"""The maximum delay of a step if no worker was running at its time."""
SOON: Final = datetime.timedelta(seconds=2)
"""The wait of a step after a database error, which may be temporary."""
AGAIN: Final = datetime.timedelta(seconds=30)
"""The wait of a step after a fault."""

logger = logging.getLogger(__name__)


class Step(NamedTuple):
    weight: int
    """In ten thousandths."""
    run_at: datetime.datetime


def plan(rollout: Rollout, arm: str, steps: Sequence[Step], *, by: Caller) -> None:
    """Store the steps of a new rollout, which run with the rights of the caller, a person."""
    RolloutStep.objects.bulk_create(
        RolloutStep(
            rollout=rollout,
            arm=arm,
            weight=step.weight,
            run_at=step.run_at,
            due_at=step.run_at,
            author_id=by.user_id,
            author_name=by.username or "",
        )
        for step in steps
    )


def take_due() -> None:
    for step in RolloutStep.objects.due().select_related("author", "rollout")[:AT_ONCE]:
        _take_or_postpone(step)


def _take_or_postpone(step: RolloutStep) -> None:
    own_row = RolloutStep.objects.waiting().filter(pk=step.pk)
    try:
        _take(step)
    except (OperationalError, InterfaceError):
        # If the database is unavailable, this fails as well. But if a lock is held, others must not wait.
        own_row.update(due_at=timezone.now() + SOON)
        raise
    except Exception:
        logger.exception("a step of a rollout cannot be taken", extra={"step": str(step.pk)})
        own_row.update(due_at=timezone.now() + AGAIN)


def _take(step: RolloutStep) -> None:
    try:
        if timezone.now() > step.run_at + GRACE:
            raise Conflict("No worker was running then, nor for long afterwards.", code="missed")
        _act(step, by=caller_of_author(step.author, step.author_name, Via.SCHEDULE))
    except VersioningError as error:
        _fail(step, error)


@retry_on_conflict
def _act(step: RolloutStep, *, by: Caller) -> None:
    rollouts, rollout_id = Rollouts.current(), str(step.rollout_id)
    with changing_rollout(rollouts, rollout_id, by) as (rollout, locked):
        if not RolloutStep.objects.waiting().filter(pk=step.pk).update(state=StepState.DONE, due_at=None):
            return  # another worker was faster, or a person has cancelled it
        weights = {arm.name: arm.weight for arm in rollout.placed_arms}
        if weights[step.arm] < step.weight:
            reweigh(rollouts, rollout, locked.resource, [(step.arm, step.weight)], by=by, options={})


def _fail(step: RolloutStep, error: VersioningError) -> None:
    """Record the failure, notify the author, and cancel the following steps."""
    with events.transaction():
        steps = RolloutStep.objects.waiting().filter(rollout=step.rollout_id)
        failed = steps.filter(pk=step.pk)
        if failed.update(state=StepState.FAILED, due_at=None, problem=error.message):
            steps.cancel()
            rollout = step.rollout
            rollout.record("changed", step.unattended_caller, rollout.target, **{FAILED_STEP: step.arm})


JOBS: Final = (Periodic(name="steps of rollouts", run=take_due, every=SECONDS, in_each_worker=True),)
