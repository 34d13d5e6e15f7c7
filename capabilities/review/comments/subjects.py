"""The resource of comments: who may read and change them, and a lock against concurrent changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from capabilities.review.models import Comment
from versioning.domain.access import Caller, Right
from versioning.domain.errors import NotFound
from versioning.domain.events import Reach, Target
from versioning.domain.kinds import kind_named
from versioning.domain.overrides import IN_CODE
from versioning.domain.snapshots import Snapshot
from versioning.domain.uuids import parse_uuid
from versioning.editor import Collection, Editor
from versioning.models import Workspace, events
from versioning.serving.grants import target_of


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A resource whose drafts the caller may read, and its comments."""

    collection: Collection[Any]
    target: Target
    caller: Caller

    @classmethod
    def find(cls, editor: Editor, kind: str, resource_id: str, by: Caller) -> Subject:
        """Return the resource.

        Raises `NotFound` if the caller may not read it, `Forbidden` if the caller may not read its drafts,
        and `Invalid` for an unknown kind.
        """
        collection = editor.collection(kind_named(kind))
        resource = collection.versions(resource_id, by=by).resource
        if resource is not None:
            target = target_of(resource, editor.code)
        else:
            # An agent that only code defines: comments on its overrides remain.
            target = Target(
                kind=kind,
                id=resource_id,
                identity=IN_CODE,
                workspace_id=editor.code.workspace_id,
                reach=Reach.EDITORS,
            )
        return cls(collection=collection, target=target, caller=by)

    @classmethod
    def of(cls, editor: Editor, comment_id: str, by: Caller) -> tuple[Subject, Comment]:
        """Return the resource of a comment, and the comment; raises as `find` does."""
        comment = Comment.objects.select_related("parent").filter(pk=parse_uuid(comment_id)).first()
        if comment is None:
            raise NotFound
        subject = cls.find(editor, comment.kind, comment.resource_id, by)
        if subject.target.identity != comment.identity:
            raise NotFound
        return subject, comment

    def version(self, version_id: str) -> Snapshot:
        """Return a version of the resource; raises `NotFound`."""
        found: Snapshot = self.collection.version(self.target.id, version_id, by=self.caller).version
        return found

    def comment(self, comment_id: str) -> Comment:
        """Return one of its comments; raises `NotFound`."""
        rows = Comment.objects.about(self.target).select_related("parent")
        found = rows.filter(pk=parse_uuid(comment_id)).first()
        if found is None:
            raise NotFound
        return found

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Open a transaction that prevents others from changing its comments or deleting it.

        Raises `Forbidden` without the right to save, and `NotFound` if it has just been deleted.
        """
        self.caller.require(Right.SAVE, self.target.workspace_id)
        with events.transaction():
            events.acts(self.caller)
            if self.target.identity == IN_CODE:
                workspaces = Workspace.objects.select_for_update(no_key=True)
                list(workspaces.filter(pk=self.target.workspace_id))
            elif not list(self.collection.all.locked().filter(uuid=self.target.identity).only("pk")):
                raise NotFound
            yield
