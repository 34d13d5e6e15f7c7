"""Chooses the version of a request while a rollout runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any, Final

from editor_client.shared import canonical
from editor_client.shared.arms import choose_arm, describe_outcome

from capabilities.rollouts.models import Rollout
from versioning.domain.kinds import ResourceKind
from versioning.serving.choice import Choice
from versioning.serving.followed_log import FollowedValue

Rules = Mapping[str, Mapping[str, Mapping[str, Any]]]


def _read_rules() -> Rules:
    rules: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for rollout in Rollout.objects.running().order_by():
        rules[rollout.kind][rollout.resource_id] = rollout.rule
    return rules


class ByRollout:
    def __init__(self) -> None:
        self._rules: FollowedValue[Rules] = FollowedValue(
            _read_rules,
            ("rollout", None),
            ("workspace", None),  # its rollouts are deleted with it
        )

    def speaks_of(self, kind: ResourceKind) -> Collection[str]:
        return self._rules.get().get(kind.slug, {})

    def choose(
        self, kind: ResourceKind, ids: Collection[str], context: Mapping[str, Any]
    ) -> Mapping[str, Choice]:
        rules = self._rules.get().get(kind.slug, {})
        return {
            resource_id: _choice(rules[resource_id], context) for resource_id in ids if resource_id in rules
        }


def _choice(rule: Mapping[str, Any], context: Mapping[str, Any]) -> Choice:
    arm, outcome = choose_arm(rule, context), describe_outcome(rule, context)
    return Choice(
        version=arm["resolvedVersionId"] if arm else None,
        varies_by=canonical.comparable(outcome),
        outcome=outcome,
        parts=rule,
    )


BY_ROLLOUT: Final = ByRollout()
