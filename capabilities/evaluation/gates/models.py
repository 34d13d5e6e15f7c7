"""Gates, which require evidence before versions of an agent go live."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q, Value
from django.utils import timezone

from capabilities.evaluation.datasets.models import Dataset
from versioning.domain.access import Caller, Right
from versioning.domain.agents import AGENT
from versioning.models import Workspace, events
from versioning.models.querysets import covered_by, within
from versioning.models.text_keys import contains

if TYPE_CHECKING:
    from uuid import UUID

Rule = Mapping[str, Any]


class AgentReference(NamedTuple):
    """A reference to an agent, in the form of events."""

    resource_kind: str
    resource_id: str


@dataclass(frozen=True, kw_only=True)
class AgentIdentity:
    """The identity of an agent."""

    id: str
    identity: UUID
    """Distinguishes it from a later one with the same id."""
    workspace_id: str

    @property
    def about(self) -> AgentReference:
        """The reference to the agent."""
        return AgentReference(AGENT.slug, self.id)


class Bypass(models.TextChoices):
    """The people who can publish a version without the evidence that a gate requires."""

    ADMIN = "admin"
    NOBODY = "nobody"


class ToolPolicy(models.TextChoices):
    """The policy for a tool call without a mock in the item."""

    DENY = "deny"
    ALLOW = "allow"


class TooFew(models.TextChoices):
    """The result of a gate with too few items to show the difference that a rule requires."""

    REFUSE = "refuse"
    ALLOW = "allow"


LATEST: Final = "latest"
"""The `dataset_policy` of a gate that follows its dataset."""


class ScorerPin(NamedTuple):
    """The exact scorer of a gate, as opposed to a later one with the same id."""

    identity: str
    is_external: bool
    """Whether it was external when the gate was created, so that the gate accepts sent scores."""
    block: tuple[str, str] | None
    """The id and the identity of the prompt block that it named, if it is a judge."""


class GateQuerySet(models.QuerySet["Gate"]):
    """Queries for gates."""

    def readable_by(self, caller: Caller) -> Self:
        """Filter by the gates of workspaces whose drafts the caller may read.

        A key that is limited to some ids gets no gates of other agents or of every agent.
        """
        rows = self.filter(within("workspace_id", caller.scope(Right.READ_DRAFTS)))
        return rows.filter(covered_by(caller, "agent_id"))

    def enabled(self) -> Self:
        """Filter by the enabled gates."""
        return self.filter(enabled=True)

    def asking(self, agents: Sequence[AgentIdentity]) -> Self:
        """Filter by the enabled gates that may be about one of these agents."""
        workspaces = {agent.workspace_id for agent in agents}
        condition = Q(agent_id__in=[agent.id for agent in agents]) | Q(agent_id="")
        return self.enabled().filter(condition, workspace__in=workspaces)

    def naming_scorer(self, scorer_id: str) -> Self:
        """Filter by the gates that score with a scorer."""
        return self.filter(contains(F("scorer_keys"), Value(f"\n{scorer_id}\n")))

    def in_turn(self) -> Self:
        """Lock only the rows, as `with_lock` does, so that judgements of live states do not overlap."""
        return self.select_for_update(no_key=True).order_by("pk").only("pk")

    def with_lock(self) -> Self:
        """Lock the rows and their datasets until the end of the transaction, in a fixed order."""
        return self.select_related("dataset").select_for_update(of=("self", "dataset"), no_key=True)


class Gate(models.Model):
    """A requirement for the versions of an agent, or of every agent of a workspace."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+")
    agent_id = models.CharField(max_length=200, blank=True)
    """The agent; empty for every agent of the workspace."""
    identity = models.UUIDField(null=True)
    """Distinguishes the agent from a later one with the same id; null for every agent."""
    # Its dataset is not deleted, unless the workspace is.
    dataset = models.ForeignKey(Dataset, on_delete=models.RESTRICT, related_name="gates")
    scorer_keys = models.TextField()
    """The ids of the scorers, each between line feeds, in their order."""
    scorer_pins_json = models.TextField(default="{}", db_default="{}")
    """The data of `ScorerPin`, by the ids of the scorers."""
    primary_scorer = models.CharField(max_length=200)
    attempts = models.PositiveSmallIntegerField(default=1)
    rules_json = models.TextField()
    evidence_days = models.PositiveSmallIntegerField(default=30)
    request_context_json = models.TextField(default="{}", db_default="{}")
    """The request context in which items have to run; that of an item takes precedence."""
    tool_policy = models.CharField(
        max_length=8, choices=ToolPolicy.choices, default=ToolPolicy.DENY, db_default="deny"
    )
    dataset_version = models.PositiveIntegerField(null=True)
    """The version of the dataset for evidence; null for the current one."""
    too_few = models.CharField(
        max_length=8, choices=TooFew.choices, default=TooFew.REFUSE, db_default="refuse"
    )
    bypass = models.CharField(max_length=16, choices=Bypass.choices, default=Bypass.ADMIN)
    enabled = models.BooleanField(default=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    if TYPE_CHECKING:
        workspace_id: str
        dataset_id: UUID

    objects = GateQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "pk"]
        indexes = [
            models.Index(name="gate_asking_in", fields=["workspace", "created_at"], condition=Q(enabled=True))
        ]

    def __str__(self) -> str:
        return f"{self.agent_id or self.workspace_id}: {self.dataset.name}"

    @property
    def scorer_ids(self) -> Sequence[str]:
        """The ids of the scorers, in their order."""
        return [key for key in self.scorer_keys.split("\n") if key]

    @property
    def about(self) -> AgentReference | None:
        """The reference to the agent; None for every agent."""
        return AgentReference(AGENT.slug, self.agent_id) if self.agent_id else None

    @cached_property
    def rules(self) -> Sequence[Rule]:
        """The rules, all of which have to hold; not to be changed."""
        rules: Sequence[Rule] = json.loads(self.rules_json)
        return rules

    @cached_property
    def scorer_pins(self) -> Mapping[str, ScorerPin]:
        """The original scorers, by their ids."""
        pins = json.loads(self.scorer_pins_json)
        return {
            scorer_id: ScorerPin(identity, is_external, None if block is None else tuple(block))
            for scorer_id, (identity, is_external, block) in pins.items()
        }

    @cached_property
    def request_context(self) -> Mapping[str, Any]:
        """The request context in which items have to run; not to be changed."""
        context: Mapping[str, Any] = json.loads(self.request_context_json)
        return context

    @property
    def dataset_policy(self) -> int | str:
        """The version of its dataset, or `LATEST`."""
        return LATEST if self.dataset_version is None else self.dataset_version

    @property
    def present_version(self) -> int:
        """The version of its dataset for evidence."""
        return self.dataset.version if self.dataset_version is None else self.dataset_version

    def asks_about(self, agent: AgentIdentity) -> bool:
        """Return whether it requires evidence about an agent."""
        if self.workspace_id != agent.workspace_id:
            return False
        return not self.agent_id or (self.agent_id == agent.id and self.identity == agent.identity)

    def record(self, change: str, by: Caller, **more: Any) -> None:
        """Record an event about it."""
        more |= {"gateId": str(self.pk), "agentId": self.agent_id or None, "dataset": self.dataset.name}
        events.record(f"gate.{change}", by=by, workspace_id=self.workspace_id, **more)
