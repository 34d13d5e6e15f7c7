"""The agents: what the collection of all resources does otherwise where an agent is defined in code.

A code-defined agent is there without any record. Its record is an override, which belongs to the
workspace of the code, holds what the code lets it change, and lies over the code when it is served.
"""

from __future__ import annotations

from collections.abc import Collection as AnyCollection
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn
from uuid import UUID

from editor_client.shared.evaluation import Evaluation
from editor_client.shared.instructions import referenced_blocks
from pydantic.alias_generators import to_camel

from versioning.domain import config
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.config import Config, ConfigSchema
from versioning.domain.errors import Forbidden, IdTaken, Invalid, NotFound
from versioning.domain.overrides import IN_CODE, CodeAgent, applied, code_config, laid_over, refused
from versioning.domain.registry import Registry
from versioning.domain.resolved_agent import ResolvedAgent
from versioning.domain.selectors import DRAFT, PUBLISHED, Selector, Status
from versioning.editor.favorites import AgentFavorites
from versioning.editor.reading import History, Who, caller_of
from versioning.editor.saving import id_of_new, message_or
from versioning.models import Agent, AgentLabel, AgentVersion, VersionedResource
from versioning.models.basis import Basis
from versioning.models.versioned import VersionedQuerySet
from versioning.serving.assembly import Blocks, Candidate, all_assembled, assembled
from versioning.serving.dependents import Dependents, dependents_of
from versioning.serving.resolution import Resolved, require_drafts, select


class Agents(AgentFavorites):
    """Stored agents, and overrides of those that code defines."""

    def __init__(self, code: Registry) -> None:
        super().__init__(Agent, AgentLabel, code, publishes_at_once=True)

    # Serving

    def serve(
        self,
        agent_id: str,
        selector: Selector = PUBLISHED,
        *,
        context: Mapping[str, Any] | Evaluation | None = None,
        by: Who = APPLICATION,
        identity: UUID | None = None,
    ) -> ResolvedAgent:
        """Return an agent with everything resolved in the context, whether stored or defined in code.

        With an `identity` a published agent runs it as a part of itself, whoever calls: nobody asks
        whether the caller may read what is published of it, but it has to be the very agent that was
        granted (`versioning.serving.grants`). Nothing of a namesake is looked at: even what it takes to
        evaluate it would tell that it is there.
        Raises `NotFound` and `Forbidden` as `select` does, `Invalid` for what is too long or takes
        too much to evaluate; several agents share one budget by sharing an `Evaluation`.
        """
        by = caller_of(by)
        candidate = self._candidate(agent_id, selector, by, identity=identity)
        return assembled(candidate, Evaluation.of(context or {}), by)

    def preview(
        self,
        agent_id: str,
        selector: Selector = DRAFT,
        *,
        context: Mapping[str, Any] | None = None,
        drafts_of_blocks: bool = False,
        by: Who = APPLICATION,
    ) -> ResolvedAgent:
        """Return what a version of an agent would be served as if it were published now.

        Referenced prompt blocks are the published ones; those that the caller may not read, or that
        are not published, are left out and reported. With `drafts_of_blocks` they are the latest
        ones that the caller may read. Raises `NotFound` and `Forbidden` as `serve` does.
        """
        by = caller_of(by)
        candidate = self._candidate(agent_id, selector, by)
        if drafts_of_blocks:
            candidate = replace(candidate, policy=Blocks.DRAFTS)
        elif candidate.policy is Blocks.DRAFTS:
            candidate = replace(candidate, policy=Blocks.READABLE)
        return assembled(candidate, Evaluation.of(context or {}), by)

    def serve_all(
        self, *, context: Mapping[str, Any] | None = None, by: Who = APPLICATION
    ) -> tuple[ResolvedAgent, ...]:
        """Return the published resolution of every agent that the caller may read, by id.

        The number of queries does not depend on the number of agents. Raises `Invalid` when that
        is too much to evaluate; a public agent of another workspace is left out instead.
        """
        by = caller_of(by)
        rows = [*self.list(by=by), *self.beside(by=by)]
        candidates = [
            Candidate.stored(select(row, PUBLISHED, by)) for row in rows if not self.code.get(row.pk)
        ]
        # What was stored elsewhere before the code took its id is no override.
        overrides = {row.pk: row for row in rows if row.workspace_id == self.code.workspace_id}
        for agent_id, agent in self.code.readable_by(by).items():
            row = overrides.get(agent_id)
            override = select(row, PUBLISHED, by) if row and row.active_id else None
            candidates.append(self._code_candidate(agent, PUBLISHED, row, override))
        # One whose code leaves its instructions to the editor is none before some are published.
        candidates = [candidate for candidate in candidates if "instructions" in candidate.config]
        candidates.sort(key=lambda candidate: candidate.id)
        return tuple(all_assembled(candidates, Evaluation(context or {}), by))

    def served_basis(self, agent_id: str, selector: Selector, context: Mapping[str, Any]) -> Basis | None:
        """Return what serving an agent depends on beside its code; None when on more than its pointers.

        Only what is published has a basis so narrow: what a draft shows of prompt blocks depends on
        what the caller may read of them.
        """
        agent = self.code.get(agent_id)
        in_code = agent is not None and any(referenced_blocks(code_config(agent)))
        if selector != PUBLISHED or context or in_code or self.basis(agent_id) is None:
            return None
        return Basis.of_served(agent_id)

    def _candidate(
        self, agent_id: str, selector: Selector, by: Caller, *, identity: UUID | None = None
    ) -> Candidate:
        agent = self.code.get(agent_id)
        if agent is not None:
            if identity is None and agent_id not in self.code.readable_by(by):
                raise NotFound
            if identity not in {None, IN_CODE}:
                raise NotFound
            row = self._override_row(agent_id)
            override = self._override(row, selector, by)
            return self._code_candidate(agent, selector, row, override)
        if identity is None:
            return Candidate.stored(self.get(agent_id, selector, by=by))
        row = self._with_versions.filter(pk=agent_id, uuid=identity).first()
        if row is None or (selector.status is Status.PUBLISHED and row.active_id is None):
            raise NotFound
        return Candidate.stored(select(row, selector, by))

    def _code_candidate(
        self, agent: CodeAgent, selector: Selector, row: Agent | None, override: Resolved[Agent] | None
    ) -> Candidate:
        home = self.code.workspace_id
        return Candidate.code(agent, selector, workspace_id=home, row=row, override=override)

    # Overrides

    def update(
        self,
        resource_id: str,
        fields: Mapping[str, Any] | None = None,
        *,
        publish: bool | None = None,
        by: Who = APPLICATION,
        **more: Any,
    ) -> Resolved[Agent]:
        """Save an edit and publish it AT ONCE, unless `publish=False`; see `Collection.update`.

        The first update of an agent that is defined in code makes its override.
        """
        by = caller_of(by)
        publish = self.publishes_at_once if publish is None else publish
        if more.get("expect") is None and self._is_as_code_says(resource_id, by):
            first = {name: value for name, value in more.items() if name != "expect"}
            is_change = bool(fields) or any(to_camel(name) in self.model.schema.names for name in first)
            # Somebody may make the override at this very moment; then this is the second update.
            with suppress(IdTaken):
                return self.create(fields, id=resource_id, publish=publish and is_change, by=by, **first)
        return super().update(resource_id, fields, publish=publish, by=by, **more)

    def create(
        self,
        fields: Mapping[str, Any] | None = None,
        *,
        id: str | None = None,  # noqa: A002  the wire name
        by: Who = APPLICATION,
        **more: Any,
    ) -> Resolved[Agent]:
        """Make a stored agent, or the override of one that code defines; see `Collection.create`.

        An agent of the code that the caller may not read is nothing but an id that is taken.
        """
        by = caller_of(by)
        resource_id = id_of_new(id, {**(fields or {}), **more})
        if resource_id in self.code.agents and resource_id not in self.code.readable_by(by):
            self._refuse_taken_by_code(resource_id, by, more.get("workspace"))
        return super().create(fields, id=id, by=by, **more)

    def edit(
        self,
        resource_id: str,
        fields: Mapping[str, Any] | None = None,
        *,
        publish: bool = False,
        by: Who = APPLICATION,
        expect: AnyCollection[str] | None = None,
        **more: Any,
    ) -> Resolved[Agent]:
        """Save an edit; the first one of an agent that is defined in code makes its override."""
        by = caller_of(by)
        if expect is None and self._is_as_code_says(resource_id, by):
            # Somebody may make the override at this very moment; then this is the second edit.
            with suppress(IdTaken):
                return self.create(fields, id=resource_id, publish=publish, by=by, **more)
        return super().edit(resource_id, fields, publish=publish, by=by, expect=expect, **more)

    def _is_as_code_says(self, agent_id: str, by: Caller) -> bool:
        """Say whether the caller may read an agent of the code, and there is no override of it."""
        if agent_id not in self.code.readable_by(by):
            return False
        row = self._override_row(agent_id)
        return row is None or row.gone

    def versions(self, resource_id: str, *, by: Who = APPLICATION) -> History[Agent]:
        """Return an agent with its versions; of a code-defined one without an override there are none."""
        by = caller_of(by)
        with suppress(NotFound):
            return super().versions(resource_id, by=by)
        if resource_id not in self.code.readable_by(by):
            raise NotFound
        by.require(Right.READ_DRAFTS, self.code.workspace_id)
        return History(resource=None, versions=AgentVersion.objects.none())

    def dependents(
        self, resource_id: str, *, status: Status = Status.PUBLISHED, by: Who = APPLICATION
    ) -> Dependents:
        """Return the agents that refer directly to one which the caller may read, overridden or not."""
        by = caller_of(by)
        if resource_id not in self.code.readable_by(by):
            return super().dependents(resource_id, status=status, by=by)
        target = Agent(id=resource_id, workspace_id=self.code.workspace_id)
        return dependents_of(target, self.code, status=status, caller=by)

    def export(
        self,
        resource_id: str,
        fields: Mapping[str, Any] | None = None,
        selector: Selector = PUBLISHED,
        *,
        by: Who = APPLICATION,
    ) -> Config:
        """Return the configuration to write into a file; of a code-defined agent what is applied of it."""
        by = caller_of(by)
        agent = self._overridden_by(resource_id)
        if agent is None:
            return super().export(resource_id, fields, selector, by=by)
        if resource_id not in self.code.readable_by(by):
            raise NotFound
        if fields:
            return applied(agent, self.known_fields(fields))
        override = self._override(self._override_row(resource_id), selector, by)
        if override is None:
            raise NotFound("This agent is as its code says: there is no override.", code="no_override")
        return applied(agent, override.version.config)

    def require_saving(self, resource_id: str, *, by: Who = APPLICATION) -> None:
        """Raise `NotFound` or `Forbidden` unless the caller may save an agent, or an override of one."""
        by = caller_of(by)
        in_code = resource_id in self.code.readable_by(by)
        workspace_id = self.code.workspace_id if in_code else self.find(resource_id, by=by).workspace_id
        by.require(Right.SAVE, workspace_id)

    def request_change(
        self,
        resource_id: str,
        fields: Mapping[str, Any] | None = None,
        *,
        message: str | None = None,
        by: Who = APPLICATION,
    ) -> NoReturn:
        """Propose an override to the repository that keeps it, instead of publishing it here.

        Raises as `require_saving` does, `Invalid` for faults of the fields or the message, and else
        `Invalid` with the code `no_source_control`: nothing can be configured yet to propose it to.
        """
        self.require_saving(resource_id, by=by)
        self.known_fields(fields or {})
        message_or("", message)
        raise Invalid.field("id", "is kept in no repository that takes requests", code="no_source_control")

    def schema_of(self, resource_id: str) -> ConfigSchema:
        """Return what the snapshots of this agent hold: an override requires nothing."""
        return config.AGENT_OVERRIDE if self._overridden_by(resource_id) else super().schema_of(resource_id)

    def _refuse_taken_by_code(self, agent_id: str, by: Caller, workspace: str | None) -> None:
        """Raise `IdTaken`, after whatever else would have been refused of somebody who asks for any id."""
        super()._workspace_of(agent_id, workspace, by)
        raise IdTaken(f"The id {agent_id!r} is taken.")

    def _readable_by(self, by: Caller, *, label: str | None = None) -> VersionedQuerySet[Agent]:
        return Agent.objects.readable_by(by, self.code, label=label)

    def _overridden_by(self, agent_id: str) -> CodeAgent | None:
        """Return the agent of the code that a record of this id overrides, or would.

        None for an agent that was stored elsewhere before the code took its id.
        """
        agent = self.code.get(agent_id)
        if agent is None:
            return None
        elsewhere = self.all.filter(pk=agent_id).exclude(workspace_id=self.code.workspace_id)
        return None if elsewhere.exists() else agent

    def _live_config(self, resource: Agent) -> Config | None:
        config = super()._live_config(resource)
        # Where no override is published the code is live, which is what an empty one amounts to.
        return {} if config is None and self._is_override(resource) else config

    def _is_override(self, resource: Agent) -> bool:
        """Say whether it is the override of an agent that code defines; one elsewhere is none of it."""
        return self.code.get(resource.pk) is not None and resource.workspace_id == self.code.workspace_id

    def _override_row(self, agent_id: str) -> Agent | None:
        """Return the record of a code-defined agent's override; one elsewhere is none of it."""
        return self._with_versions.filter(pk=agent_id, workspace_id=self.code.workspace_id).first()

    @property
    def _with_versions(self) -> VersionedQuerySet[Agent]:
        return self.all.select_related("active_version", "latest_version")

    def _override(self, row: Agent | None, selector: Selector, by: Caller) -> Resolved[Agent] | None:
        """Return the version of an override that the selector names; None when the code itself serves."""
        if selector.asks_for_draft:
            require_drafts(selector, by, self.code.workspace_id)
        if row is not None and row.gone and selector.version_id is None:
            row = None
        if row is None and selector.status is None:
            raise NotFound
        if row is None or (selector.status is Status.PUBLISHED and row.active_id is None):
            return None
        return select(row, selector, by)

    def _workspace_of(self, resource_id: str, asked: str | None, by: Caller) -> str:
        if self.code.get(resource_id) is None:
            return super()._workspace_of(resource_id, asked, by)
        if asked not in {None, self.code.workspace_id}:
            home = self.code.workspace_id
            raise Forbidden(
                f"{resource_id!r} is defined in code; its override belongs to the workspace {home!r}."
            )
        return super()._workspace_of(resource_id, self.code.workspace_id, by)

    def _visibility_of(
        self, resource_id: str, asked: str | None, workspace_id: str, by: Caller
    ) -> dict[str, Any]:
        agent = self.code.get(resource_id)
        if agent is None:
            return super()._visibility_of(resource_id, asked, workspace_id, by)
        # The row says nothing of it: whoever asks, asks the code.
        _refuse_visibility(agent, asked)
        return {}

    def _set_visibility(self, resource: VersionedResource, visibility: str, by: Caller) -> None:
        agent = self.code.overridden_by(resource.pk, resource.workspace_id)
        if agent is None:
            super()._set_visibility(resource, visibility, by)
        else:
            _refuse_visibility(agent, visibility)

    def _whether_to_publish(
        self, resource_id: str, workspace_id: str, by: Caller, *, asked: bool | None
    ) -> bool:
        if asked is None and self.code.get(resource_id) is not None:
            return False
        return super()._whether_to_publish(resource_id, workspace_id, by, asked=asked)

    def _refuse(self, resource_id: str, changes: Mapping[str, Any]) -> None:
        agent = self._overridden_by(resource_id)
        issues = refused(agent, changes) if agent else []
        if issues:
            raise Invalid(issues, code="owned_by_code")

    def _whole(self, resolved: Resolved[Agent]) -> Config:
        agent = self.code.overridden_by(resolved.resource.pk, resolved.resource.workspace_id)
        return laid_over(agent, resolved.version.config) if agent else super()._whole(resolved)


def _refuse_visibility(agent: CodeAgent, asked: str | None) -> None:
    if asked not in {None, agent.visibility}:
        raise Invalid.field("visibility", "belongs to the code of this agent", code="owned_by_code")
