"""The versions that runs served, stored for a while."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.utils import timezone

from capabilities.rollouts.models import REMEMBERED, ServedRun
from versioning.domain.agents import AGENT
from versioning.domain.prompt_blocks import PROMPT_BLOCK
from versioning.runtime.observing import RunUse
from versioning.worker.jobs import Periodic

AT_ONCE: Final = 1000


def served_by(use: RunUse) -> ServedRun:
    """Return the row for a run that has ended."""
    served: dict[str, list[str | None]] = {}
    for agent in (one.served for one in use.agents.values()):
        arm = agent.outcome["arm"] if agent.outcome else None
        served[reference(AGENT.slug, agent.id)] = [agent.resolved_version_id, arm]
        for block in agent.blocks:
            if block.id is not None and block.shown:
                outcome = agent.block_outcomes.get(block.id)
                served[reference(PROMPT_BLOCK.slug, block.id)] = [
                    block.version_id,
                    outcome["arm"] if outcome else None,
                ]
    return ServedRun(id=UUID(use.run_id), called=use.called, served=served)


def reference(kind: str, resource_id: str) -> str:
    """Return a resource as `ServedRun.served` names it."""
    return f"{kind}/{resource_id}"


def forget_old() -> None:
    """Delete runs that are too old for feedback, in batches."""
    old = ServedRun.objects.filter(created_at__lt=timezone.now() - REMEMBERED).order_by("created_at")
    while some := list(old.values_list("pk", flat=True)[:AT_ONCE]):
        ServedRun.objects.filter(pk__in=some).delete()


JOBS: Final = (Periodic(name="old runs", run=forget_old, every=3600.0),)
