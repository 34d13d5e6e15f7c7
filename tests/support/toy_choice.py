"""A toy that chooses: other versions for a share of the users. Its rules are in the log, and nowhere else."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from editor_client.shared.arms import BUCKETS, choose_arm, describe_outcome

from versioning.conf import get_editor
from versioning.domain.access import APPLICATION
from versioning.domain.agents import AGENT
from versioning.domain.kinds import ResourceKind
from versioning.editor import gate
from versioning.editor.gate import PublishRequest
from versioning.models import Agent, Event, PromptBlock, VersionedResource, events
from versioning.serving.choice import Choice
from versioning.serving.followed_log import FollowedValue
from versioning.serving.grants import target_of

CHANGED: Final = "toy.changed"
USERS: Final = [f"user{number}" for number in range(60)]

Rules = dict[str, dict[str, dict[str, Any]]]


def read_rules() -> Rules:
    """Return the rules by kind and resource: each one's newest."""
    newest: dict[tuple[str, str], Any] = {}
    for entry in Event.objects.filter(type=CHANGED).order_by("position"):
        newest[entry.resource_kind, entry.resource_id] = entry.detail["rule"]
    found: Rules = {}
    for (kind, resource_id), rule in newest.items():
        if rule is not None:
            found.setdefault(kind, {})[resource_id] = rule
    return found


class ToyChooser:
    """Chooses by the rules; without `parts` like an application with its own kind of rule."""

    def __init__(self, *, has_parts: bool = True) -> None:
        self.has_parts = has_parts
        self._rules = FollowedValue(read_rules, ("toy", None))

    def speaks_of(self, kind: ResourceKind) -> Collection[str]:
        return self._rules.get().get(kind.slug, {})

    def choose(
        self, kind: ResourceKind, ids: Collection[str], context: Mapping[str, Any]
    ) -> Mapping[str, Choice]:
        """Return the version of the arm that a user is in."""
        rules = self._rules.get().get(kind.slug, {})
        found = {}
        for one in ids:
            arm = choose_arm(rules[one], context) or {"name": "", "resolvedVersionId": None}
            parts = rules[one] if self.has_parts else None
            outcome = describe_outcome(rules[one], context)
            found[one] = Choice(
                version=arm["resolvedVersionId"], varies_by=str(outcome), outcome=outcome, parts=parts
            )
        return found


def model_of(kind: ResourceKind) -> type[VersionedResource]:
    return Agent if kind is AGENT else PromptBlock


def start(
    kind: ResourceKind, resource_id: str, *version_ids: str, checked: bool = True, weight: int = 2_000
) -> dict[str, Any]:
    """Serve each of the versions to a share of the users, once the gate has let all pass; return the rule."""
    start_of = BUCKETS // max(len(version_ids), 1)
    arms = [
        {"name": f"arm{i}", "start": i * start_of, "weight": weight, "resolvedVersionId": version_id}
        for i, version_id in enumerate(version_ids)
    ]
    rule = {"id": "toy", "seed": resource_id, "bucketBy": "userId", "arms": arms}
    record(kind, resource_id, rule, checked=checked)
    return rule


def stop(kind: ResourceKind, resource_id: str) -> None:
    """Serve the active version to all callers again."""
    record(kind, resource_id, None)


def record(kind: ResourceKind, resource_id: str, rule: Any, *, checked: bool = True) -> None:
    """Write a rule to the log; `checked` versions have passed the gate."""
    code = get_editor().code
    with events.transaction():
        resource = model_of(kind).objects.get(pk=resource_id)
        for arm in (rule or {"arms": ()})["arms"] if checked else ():
            version = resource.versions.get(pk=arm["resolvedVersionId"])
            gate.check(PublishRequest(resource=resource, version=version, caller=APPLICATION), code)
        events.record(
            CHANGED,
            by=APPLICATION,
            workspace_id=resource.workspace_id,
            resource=target_of(resource, code),
            rule=rule,
        )


def users_in(rule: Mapping[str, Any]) -> dict[str | None, list[dict[str, Any]]]:
    """Return the contexts of the users in each arm, by the version that they get; None for the active one."""
    found: dict[str | None, list[dict[str, Any]]] = {None: [{}]}
    for user in USERS:
        context = {"userId": user}
        found.setdefault((choose_arm(rule, context) or {}).get("resolvedVersionId"), []).append(context)
    return found
