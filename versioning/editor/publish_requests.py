"""What the gate checks: versions about to go live, resources about to be taken down, or shown to others."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from django.utils import timezone

from versioning.domain.access import Caller
from versioning.domain.agents import Registry
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource
from versioning.serving.grants import Grants, Names, Targets, grants_for, names_in, targets_of
from versioning.serving.overlays import Versions

Options = Mapping[str, Any]
"""Values of options, by their argument names in Python."""
NO_OPTIONS: Final[Options] = MappingProxyType({})
ALONE: Final[Versions] = MappingProxyType({})
"""Nothing else goes live in the same transaction."""


@dataclass(frozen=True, kw_only=True)
class GateRequest:
    """A change about which the gate decides."""

    resource: VersionedResource
    """The resource in its state before the change."""
    caller: Caller
    options: Options = field(default_factory=lambda: NO_OPTIONS)
    """The options that the caller has sent, by name; each check reads its own."""
    at: datetime.datetime = field(default_factory=timezone.now)
    """When it changes: now, or the time of its schedule, in UTC."""
    together: Versions = field(default_factory=lambda: ALONE)
    """What goes live in the same transaction, or is taken down."""
    before: Versions = field(default_factory=lambda: ALONE)
    """What was live before the transaction of the resources that move in it."""
    for_update: bool = False
    """Whether the change is made in this transaction, which has locked the resource; the gate sets it.

    A check then locks the rows that it reads if they could change before the commit.
    """


@dataclass(frozen=True, kw_only=True)
class PublishRequest(GateRequest):
    """A version that is about to go live."""

    version: Snapshot
    label: str | None = None
    """The label that is about to release it; None if it becomes the active version, or `keeps_active`."""
    keeps_active: bool = False
    """Whether the active version stays, because only a part of the requests gets this one."""

    @property
    def blocks(self) -> Mapping[str, bool]:
        """The prompt blocks that are published (True) or unpublished (False) in the same transaction."""
        return {
            resource_id: value.version_id is not None
            for (slug, resource_id), value in self.together.items()
            if KINDS_BY_SLUG[slug].is_shown
        }

    @cached_property
    def targets(self) -> Targets:
        """The resources that the version names now: checks judge them, and the version is granted them."""
        return targets_of(self.names)

    @cached_property
    def names(self) -> Names:
        """The ids that the version names."""
        return names_in(type(self.resource), self.version.config)

    @property
    def is_live_already(self) -> bool:
        """Return whether the version is already active, and no label is about to release it."""
        return self.label is None and self.version.version_id == self.resource.active_id

    def grants(self, code: Registry) -> Grants:
        """Return the grants that the version would gain."""
        replaces = self.version.version_id != self.resource.active_id
        return grants_for(self.version, self.names, self.targets, self.caller, code, replaces=replaces)


@dataclass(frozen=True, kw_only=True)
class TakeDownRequest(GateRequest):
    """A resource that is about to be unpublished or deleted, so that none of its versions is served."""


@dataclass(frozen=True, kw_only=True)
class VisibilityRequest(GateRequest):
    """A resource whose live version is about to be shown to other workspaces, or hidden from them."""

    visibility: str
    """Who may read it then: a value of `versioning.models.Visibility`."""
