"""Releases in Python: `editor.releases`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet

from releases import checking, editing, publishing, reverting
from releases.checking import Check
from releases.models import Release
from releases.pinning import Items
from releases.reverting import Reverting
from versioning.domain.access import APPLICATION
from versioning.editor import Editor, gate
from versioning.editor.resources import Who


class Releases:
    """What can be done with releases.

        release = editor.releases.create(
            "acme", title="Autumn", items=[{"resource": {"kind": "agent", "id": "writer"}}], by=user
        )
        editor.releases.publish(str(release.pk), by=user)

    `by` is who acts, with their rights; the default is the application.
    """

    def __init__(self, editor: Editor) -> None:
        self._editor = editor

    def list(
        self, *, workspace: str | None = None, state: str | None = None, by: Who = APPLICATION
    ) -> QuerySet[Release]:
        """Return the releases that the caller may read, newest first."""
        return editing.listed(by=by, workspace_id=workspace, state=state)

    def find(self, release_id: str, *, by: Who = APPLICATION) -> Release:
        """Return a release."""
        return editing.find(release_id, by=by)

    def create(
        self, workspace: str, *, title: str, description: str = "", items: Items = (), by: Who = APPLICATION
    ) -> Release:
        """Make a release; an item without a version pins the latest one of its resource."""
        return editing.create(
            self._editor, workspace, title=title, description=description, items=items, by=by
        )

    def change(
        self,
        release_id: str,
        *,
        title: str | None = None,
        description: str | None = None,
        items: Items | None = None,
        by: Who = APPLICATION,
        expect: Collection[str] | None = None,
    ) -> Release:
        """Change a draft release; see `editing.change`."""
        return editing.change(
            self._editor, release_id, title=title, description=description, items=items, by=by, expect=expect
        )

    def add_items(
        self,
        release_id: str,
        items: Items,
        *,
        by: Who = APPLICATION,
        expect: Collection[str] | None = None,
    ) -> Release:
        """Add items to a draft release, or replace those of the same resources; see `editing.add_items`."""
        return editing.add_items(self._editor, release_id, items, by=by, expect=expect)

    def remove_item(
        self,
        release_id: str,
        kind: str,
        resource_id: str,
        *,
        by: Who = APPLICATION,
        expect: Collection[str] | None = None,
    ) -> Release:
        """Take a resource out of a draft release."""
        return editing.remove_item(release_id, kind, resource_id, by=by, expect=expect)

    def delete(
        self, release_id: str, *, by: Who = APPLICATION, expect: Collection[str] | None = None
    ) -> None:
        """Delete a draft release."""
        editing.delete(release_id, by=by, expect=expect)

    def check(self, release_id: str, *, by: Who = APPLICATION) -> Check:
        """Return what keeps the caller from publishing a release."""
        return checking.check(self._editor, release_id, by=by)

    def publish(
        self,
        release_id: str,
        *,
        by: Who = APPLICATION,
        expect: Collection[str] | None = None,
        **options: Any,
    ) -> Release:
        """Publish all of a release, or nothing; see `publishing.publish`."""
        given = gate.only_options(options)
        return publishing.publish(self._editor, release_id, options=given, by=by, expect=expect)

    def revert(self, release_id: str, *, by: Who = APPLICATION) -> Reverting:
        """Make a draft release back to what was live before a published one."""
        return reverting.revert(self._editor, release_id, by=by)
