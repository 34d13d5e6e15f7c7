"""Widen rollouts in steps, at times, as the person who planned that.

A step passes the gates as every widening does, with the rights and policies of its time. It is taken exactly
once: its state is stored in the transaction that changes the weight. After one that fails, those that follow
are cancelled. A step never narrows an arm that a person has widened further in the meantime.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from experiments.rollouts.models import Rollout, RolloutStep, State, StepState
from experiments.rollouts.verbs import Rollouts
from versioning.domain.access import Caller, Via
from versioning.domain.errors import Forbidden, Message, VersioningError
from versioning.editor.locking import retry_on_conflict
from versioning.models import caller_for, events
from versioning.worker.jobs import Periodic

SECONDS: Final = 1.0
"""How often each worker looks for due steps."""
AT_ONCE: Final = 100
AGAIN: Final = datetime.timedelta(seconds=30)
"""How long a step waits after a fault."""

logger = logging.getLogger(__name__)


class Step(NamedTuple):
    """A planned step."""

    weight: int
    """In ten thousandths."""
    run_at: datetime.datetime


def plan(rollout: Rollout, arm: str, steps: Sequence[Step], *, by: Caller) -> None:
    """Store the steps of a new rollout, which run with the rights of the caller, a person."""
    RolloutStep.objects.bulk_create(
        RolloutStep(
            rollout=rollout,
            arm=arm,
            weight=one.weight,
            run_at=one.run_at,
            due_at=one.run_at,
            author_id=by.user_id,
            author_name=by.username or "",
        )
        for one in steps
    )


def cancel(rollout: Rollout) -> int:
    """Cancel the steps of a rollout that still wait; return how many."""
    return rollout.steps.waiting().update(state=StepState.CANCELLED, due_at=None)


def take_due() -> None:
    """Take the due steps."""
    for step in RolloutStep.objects.due().select_related("author")[:AT_ONCE]:
        _take_or_postpone(step)


def _take_or_postpone(step: RolloutStep) -> None:
    try:
        _act(step, by=_author_of(step))
    except VersioningError as error:
        _fail(step, error)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("a step of a rollout cannot be taken", extra={"step": str(step.pk)})
        RolloutStep.objects.waiting().filter(pk=step.pk).update(due_at=timezone.now() + AGAIN)


def _author_of(step: RolloutStep) -> Caller:
    """Return the author of a step, with current rights; raises `Forbidden` if the account is gone."""
    if step.author is None or not step.author.is_active:
        raise Forbidden(Message("The account “{name}” is gone, or switched off.", name=step.author_name))
    return caller_for(step.author, Via.SCHEDULE)


@retry_on_conflict
def _act(step: RolloutStep, *, by: Caller) -> None:
    with events.transaction():
        waiting = RolloutStep.objects.waiting().filter(pk=step.pk)
        rollout = Rollout.objects.get(pk=step.rollout_id)
        if rollout.state != State.RUNNING:
            waiting.update(state=StepState.CANCELLED, due_at=None)
            return
        if not waiting.update(state=StepState.DONE, due_at=None):
            return  # another worker was faster, or a person has cancelled it
        weights = {one.name: one.weight for one in rollout.placed_arms}
        if weights.get(step.arm, step.weight) < step.weight:
            Rollouts.current().change(str(rollout.pk), [(step.arm, step.weight)], by=by)


def _fail(step: RolloutStep, error: VersioningError) -> None:
    with events.transaction():
        waiting = RolloutStep.objects.waiting().filter(rollout=step.rollout_id)
        if waiting.filter(pk=step.pk).update(state=StepState.FAILED, due_at=None, problem=error.message):
            waiting.update(state=StepState.CANCELLED, due_at=None)


JOBS: Final = (Periodic(name="steps of rollouts", run=take_due, every=SECONDS, in_each_worker=True),)
