"""Grants: what a published version may run and show although its readers may not; set when it goes live.

A sub-agent runs as part of a published agent, and a prompt block of another workspace is shown in it,
because whoever published the version was a member of the target's workspace. The grant is for that very
target: the id alone is not enough, because another workspace can take it once it is free. Within one
workspace blocks need no grant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any
from uuid import UUID

from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.overrides import IN_CODE
from versioning.domain.registry import Registry
from versioning.domain.resolved_agent import ResolvedAgent
from versioning.domain.snapshots import Snapshot
from versioning.models import Agent, Reference, SubAgentReference, Version, VersionedResource
from versioning.models.compiled_queries import ValuesByKeys


def keep_targets(model: type[VersionedResource], config: Config) -> None:
    """Prevent what a configuration refers to from being deleted until the transaction ends.

    Otherwise `delete(if_unused=True)` could miss an agent that is being published at this moment. The kinds
    of reference are locked in a fixed order, and each by id, to prevent deadlocks.
    """
    for references in model.version_model.reference_models:
        references.target.objects.all().keep_existing(_targets(references, config))


def grant(version: Snapshot, by: Caller, code: Registry, *, anew: bool) -> bool:
    """Store which targets the publishing caller may read; return whether anything changed.

    `anew` replaces previous grants; otherwise grants are only added, to a version that is live already. A
    version in a file or a commit is granted nothing.
    """
    if not isinstance(version, Version):
        return False
    changed = False
    for references in version.reference_models:
        wanted = _targets(references, version.config)
        if wanted:
            changed |= _grant(references, version, _readable(references, wanted, by, code), anew=anew)
    return changed


def granted_sub_agents(parent: ResolvedAgent, code: Registry) -> dict[str, UUID]:
    """Return the sub-agents that run as part of a published agent for every caller: identities by id.

    Sub-agents named by code are defined by the application or belong to the workspace of its agents. Takes
    two queries at most.
    """
    if parent.source == "code":
        return granted_to_code(parent.agents, code)
    return granted(SubAgentReference, [parent.resolved_version_id]).get(parent.resolved_version_id, {})


def granted_to_code(named: Iterable[str], code: Registry) -> dict[str, UUID]:
    """Return those of the named sub-agents that run as part of an agent in code: identities by id."""
    wanted = set(named)
    in_code = {agent_id: IN_CODE for agent_id in wanted if agent_id in code.agents}
    stored = Agent.objects.filter(pk__in=wanted - in_code.keys(), workspace=code.workspace_id)
    return {**dict(stored.values_list("pk", "uuid")), **in_code}


def granted(
    references: type[Reference], version_ids: Iterable[str | None]
) -> dict[str | None, dict[str, UUID]]:
    """Return the identities granted to each of these versions, by target id."""
    found: dict[str | None, dict[str, UUID]] = {}
    manager: Any = references._default_manager
    rows = manager.filter(version_id__in=version_ids, target_uuid__isnull=False)
    for version_id, target_id, target_uuid in rows.values_list("version_id", "target_id", "target_uuid"):
        found.setdefault(str(version_id), {})[target_id] = target_uuid
    return found


def _targets(references: type[Reference], config: Config) -> set[str]:
    return {target for _, target in references.find(config)}


def _readable(references: type[Reference], wanted: set[str], by: Caller, code: Registry) -> dict[str, UUID]:
    """Return the identities of the targets that the caller may read as a member, by id."""
    in_code = wanted & code.agents.keys() if references.target.kind.in_code else set()
    target: type[VersionedResource] = references.target
    rows = _identities(target).get(wanted - in_code)
    readable = {pk: uuid for pk, uuid, workspace_id in rows if by.may(Right.READ, workspace_id)}
    return readable | (dict.fromkeys(in_code, IN_CODE) if by.may(Right.READ, code.workspace_id) else {})


def _grant(
    references: type[Reference], version: Version, readable: Mapping[str, UUID], *, anew: bool
) -> bool:
    """Store the identities with the references of the version; return whether any of them changed."""
    changed = [
        (identity, target_id)
        for target_id, stored in references.of_version(version)
        if (identity := readable.get(target_id, None if anew else stored)) != stored
    ]
    references.grant(version, changed)
    return bool(changed)


@cache
def _identities(target: type[VersionedResource]) -> ValuesByKeys:
    return ValuesByKeys(target._default_manager.values_list("pk", "uuid", "workspace_id"))
