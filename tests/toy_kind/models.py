"""The tables of snippets."""

from __future__ import annotations

from django.db import models

from tests.toy_kind.kind import SNIPPET
from versioning.models import Tag, Version, VersionedResource, VersionLabel
from versioning.models.querysets import PrivateQuerySet
from versioning.models.text_search import SearchDocument
from versioning.models.versions import OwnVersion


class SnippetVersion(Version):
    """One saved configuration of a snippet."""

    resource = models.ForeignKey("Snippet", models.CASCADE, related_name="versions", editable=False)

    class Meta(Version.Meta):
        constraints = [
            models.UniqueConstraint(name="snippet_version_number_unique", fields=["resource", "number"]),
            models.UniqueConstraint(name="snippet_version_owned", fields=["resource", "id"]),
        ]


class SnippetQuerySet(PrivateQuerySet["Snippet"]):
    """Queries for snippets, which only members of their workspace can read."""


class Snippet(VersionedResource):
    """A snippet."""

    active_version = models.ForeignKey(
        SnippetVersion, models.DO_NOTHING, null=True, related_name="+", db_constraint=False, editable=False
    )
    latest_version = models.ForeignKey(
        SnippetVersion, models.DO_NOTHING, related_name="+", db_constraint=False, editable=False
    )

    kind = SNIPPET
    objects = SnippetQuerySet.as_manager()

    class Meta(VersionedResource.Meta):
        constraints = [
            OwnVersion(name="snippet_active_version_is_own", owner="id", pointer="active_version"),
            OwnVersion(name="snippet_latest_version_is_own", owner="id", pointer="latest_version"),
        ]


class SnippetLabel(VersionLabel):
    """A label on a version of a snippet."""

    resource = models.ForeignKey(Snippet, models.CASCADE, related_name="labels", editable=False)
    version = models.ForeignKey(SnippetVersion, models.DO_NOTHING, related_name="labels", db_constraint=False)

    class Meta(VersionLabel.Meta):
        constraints = [
            models.UniqueConstraint(name="snippet_label_unique", fields=["resource", "name"]),
            OwnVersion(name="snippet_label_version_is_own", owner="resource", pointer="version"),
        ]


class SnippetTag(Tag):
    """A tag of a snippet."""

    resource = models.ForeignKey(Snippet, models.CASCADE, related_name="tags", editable=False)

    class Meta(Tag.Meta):
        constraints = [models.UniqueConstraint(name="snippet_tag_once", fields=["name", "resource"])]


class SnippetDocument(SearchDocument):
    """A version of a snippet, in the index of words."""

    resource = models.ForeignKey(
        Snippet, models.DO_NOTHING, related_name="documents", db_constraint=False, db_index=False
    )
