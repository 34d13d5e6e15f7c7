"""Rollouts of the editor in memory, as the API shows them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Final

from editor_client.manage.stored_agents import AGENTS
from editor_client.manage.stored_prompt_blocks import PROMPT_BLOCKS
from editor_client.shared.arms import Arm, placed, refuse_path, rule_of
from editor_client.shared.errors import Invalid, Issue
from editor_client.testing.protocol import Json, Refused
from editor_client.testing.resources import Resource, now

SUMS: Final = ("runs", "errors", "inputTokens", "outputTokens", "milliseconds")
Served = dict[tuple[str, str], tuple[str | None, str | None]]
"""What a run served: by kind and id the version and the arm; the called agent is the first."""


def rollout_running(*, publishing: bool = False) -> Refused:
    """Return the refusal to change the active version during a rollout."""
    until = "before publishing" if publishing else "first"
    return Refused(409, "rollout_running", f"A rollout is running. Stop it {until}.")


def begun(resource: Resource, given: Json, author: str) -> Json:
    """Return a new rollout; raises `Invalid` for invalid arms."""
    refuse_path("bucketBy", given["bucketBy"])
    arms = arms_of(given)
    if resource.active is None:
        raise Invalid.field("resource", "has no active version for all others to get")
    versions = {version.id for version in resource.versions}
    issues = [
        Issue(f"arms.{number}.versionId", "is not a version of this resource")
        for number, arm in enumerate(arms)
        if arm.version_id not in versions
    ]
    if issues:
        raise Invalid(issues)
    return {
        "id": str(uuid.uuid4()),
        "workspaceId": resource.workspace,
        "resource": resource.reference,
        "seed": str(uuid.uuid4()),
        "bucketBy": given["bucketBy"],
        "arms": shown(arms),
        "state": "running",
        "startedBy": author,
        "startedAt": now(),
        "endedAt": None,
        "reason": None,
    }


def arms_of(rollout: Json) -> list[Arm]:
    """Return the arms of a rollout; raises `Invalid` for invalid names and weights."""
    return placed(
        [Arm(name=one["name"], version_id=one["versionId"], weight=one["weight"]) for one in rollout["arms"]]
    )


def shown(arms: Iterable[Arm]) -> list[Json]:
    """Return arms as the API shows them."""
    return [{"name": arm.name, "versionId": arm.version_id, "weight": arm.weight} for arm in arms]


def end(rollout: Json, state: str, reason: str | None = None) -> None:
    """End a rollout, so that no request gets its versions."""
    rollout |= {"state": state, "reason": reason, "endedAt": now()}


def rule(rollout: Json, versions: Mapping[str, Json]) -> Json:
    """Return the rule of a rollout, with what each version shows."""
    return rule_of(rollout["id"], rollout["seed"], rollout["bucketBy"], arms_of(rollout), versions)


def served_in(agent: Json) -> Served:
    """Return what a run of an agent, as `GET /agents/:id` answers it, serves."""
    blocks = [block for block in agent["blocks"] if block["shown"]]
    return {
        (AGENTS.slug, agent["id"]): (agent["resolvedVersionId"], _arm(agent)),
        **{(PROMPT_BLOCKS.slug, block["id"]): (block["versionId"], _arm(block)) for block in blocks},
    }


def outcomes_in(agent: Json) -> Json:
    """Return the arms of a run of an agent, by kind and id."""
    blocks = {block["id"]: block["rollout"] for block in agent["blocks"] if block["rollout"]}
    own = {agent["id"]: agent["rollout"]} if agent["rollout"] else {}
    return {"agents": own, "promptBlocks": blocks}


def _arm(served: Json) -> Any:
    return (served["rollout"] or {}).get("arm")
