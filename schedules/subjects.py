"""What a schedule is about, as stored now: a resource, and what is live of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from schedules.models import Action
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Invalid, NotFound
from versioning.domain.events import Target
from versioning.domain.kinds import KINDS
from versioning.editor import Collection, Editor
from versioning.editor.locking import changing
from versioning.editor.targets import target_of
from versioning.models import VersionedResource
from versioning.serving.resolution import find_version


class HasEditor(Protocol):
    """`editor.schedules`, whose methods are the functions of this package."""

    @property
    def editor(self) -> Editor:
        """The editor that it belongs to."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A resource, locked for this transaction."""

    columns: Mapping[str, Any]
    """What a schedule stores of it."""
    live: Mapping[str, str | None]
    """What is to be live until the schedule runs, as `Schedule.expects` has it."""
    resource: VersionedResource
    target: Target

    def pinned(self, version_id: str | None, action: str, *, field: str = "versionId") -> dict[str, Any]:
        """Return the columns of the version that an action needs; raises `Invalid`."""
        if action == Action.UNPUBLISH:
            if version_id is not None:
                raise Invalid.field(field, "must not be given: nothing is live after unpublishing")
            return {}
        if version_id is None:
            raise Invalid.field(field, "is required")
        try:
            version = find_version(self.resource, version_id)
        except NotFound:
            raise Invalid.field(field, "is no version of this resource") from None
        return {"version_id": version.version_id, "version_number": version.number}

    def expecting(self, version_id: str | None) -> Subject:
        """Return it with another version as the one that is to be live; None for nothing."""
        return replace(self, live=dict.fromkeys(self.live, version_id))


def collection_of(editor: Editor, kind: str) -> Collection[Any]:
    """Return the verbs of the kind with this word; raises `Invalid` for any other word."""
    found = next((one for one in KINDS if one.word == kind), None)
    if found is None:
        raise Invalid.field("resource.kind", f"must be one of {', '.join(one.word for one in KINDS)}")
    return editor.collection(found)


@contextmanager
def locked_resource(editor: Editor, kind: str, resource_id: str, by: Caller) -> Iterator[Subject]:
    """Lock a resource for this transaction.

    Raises `NotFound` if the caller may not read it, and `Forbidden` without the right to publish it.
    """
    with changing(collection_of(editor, kind), resource_id, Right.PUBLISH, by, even_gone=True) as resource:
        target = target_of(resource, editor.code)
        columns = {
            "kind": target.kind,
            "resource_id": target.id,
            "identity": target.identity,
            "workspace_id": target.workspace_id,
        }
        yield Subject(
            columns=columns,
            live={reference_of(resource): resource.active_id},
            resource=resource,
            target=target,
        )


def reference_of(resource: VersionedResource) -> str:
    """Return a resource as `Schedule.expects` names it."""
    return f"{resource.kind.word}/{resource.pk}"
