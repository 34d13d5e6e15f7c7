"""Stored agents, the overrides of code-defined ones, and prompt blocks, which several agents share."""

from __future__ import annotations

from typing import Self

from django.db import models
from django.db.models import Q
from editor_client.shared import instructions
from editor_client.shared.configurations import referenced_agents

from versioning.domain import agents
from versioning.domain.access import Caller
from versioning.domain.agents import Registry
from versioning.models.querysets import PrivateQuerySet, VersionedQuerySet
from versioning.models.tags import Tag, VersionLabel
from versioning.models.versioned import VersionedResource
from versioning.models.versions import OwnVersion, Reference, Version


class Visibility(models.TextChoices):
    """The access to the published version from outside the workspace."""

    PRIVATE = "private"
    PUBLIC = "public"


def is_visible(visibility: str, code: Registry) -> Q:
    """Return the condition that an agent has this visibility: by its row or, for an override, by the code."""
    if not code.agents:
        return Q(visibility=visibility)
    alike = [agent.id for agent in code.agents.values() if agent.visibility == visibility]
    overrides = Q(workspace_id=code.workspace_id, pk__in=list(code.agents))
    return (Q(visibility=visibility) & ~overrides) | Q(workspace_id=code.workspace_id, pk__in=alike)


class AgentVersion(Version):
    """One saved configuration of an agent."""

    resource = models.ForeignKey("Agent", on_delete=models.CASCADE, related_name="versions", editable=False)

    class Meta(Version.Meta):
        constraints = [
            models.UniqueConstraint(name="agent_version_number_unique", fields=["resource", "number"]),
            models.UniqueConstraint(name="agent_version_owned", fields=["resource", "id"]),
            models.CheckConstraint(name="agent_version_number_positive", condition=Q(number__gte=1)),
        ]


class SubAgentReference(Reference):
    """A version of an agent refers to another agent as a sub-agent."""

    version = models.ForeignKey(AgentVersion, on_delete=models.CASCADE, related_name="sub_agents")

    fixed_by_code = True
    find = staticmethod(referenced_agents)

    class Meta:
        constraints = [
            models.UniqueConstraint(name="sub_agent_reference_once", fields=["version", "target_id"]),
        ]


class AgentQuerySet(VersionedQuerySet["Agent"]):
    """Queries for agents, which can be public.

    Code decides the visibility of an override; its row may hold that of an earlier release. So the methods
    take the agents that code currently defines.
    """

    def readable_by(self, caller: Caller, code: Registry, *, label: str | None = None) -> Self:
        return self.readable_where(caller, is_visible(Visibility.PUBLIC, code), label=label)


class Agent(VersionedResource):
    visibility = models.CharField(max_length=8, choices=Visibility.choices, default=Visibility.PRIVATE)
    # Plain foreign keys would accept a version of another agent; the constraints below do not.
    active_version = models.ForeignKey(
        AgentVersion,
        null=True,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_constraint=False,
        editable=False,
    )
    latest_version = models.ForeignKey(
        AgentVersion, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, editable=False
    )

    kind = agents.AGENT
    referred_by = SubAgentReference

    objects = AgentQuerySet.as_manager()

    class Meta(VersionedResource.Meta):
        indexes = [models.Index(name="agent_newest_first", fields=["-created_at", "id"])]
        constraints = [
            OwnVersion(name="agent_active_version_is_own", owner="id", pointer="active_version"),
            OwnVersion(name="agent_latest_version_is_own", owner="id", pointer="latest_version"),
            models.CheckConstraint(
                name="agent_visibility_known",
                condition=Q(visibility__in=[choice.value for choice in Visibility]),
            ),
            models.CheckConstraint(name="agent_id_not_empty", condition=~Q(id="")),
        ]


class AgentLabel(VersionLabel):
    resource = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="labels", editable=False)
    version = models.ForeignKey(
        AgentVersion, on_delete=models.DO_NOTHING, related_name="labels", db_constraint=False
    )

    class Meta(VersionLabel.Meta):
        constraints = [
            models.UniqueConstraint(name="agent_label_unique", fields=["resource", "name"]),
            OwnVersion(name="agent_label_version_is_own", owner="resource", pointer="version"),
        ]


class AgentTag(Tag):
    resource = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="tags", editable=False)

    class Meta(Tag.Meta):
        constraints = [models.UniqueConstraint(name="agent_tag_once", fields=["name", "resource"])]


class PromptBlockVersion(Version):
    """One saved configuration of a prompt block."""

    resource = models.ForeignKey(
        "PromptBlock", on_delete=models.CASCADE, related_name="versions", editable=False
    )

    class Meta(Version.Meta):
        constraints = [
            models.UniqueConstraint(name="block_version_number_unique", fields=["resource", "number"]),
            models.UniqueConstraint(name="block_version_owned", fields=["resource", "id"]),
            models.CheckConstraint(name="block_version_number_positive", condition=Q(number__gte=1)),
        ]


class PromptBlockQuerySet(PrivateQuerySet["PromptBlock"]):
    """Queries for prompt blocks, which only members of their workspace can read."""


class PromptBlock(VersionedResource):
    # Plain foreign keys would accept a version of another block; the constraints below do not.
    active_version = models.ForeignKey(
        PromptBlockVersion,
        null=True,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_constraint=False,
        editable=False,
    )
    latest_version = models.ForeignKey(
        PromptBlockVersion, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, editable=False
    )

    kind = agents.PROMPT_BLOCK

    objects = PromptBlockQuerySet.as_manager()

    class Meta(VersionedResource.Meta):
        indexes = [models.Index(name="block_newest_first", fields=["-created_at", "id"])]
        constraints = [
            OwnVersion(name="block_active_version_is_own", owner="id", pointer="active_version"),
            OwnVersion(name="block_latest_version_is_own", owner="id", pointer="latest_version"),
            models.CheckConstraint(name="block_id_not_empty", condition=~Q(id="")),
        ]


class PromptBlockLabel(VersionLabel):
    resource = models.ForeignKey(PromptBlock, on_delete=models.CASCADE, related_name="labels", editable=False)
    version = models.ForeignKey(
        PromptBlockVersion, on_delete=models.DO_NOTHING, related_name="labels", db_constraint=False
    )

    class Meta(VersionLabel.Meta):
        constraints = [
            models.UniqueConstraint(name="block_label_unique", fields=["resource", "name"]),
            OwnVersion(name="block_label_version_is_own", owner="resource", pointer="version"),
        ]


class PromptBlockTag(Tag):
    resource = models.ForeignKey(PromptBlock, on_delete=models.CASCADE, related_name="tags", editable=False)

    class Meta(Tag.Meta):
        constraints = [models.UniqueConstraint(name="block_tag_once", fields=["name", "resource"])]


class BlockReference(Reference):
    """A version of an agent refers to a stored prompt block in its instructions."""

    version = models.ForeignKey(AgentVersion, on_delete=models.CASCADE, related_name="blocks")

    target = PromptBlock
    find = staticmethod(instructions.referenced_blocks)

    class Meta:
        constraints = [
            models.UniqueConstraint(name="block_reference_once", fields=["version", "target_id"]),
        ]


SubAgentReference.target = Agent
PromptBlock.referred_by = BlockReference
AgentVersion.reference_models = (SubAgentReference, BlockReference)
