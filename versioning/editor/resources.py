"""What every verb is handed: the kind of resource, where it lives, and what code has a say in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from django.contrib.auth.base_user import AbstractBaseUser

from versioning.domain.access import Caller
from versioning.domain.kinds import ResourceKind
from versioning.domain.registry import Registry
from versioning.domain.resolved_agent import Notice
from versioning.domain.snapshots import Snapshot
from versioning.editor.backends import Backend
from versioning.editor.ownership import CodeOwnership
from versioning.models import Agent, VersionedResource, caller_for
from versioning.models.querysets import VersionedQuerySet
from versioning.serving.dependents import warnings_for

R = TypeVar("R", bound=VersionedResource)

Who = Caller | AbstractBaseUser
"""Whoever acts: a caller with rights of its own, or a user with the roles of this moment."""


def caller_of(who: Who) -> Caller:
    """Return the caller that acts."""
    return who if isinstance(who, Caller) else caller_for(cast("Any", who))


@dataclass(frozen=True)
class Resources(Generic[R]):
    """The resources of one kind, before any verb."""

    model: type[R]
    code: Registry
    """The agents and tools that code defines."""
    backend: Backend[R]
    agents: Backend[Agent]
    """Where the agents live, which alone refer to other resources."""

    @property
    def kind(self) -> ResourceKind:
        """What kind of resource they are."""
        return self.model.kind

    @property
    def ownership(self) -> CodeOwnership:
        """What code owns of them."""
        return CodeOwnership(self.kind, self.code)

    @property
    def all(self) -> VersionedQuerySet[R]:
        """Every row of this kind, whoever may read it."""
        return cast("VersionedQuerySet[R]", self.model._default_manager.all())

    def warnings(self, resource: R, version: Snapshot, by: Caller) -> tuple[Notice, ...]:
        """Return what a version refers to in vain; nothing of a kind whose versions refer to nothing."""
        if not self.model.version_model.reference_models:
            return ()
        return warnings_for(resource.pk, version.config, by, self.code)
