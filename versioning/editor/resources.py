"""The common arguments of verbs: the kind of resource, its storage, and the parts that code owns.

A code-defined agent exists without a row. A row with its id in the code's workspace is its override: it
contains the fields that the code allows to change, and applies when the agent is served. A row in another
workspace was stored before the code took its id; it is not an override and stays unchanged.

Code owns nothing of a kind that it cannot define; every method then returns the ordinary answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

from django.contrib.auth.base_user import AbstractBaseUser

from versioning.domain.access import APPLICATION, Caller
from versioning.domain.agents import Notice, Registry
from versioning.domain.config import Config, ConfigSchema
from versioning.domain.context_schema import SCHEMA_FIELD
from versioning.domain.errors import Invalid
from versioning.domain.kinds import ResourceKind
from versioning.domain.overrides import CodeAgent, find_refused_changes
from versioning.domain.snapshots import Snapshot
from versioning.domain.texts import may_have_invisible_runs
from versioning.editor.backends import Backend
from versioning.editor.configuration_checks import (
    configuration_warnings,
    invisible_characters,
    unknown_placeholders,
)
from versioning.models import Agent, Favorite, Favorited, Version, VersionedResource, caller_for
from versioning.models.querysets import VersionedQuerySet
from versioning.serving.references import limit_notices, warnings_for


@dataclass(frozen=True)
class CodeOwnership:
    """The code-defined agents, and the rules for their overrides."""

    kind: ResourceKind
    code: Registry

    @property
    def workspace_id(self) -> str:
        """The workspace of overrides."""
        return self.code.workspace_id

    def defines(self, resource_id: str) -> CodeAgent | None:
        """Return the agent that code defines under this id, or None."""
        return self.code.agents.get(resource_id) if self.kind.in_code else None

    def readable_by(self, by: Caller) -> Mapping[str, CodeAgent]:
        """Return the code-defined resources that the caller may read, by id."""
        return self.code.readable_by(by) if self.kind.in_code else {}

    def readable(self, resource_id: str, by: Caller) -> CodeAgent | None:
        """Return the agent that code defines under this id, if the caller may read it, or None."""
        return self.code.readable(resource_id, by) if self.kind.in_code else None

    def overridden_by(self, resource: VersionedResource) -> CodeAgent | None:
        """Return the agent that a resource overrides; None if it is not an override."""
        return self.code.overridden_by(resource.pk, resource.workspace_id) if self.kind.in_code else None

    def overridden_by_id(self, resource_id: str) -> CodeAgent | None:
        """Return the agent that a row with this id overrides, or would override; None for a row elsewhere."""
        agent = self.defines(resource_id)
        if agent is None:
            return None
        elsewhere = Agent.objects.filter(pk=resource_id).exclude(workspace_id=self.workspace_id)
        return None if elsewhere.exists() else agent

    # Determined by code

    def schema_of(self, resource_id: str) -> ConfigSchema:
        """Return the schema of the snapshots of this resource."""
        return self.schema_for(self.overridden_by_id(resource_id))

    def schema_for(self, agent: CodeAgent | None) -> ConfigSchema:
        """Return the schema of snapshots; that of an override of an agent has no required fields."""
        override = self.kind.override_schema
        return self.kind.schema if agent is None or override is None else override

    def refuse_changes(self, agent: CodeAgent | None, changes: Mapping[str, Any]) -> None:
        """Raise `Invalid` for fields of an override that the code of its agent does not allow to change."""
        issues = find_refused_changes(agent, changes) if agent else []
        if issues:
            raise Invalid(issues, code="owned_by_code")

    def refuse_visibility(self, agent: CodeAgent, visibility: str | None) -> None:
        """Raise `Invalid` for a visibility that differs from the code's."""
        if visibility not in {None, agent.visibility}:
            raise Invalid.field("visibility", "belongs to the code of this agent", code="owned_by_code")

    def live_config(self, resource: VersionedResource) -> Config | None:
        """Return the configuration that published requests get, or None.

        Without a published override the code is live, which equals an empty override.
        """
        if resource.active is not None:
            return resource.active.config
        return {} if self.overridden_by(resource) else None


R = TypeVar("R", bound=VersionedResource)

Who = Caller | AbstractBaseUser
"""The caller, with given rights, or a user, whose current roles count."""


def caller_of(who: Who) -> Caller:
    """Return the caller for a user; a caller is returned as it is."""
    return who if isinstance(who, Caller) else caller_for(cast("Any", who))


@dataclass(frozen=True)
class Resources(Generic[R]):
    """The resources of one kind, which the verbs work on."""

    model: type[R]
    code: Registry
    """The agents and tools that code defines."""
    backend: Backend[R]
    agents: Backend[Agent]
    """Where agents are stored; only agents refer to other resources."""

    @cached_property
    def kind(self) -> ResourceKind:
        """The kind of these resources."""
        return self.model.kind

    @cached_property
    def ownership(self) -> CodeOwnership:
        """The part of them that code owns."""
        return CodeOwnership(self.kind, self.code)

    @property
    def all(self) -> VersionedQuerySet[R]:
        """Every row of this kind, readable or not."""
        return cast("VersionedQuerySet[R]", self.model._default_manager.all())

    def warnings(self, resource: R, version: Snapshot, by: Caller) -> tuple[Notice, ...]:
        """Return warnings about dangling references and about parts that no run can use.

        For an override, only the applied fields are checked.
        """
        notices: tuple[Notice, ...] = ()
        if self.model.version_model.reference_models:
            notices = warnings_for(resource.pk, version.config, by, self.code)
        if self.ownership.defines(resource.pk) is None:
            notices += tuple(configuration_warnings(self.kind, version.config, self.code))
        if SCHEMA_FIELD in version.config:
            notices += tuple(unknown_placeholders(self.kind, version.config))
        if not isinstance(version, Version) or may_have_invisible_runs(version.config_json):
            notices += tuple(invisible_characters(version.config))
        return limit_notices(notices)

    def schema_of(self, resource_id: str) -> ConfigSchema:
        """Return the schema of the snapshots of this resource."""
        return self.ownership.schema_of(resource_id)

    def favorites_about(
        self, resource_ids: Collection[str], *, by: Who = APPLICATION
    ) -> Mapping[str, Favorited]:
        """Return who has marked these resources as favorites, by resource id."""
        return Favorite.objects.about(self.kind, resource_ids, caller_of(by).user_id)
