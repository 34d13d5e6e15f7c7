"""Rollouts, usage and feedback of the editor in memory."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.shared.arms import Arm, placed, refuse_path, reweighted
from editor_client.shared.errors import Invalid, Issue
from editor_client.stored_agents import AGENTS
from editor_client.stored_prompt_blocks import PROMPT_BLOCKS
from editor_client.testing.protocol import Json, Refused, not_found
from editor_client.testing.resources import Resource, now

SUMS: Final = ("runs", "errors", "inputTokens", "outputTokens", "milliseconds")


@dataclass(kw_only=True, eq=False)
class Rollout:
    """Other versions of a resource for a share of the requests."""

    resource: Resource
    bucket_by: str
    arms: list[Arm]
    author: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    seed: str = field(default_factory=lambda: str(uuid.uuid4()))
    state: str = "running"
    started_at: str = field(default_factory=now)
    ended_at: str | None = None
    reason: str | None = None

    @property
    def record(self) -> Json:
        """The rollout as the API shows it."""
        return {
            "id": self.id,
            "workspaceId": self.resource.workspace,
            "resource": {"kind": self.resource.kind.slug, "id": self.resource.id},
            "seed": self.seed,
            "bucketBy": self.bucket_by,
            "arms": [
                {"name": arm.name, "versionId": arm.version_id, "weight": arm.weight} for arm in self.arms
            ],
            "state": self.state,
            "startedBy": self.author,
            "startedAt": self.started_at,
            "endedAt": self.ended_at,
            "reason": self.reason,
        }

    def rule(self, shown: Mapping[str, Json]) -> Json:
        """Return the rule for `editor_client.shared.arms`, with what each version shows."""
        arms = [
            {
                "name": arm.name,
                "start": arm.start,
                "weight": arm.weight,
                "resolvedVersionId": arm.version_id,
                **shown[arm.version_id],
            }
            for arm in self.arms
        ]
        return {"id": self.id, "seed": self.seed, "bucketBy": self.bucket_by, "arms": arms}

    @property
    def weights(self) -> dict[str, int]:
        """The weights of the arms by name."""
        return {arm.name: arm.weight for arm in self.arms}

    def require_running(self) -> None:
        """Raise `Refused` if it is over."""
        if self.state != "running":
            message = f"This rollout is {self.state} and can no longer be changed."
            raise Refused(409, "rollout_ended", message)

    def change(self, weights: Sequence[tuple[str, int]]) -> bool:
        """Change the weights of arms; return whether that changed anything."""
        before, self.arms = self.arms, reweighted(self.arms, weights)
        return self.arms != before

    def end(self, state: str, reason: str | None = None) -> None:
        """End it, so that no request gets its versions."""
        self.state, self.reason, self.ended_at = state, reason, now()

    def arm(self, name: str) -> Arm:
        """Return an arm; raises `Invalid` for an unknown name."""
        found = next((arm for arm in self.arms if arm.name == name), None)
        if found is None:
            raise Invalid.field("arm", "is not an arm of this rollout")
        return found


def begun(resource: Resource, bucket_by: str, arms: Sequence[Arm], author: str) -> Rollout:
    """Return a new rollout; raises `Invalid` for invalid arms."""
    refuse_path("bucketBy", bucket_by)
    found = placed(arms)
    if resource.active is None:
        raise Invalid.field("resource", "has no active version for all others to get")
    issues = []
    for number, arm in enumerate(found):
        try:
            resource.version(arm.version_id)
        except Refused:
            issues.append(Issue(f"arms.{number}.versionId", "is not a version of this resource"))
    if issues:
        raise Invalid(issues)
    return Rollout(resource=resource, bucket_by=bucket_by, arms=found, author=author)


class Used:
    """The usage of versions, and the versions that runs served."""

    def __init__(self) -> None:
        self._sums: dict[tuple[Resource, str | None, str | None], Json] = {}
        self._served: dict[str, dict[tuple[str, str], tuple[str | None, str | None]]] = {}
        """By the id of a run, and by kind and id: the version and the arm; the called agent is the first."""

    def add(self, resource: Resource, version_id: str | None, arm: str | None, **sums: int) -> None:
        """Add usage of a version."""
        known = self._sums.setdefault(
            (resource, version_id, arm), {**dict.fromkeys(SUMS, 0), "firstUsedAt": now()}
        )
        known |= {name: known[name] + sums.get(name, 0) for name in SUMS}
        known["lastUsedAt"] = now()

    def of(self, resource: Resource) -> list[Json]:
        """Return the usage of a resource's versions."""
        numbers: dict[str | None, int] = {version.id: version.number for version in resource.versions}
        return [
            {"versionId": version_id, "versionNumber": numbers.get(version_id), "arm": arm, **sums}
            for (about, version_id, arm), sums in self._sums.items()
            if about is resource
        ]

    def remember(self, run_id: str, served: Mapping[tuple[str, str], tuple[str | None, str | None]]) -> None:
        """Store what a run served, the called agent first."""
        self._served[run_id] = dict(served)

    def served_by(self, run_id: str) -> dict[tuple[str, str], tuple[str | None, str | None]]:
        """Return what a run served; raises `Refused` for an unknown run."""
        if run_id not in self._served:
            raise not_found()
        return self._served[run_id]


def served_in(agent: Json) -> dict[tuple[str, str], tuple[str | None, str | None]]:
    """Return what a run of an agent, as `GET /agents/:id` answers it, serves."""
    shown = [block for block in agent["blocks"] if block["shown"]]
    return {
        (AGENTS.slug, agent["id"]): (agent["resolvedVersionId"], _arm(agent)),
        **{(PROMPT_BLOCKS.slug, block["id"]): (block["versionId"], _arm(block)) for block in shown},
    }


def outcomes_in(agent: Json) -> Json:
    """Return the arms of a run of an agent, by kind and id."""
    blocks = {block["id"]: block["rollout"] for block in agent["blocks"] if block["rollout"]}
    own = {agent["id"]: agent["rollout"]} if agent["rollout"] else {}
    return {"agents": own, "promptBlocks": blocks}


def _arm(served: Json) -> str | None:
    return (served["rollout"] or {}).get("arm")


def summed_up(feedback: Sequence[Json]) -> list[Json]:
    """Return feedback by version, arm and name: numbers have a mean, other values counts."""
    groups: dict[tuple[str | None, str | None, str], list[Any]] = {}
    for one in feedback:
        groups.setdefault((one["versionId"], one["arm"], one["name"]), []).append(one["value"])
    found = []
    for (version_id, arm, name), values in sorted(groups.items(), key=lambda one: tuple(map(str, one[0]))):
        numbers = [one for one in values if _is_number(one)]
        words = [str(one).lower() if isinstance(one, bool) else one for one in values if not _is_number(one)]
        found.append(
            {
                "versionId": version_id,
                "arm": arm,
                "name": name,
                "count": len(values),
                "mean": sum(numbers) / len(numbers) if numbers else None,
                "counts": dict(sorted(Counter(words).items())),
            }
        )
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
