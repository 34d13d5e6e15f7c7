"""What every verb is given: the kind of resource, where it is stored, and what code owns of it."""

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
from versioning.serving.reference_checks import warnings_for

R = TypeVar("R", bound=VersionedResource)

Who = Caller | AbstractBaseUser
"""Who acts: a caller with given rights, or a user, whose current roles count."""


def caller_of(who: Who) -> Caller:
    """Return the caller for whoever acts."""
    return who if isinstance(who, Caller) else caller_for(cast("Any", who))


@dataclass(frozen=True)
class Resources(Generic[R]):
    """The resources of one kind, for the verbs to work on."""

    model: type[R]
    code: Registry
    """The agents and tools that code defines."""
    backend: Backend[R]
    agents: Backend[Agent]
    """Where agents are stored; they alone refer to other resources."""

    @property
    def kind(self) -> ResourceKind:
        """The kind of these resources."""
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
        """Return warnings about references that lead nowhere; none for a kind without references."""
        if not self.model.version_model.reference_models:
            return ()
        return warnings_for(resource.pk, version.config, by, self.code)
