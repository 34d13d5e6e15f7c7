"""The tables of scorers, and of the agents that name one."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from capabilities.evaluation.scoring.kind import SCORER, referenced_scorers
from versioning.models import Tag, Version, VersionedResource, VersionLabel
from versioning.models.agents import AgentVersion
from versioning.models.querysets import PrivateQuerySet
from versioning.models.text_search import SearchDocument
from versioning.models.versions import OwnVersion, Reference


class ScorerVersion(Version):
    """One saved configuration of a scorer."""

    resource = models.ForeignKey("Scorer", models.CASCADE, related_name="versions", editable=False)

    class Meta(Version.Meta):
        constraints = [
            models.UniqueConstraint(name="scorer_version_number_unique", fields=["resource", "number"]),
            models.UniqueConstraint(name="scorer_version_owned", fields=["resource", "id"]),
            models.CheckConstraint(name="scorer_version_number_positive", condition=Q(number__gte=1)),
        ]


class ScorerQuerySet(PrivateQuerySet["Scorer"]):
    """Queries for scorers, which only members of their workspace can read."""


class Scorer(VersionedResource):
    """A scorer."""

    active_version = models.ForeignKey(
        ScorerVersion, models.DO_NOTHING, null=True, related_name="+", db_constraint=False, editable=False
    )
    latest_version = models.ForeignKey(
        ScorerVersion, models.DO_NOTHING, related_name="+", db_constraint=False, editable=False
    )

    kind = SCORER
    objects = ScorerQuerySet.as_manager()

    class Meta(VersionedResource.Meta):
        indexes = [models.Index(name="scorer_newest_first", fields=["-created_at", "id"])]
        constraints = [
            OwnVersion(name="scorer_active_version_is_own", owner="id", pointer="active_version"),
            OwnVersion(name="scorer_latest_version_is_own", owner="id", pointer="latest_version"),
            models.CheckConstraint(name="scorer_id_not_empty", condition=~Q(id="")),
        ]


class ScorerLabel(VersionLabel):
    """A label on a version of a scorer."""

    resource = models.ForeignKey(Scorer, models.CASCADE, related_name="labels", editable=False)
    version = models.ForeignKey(ScorerVersion, models.DO_NOTHING, related_name="labels", db_constraint=False)

    class Meta(VersionLabel.Meta):
        constraints = [
            models.UniqueConstraint(name="scorer_label_unique", fields=["resource", "name"]),
            OwnVersion(name="scorer_label_version_is_own", owner="resource", pointer="version"),
        ]


class ScorerTag(Tag):
    """A tag of a scorer."""

    resource = models.ForeignKey(Scorer, models.CASCADE, related_name="tags", editable=False)

    class Meta(Tag.Meta):
        constraints = [models.UniqueConstraint(name="scorer_tag_once", fields=["name", "resource"])]


class ScorerDocument(SearchDocument):
    """A version of a scorer, in the index of words."""

    resource = models.ForeignKey(
        Scorer, models.DO_NOTHING, related_name="documents", db_constraint=False, db_index=False
    )


class ScorerReference(Reference):
    """A version of an agent names a scorer."""

    version = models.ForeignKey(AgentVersion, models.CASCADE, related_name="scorer_references")

    target = Scorer
    fixed_by_code = True
    find = staticmethod(referenced_scorers)

    class Meta:
        constraints = [models.UniqueConstraint(name="scorer_reference_once", fields=["version", "target_id"])]


Scorer.referred_by = ScorerReference
AgentVersion.reference_models = (*AgentVersion.reference_models, ScorerReference)
