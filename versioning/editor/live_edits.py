"""Changes to what is live: a change is published by itself, past a draft that goes on waiting."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.config import Config
from versioning.domain.snapshots import Snapshot
from versioning.editor.reading import Who, caller_of
from versioning.editor.saving import NOTHING, Fields, Saving, merged_fields, message_or
from versioning.models import Version, VersionedResource
from versioning.models.versioned import EDIT_MESSAGE
from versioning.serving.resolution import Resolved

R = TypeVar("R", bound=VersionedResource)


class LiveEdits(Saving[R]):
    """The verb that saves and publishes one change."""

    def edit_live(
        self,
        resource_id: str,
        fields: Fields | None = None,
        *,
        metadata: Fields | None = NOTHING,
        visibility: str | None = None,
        message: str | None = None,
        by: Who = APPLICATION,
        expect: Collection[str] | None = None,
        **named: Any,
    ) -> Resolved[R]:
        """Make a change to what is live, and publish the result: nothing else goes live by it.

        A draft that waits to be published follows as a new version with the same change in it, unless
        it says by then what is live. Where nothing is live, the change is made to the latest version.
        Where the change leaves what is live as it is, there is no version and no pointer moves.
        """
        by = caller_of(by)
        with self._changing(resource_id, Right.SAVE, by, expect) as resource:
            by.require(Right.PUBLISH, resource.workspace_id)
            changes = merged_fields(fields, named)
            live, draft = self._live_and_draft(resource)
            config = self.schema_of(resource_id).edited(live, changes)
            self._refuse(resource_id, changes)
            message = message_or(EDIT_MESSAGE, message)
            self._edit_record(resource, metadata, visibility, by)
            version = resource.active or resource.latest
            own = {field: changes.get(field) for field in self.model.schema.changed(live, config)}
            if own:
                version = self._append_next(resource, config, message, by)
            if own or (changes and draft is None):
                self._activate(resource, version, by)
            if own and draft is not None:
                self._append_draft(resource, draft, own, version, by)
            return Resolved(
                resource=resource, version=version, warnings=self._warnings(resource, version, by)
            )

    def _live_config(self, resource: R) -> Config | None:
        """Return the configuration that published requests get; None when there is none."""
        return resource.active.config if resource.active is not None else None

    def _live_and_draft(self, resource: R) -> tuple[Config, Snapshot | None]:
        """Return what a change to what is live starts from, and the draft that waits beside it, if any."""
        live = self._live_config(resource)
        if live is None or not resource.has_draft:
            # What the next edit starts from can hold more than a file that says the same does.
            return resource.base.config, None
        return live, resource.latest

    def _append_draft(
        self, resource: R, draft: Snapshot, change: Fields, published: Snapshot, by: Caller
    ) -> None:
        """Let a draft follow a version that was published past it, with that version's change in it.

        What is wrong with a draft by the rules of today keeps nothing from being published, nor itself.
        """
        config = self.model.schema.merged(draft.config, change)
        if self.model.schema.changed(published.config, config):
            message = f"Version {draft.number} with the change of version {published.number}"
            self._append_next(resource, config, message, by)

    def _append_next(self, resource: R, config: Config, message: str, by: Caller) -> Version:
        """Add a version after whichever has the highest number."""
        newest = resource.versions.first() if resource.is_stored else None
        changed = self.model.schema.changed(newest.config if newest else {}, config)
        return self._append(resource, config, changed, message, by)
