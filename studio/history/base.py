"""The base class of the pages that link to versions of a resource."""

from __future__ import annotations

from urllib.parse import urlencode

from studio.resources.base import ResourcePage
from versioning.domain.access import Right
from versioning.domain.selectors import State
from versioning.domain.snapshots import Snapshot
from versioning.editor.timeline import Entry
from versioning.models import VersionedResource


class VersionLinksPage(ResourcePage):
    """A page with links to the actions on versions."""

    tab = "history"

    def comparison(self, before: Snapshot | None, after: Snapshot | None) -> str:
        """Return the address of the comparison of two versions; empty if one is missing or both are equal."""
        if before is None or after is None or before.version_id == after.version_id:
            return ""
        query = urlencode({"from": before.version_id, "to": after.version_id})
        return f"{self.address('compare')}?{query}"

    def publish_address(self, version: Snapshot) -> str:
        """Return the address of the page that publishes a version."""
        return f"{self.address('publish')}?{urlencode({'version': version.version_id})}"

    def links(self, resource: VersionedResource, entry: Entry) -> dict[str, str]:
        """Return the URLs of all pages and actions of a version."""
        version = entry.version
        names = ("version", "restore", "labels", "download", "version_delete")
        return {
            **{name: self.address(name, version.version_id) for name in names},
            "publish": self.publish_address(version),
            "with_previous": self.comparison(entry.previous, version),
            "with_live": self.comparison(resource.active, version),
        }

    def may_delete(self, entry: Entry) -> bool:
        """Return whether to offer deleting a version; the verb checks everything that prevents it."""
        if entry.version.read_only or entry.is_live or entry.labels:
            return False
        return self.may(Right.SAVE if entry.state is State.DRAFT else Right.PUBLISH)
