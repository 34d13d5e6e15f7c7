"""What code owns of the resources that it defines: a policy that the verbs ask.

An agent that code defines is there without any row. A row of the same id in the workspace of the code
is its override: it holds what the code lets it change, and lies over the code when it is served. A row
elsewhere was stored before the code took its id; it is no override, and stays what it was.

Of a kind that code cannot define nothing is owned by code, and every answer is the ordinary one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from versioning.domain.access import Caller
from versioning.domain.config import Config, ConfigSchema
from versioning.domain.errors import Forbidden, Invalid
from versioning.domain.kinds import ResourceKind
from versioning.domain.overrides import CodeAgent, laid_over, refused
from versioning.domain.registry import Registry
from versioning.models import Agent, VersionedResource


@dataclass(frozen=True)
class CodeOwnership:
    """The agents that code defines, and what it decides about their overrides."""

    kind: ResourceKind
    code: Registry

    @property
    def workspace_id(self) -> str:
        """The workspace that overrides belong to."""
        return self.code.workspace_id

    def defines(self, resource_id: str) -> CodeAgent | None:
        """Return the agent that code defines under this id, or None."""
        return self.code.get(resource_id) if self.kind.in_code else None

    def readable_by(self, by: Caller) -> Mapping[str, CodeAgent]:
        """Return what code defines and the caller may read, by id."""
        return self.code.readable_by(by) if self.kind.in_code else {}

    def hides(self, resource_id: str, by: Caller) -> bool:
        """Say whether code defines an agent of which the caller may not know."""
        return self.defines(resource_id) is not None and resource_id not in self.readable_by(by)

    def overridden_by(self, resource: VersionedResource) -> CodeAgent | None:
        """Return the agent whose override a resource is; None for every other resource."""
        return self.defines(resource.pk) if resource.workspace_id == self.workspace_id else None

    def overridden_by_id(self, resource_id: str) -> CodeAgent | None:
        """Return the agent that a row of this id overrides, or would; None for a row that is elsewhere."""
        agent = self.defines(resource_id)
        if agent is None:
            return None
        elsewhere = Agent.objects.filter(pk=resource_id).exclude(workspace_id=self.workspace_id)
        return None if elsewhere.exists() else agent

    # What it decides

    def schema_of(self, resource_id: str) -> ConfigSchema:
        """Return what the snapshots of this resource hold: an override requires nothing."""
        override = self.kind.override_schema
        return self.kind.schema if override is None or not self.overridden_by_id(resource_id) else override

    def home_of(self, resource_id: str, asked: str | None) -> str | None:
        """Return the workspace to make a resource in: of an override the code's, else the one asked for."""
        if self.defines(resource_id) is None:
            return asked
        if asked not in {None, self.workspace_id}:
            raise Forbidden(
                f"{resource_id!r} is defined in code; its override belongs to the workspace "
                f"{self.workspace_id!r}."
            )
        return self.workspace_id

    def refuse_changes(self, resource_id: str, changes: Mapping[str, Any]) -> None:
        """Raise `Invalid` for fields that the code keeps to itself."""
        agent = self.overridden_by_id(resource_id)
        issues = refused(agent, changes) if agent else []
        if issues:
            raise Invalid(issues, code="owned_by_code")

    def refuse_visibility(self, agent: CodeAgent, asked: str | None) -> None:
        """Raise `Invalid` for a visibility that is not the code's."""
        if asked not in {None, agent.visibility}:
            raise Invalid.field("visibility", "belongs to the code of this agent", code="owned_by_code")

    def live_config(self, resource: VersionedResource) -> Config | None:
        """Return the configuration that published requests get; None when there is none.

        Where no override is published the code is live, which is what an empty one amounts to.
        """
        if resource.active is not None:
            return resource.active.config
        return {} if self.overridden_by(resource) else None

    def whole_config(self, resource: VersionedResource, config: Config) -> Config:
        """Return a configuration such as a resource of its own could have it."""
        agent = self.overridden_by(resource)
        return laid_over(agent, config) if agent else config
