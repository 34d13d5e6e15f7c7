"""Prompt blocks: pieces of instructions that several agents share."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from editor_client.shared import instructions

from versioning.domain import agents
from versioning.models.agents import AgentVersion, SubAgentReference
from versioning.models.querysets import PrivateQuerySet
from versioning.models.tags import Tag, VersionLabel
from versioning.models.versioned import VersionedResource
from versioning.models.versions import OwnVersion, Reference, Version


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


PromptBlock.referred_by = BlockReference
AgentVersion.reference_models = (SubAgentReference, BlockReference)
