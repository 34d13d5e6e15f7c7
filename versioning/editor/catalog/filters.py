"""What a catalog can be narrowed by: for rows in SQL, for what code defines by looking at the entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q, QuerySet

from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.editor.catalog.entries import Entry, ResourceState
from versioning.models.search import matching, occurs
from versioning.models.versioned import VersionedQuerySet, within


@dataclass(frozen=True, kw_only=True)
class Filter:
    """What to look for; an empty member does not narrow anything."""

    text: str = ""
    workspace: str = ""
    state: ResourceState | None = None
    author: str = ""
    """Who saved the newest version that the caller may read."""
    label: str = ""
    visibility: str = ""
    folder: str = ""

    def narrow(self, resources: VersionedQuerySet[Any], caller: Caller) -> QuerySet[Any]:
        """Return the matching rows; nothing is found by what the caller may not read."""
        drafts = within("workspace_id", caller.scope(Right.READ_DRAFTS))
        if self.workspace:
            resources = resources.filter(workspace_id=self.workspace)
        if self.visibility:
            resources = resources.filter(visibility=self.visibility)
        if self.folder:
            resources = resources.filter(id__startswith=self.folder)
        if self.author:
            resources = resources.filter(
                Q(drafts, latest_version__author__username=self.author)
                | Q(~drafts, active_version__author__username=self.author)
            )
        if self.label:
            live = Q(labels__version=F("active_version")) | Q(labels__released=True)
            resources = resources.filter(drafts | live, labels__name=self.label)
        if self.state:
            resources = resources.filter(_is_in(self.state, drafts))
        return matching(resources, self.text, caller)

    def matches(self, entry: Entry, config: Config) -> bool:
        """Say whether an entry passes; `config` is what is served with its newest readable version."""
        author = entry.version.author_name if entry.version else None
        return (
            occurs(self.text, entry.id, config)
            and self.workspace in {"", entry.workspace_id}
            and self.state in {None, entry.state}
            and self.visibility in {"", entry.visibility}
            and entry.id.startswith(self.folder)
            and self.author in {"", author}
            and self.label in {"", *entry.labels}
        )


def _is_in(state: ResourceState, drafts: Q) -> Q:
    newest_is_live = Q(active_version=F("latest_version"))
    if state is ResourceState.DRAFT:
        return Q(active_version__isnull=True)
    is_live = Q(active_version__isnull=False)
    if state is ResourceState.CHANGED:
        return is_live & drafts & ~newest_is_live
    return is_live & (~drafts | newest_is_live)
