"""A version that is about to go live, as the gate, reviews and pages judge it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from versioning.conf import get_editor
from versioning.domain.events import Target
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource
from versioning.models.versioned import MODELS_BY_SLUG
from versioning.serving.grants import Named, find_targets, named_by_versions, named_in, names_in

Key = tuple[Any, ...]
"""A resource by kind, id and identity, or with a digest one of its configurations."""


@dataclass(frozen=True, kw_only=True)
class JudgedVersion:
    """A version that is about to go live."""

    target: Target
    version_id: str
    number: int
    digest: str
    """The digest of its configuration."""
    named: frozenset[Named] | None = None
    """The resources that the configuration names now; None to read them from the rows of its references."""
    is_numbered: bool = True
    """Whether its number was given by the editor: commits are numbered separately."""
    was_in_file: bool = False
    """Whether the override file has or had its configuration, which then was live."""

    @property
    def resource(self) -> Key:
        """The key of its resource."""
        return self.target.kind, self.target.id, self.target.identity

    @property
    def configuration(self) -> Key:
        """The key of its configuration."""
        return *self.resource, self.digest


def judged_version(
    resource: VersionedResource,
    version: Snapshot,
    target: Target,
    *,
    named: frozenset[Named] | None = None,
) -> JudgedVersion:
    """Return a version of a resource as it is judged before it goes live.

    `named` are the resources that it names, if known. Only identifying fields of the version are used, so it
    may have been read without its text, or deleted.
    """
    pointers = resource.pointers
    held = pointers.find(version.version_id) if pointers is not None and version.read_only else None
    return JudgedVersion(
        target=target,
        version_id=version.version_id,
        number=version.number,
        digest=version.digest,
        named=named_by(resource, held) if named is None and held is not None else named,
        is_numbered=not version.read_only,
        was_in_file=version.read_only or _is_in_file(resource, version),
    )


def named_by(resource: VersionedResource, version: Snapshot) -> frozenset[Named]:
    """Return the resources that a version names now; one query for each kind of reference in it."""
    return named_in(find_targets(names_in(type(resource), version.config)), get_editor().code)


def named_now(asked: Sequence[JudgedVersion]) -> Mapping[Key, frozenset[Named]]:
    """Return the resources that versions name now, by configuration key; one query for each kind."""
    found = {one.configuration: one.named for one in asked if one.named is not None}
    unknown = [one for one in asked if one.named is None and one.is_numbered]
    code = get_editor().code
    for kind in sorted({one.target.kind for one in unknown}):
        some = {one.version_id: one.configuration for one in unknown if one.target.kind == kind}
        named = named_by_versions(MODELS_BY_SLUG[kind].version_model, some, code)
        found |= {key: named.get(version_id, frozenset()) for version_id, key in some.items()}
    return found


def about(asked: Collection[JudgedVersion]) -> Q:
    """Return the condition for rows about the resources; other resources may share one of the columns."""
    return Q(
        resource_id__in={one.target.id for one in asked},
        identity__in={one.target.identity for one in asked},
    )


def _is_in_file(resource: VersionedResource, version: Snapshot) -> bool:
    """Return whether the override file has exactly this configuration, or had it in some commit."""
    if resource.pointers is None:
        return False
    held = (resource.pointers.file, *resource.pointers.from_git)
    return any(one is not None and one.digest == version.digest for one in held)
