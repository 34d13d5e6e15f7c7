"""Grants: what a published version may run and show although its readers may not; set when it goes live.

A sub-agent runs as part of a published agent, and a prompt block of another workspace is shown in it,
because whoever published the version was a member of the target's workspace. The grant is for that very
target: the id alone is not enough, because another workspace can take it once it is free. Within one
workspace blocks need no grant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.overrides import IN_CODE
from versioning.domain.registry import Registry
from versioning.domain.resolved_agent import ResolvedAgent
from versioning.domain.snapshots import Snapshot
from versioning.models import Agent, Reference, SubAgentReference, Version, VersionedResource
from versioning.serving.identities import Targets, ids_named

Grants = Mapping[type[Reference], Sequence[tuple[UUID | None, str]]]
"""What changes in the grants of a version: identities, None to take one back, each with its id."""


def keep_targets(model: type[VersionedResource], config: Config) -> None:
    """Prevent what a configuration refers to from being deleted until the transaction ends.

    So what it names stays the very same until the commit, and `delete(if_unused=True)` does not miss an
    agent that is being published at this moment. The kinds of reference are locked in a fixed order, and each
    by id, to prevent deadlocks.
    """
    for references in model.version_model.reference_models:
        references.target.objects.all().keep_existing(ids_named(references, config))


def grants_for(version: Snapshot, targets: Targets, by: Caller, code: Registry, *, anew: bool) -> Grants:
    """Return what would change in the grants of a version if the caller published it, naming these targets.

    `anew` replaces previous grants; otherwise grants are only added, to a version that is live already. A
    version in a file or a commit is granted nothing.
    """
    if not isinstance(version, Version):
        return {}
    found: dict[type[Reference], list[tuple[UUID | None, str]]] = {}
    for references in version.reference_models:
        wanted = ids_named(references, version.config)
        if wanted:
            readable = _readable(references, wanted, targets, by, code)
            found[references] = [
                (identity, target_id)
                for target_id, stored in references.of_version(version)
                if (identity := readable.get(target_id, None if anew else stored)) != stored
            ]
    return {references: changed for references, changed in found.items() if changed}


def store_grants(version: Snapshot, grants: Grants) -> None:
    """Store which targets a published version may run and show."""
    for references, changed in grants.items():
        references.grant(version, changed)


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


def _readable(
    references: type[Reference], wanted: set[str], targets: Targets, by: Caller, code: Registry
) -> dict[str, UUID]:
    """Return the identities of the targets that the caller may read as a member, by id."""
    in_code = wanted & code.agents.keys() if references.target.kind.in_code else set()
    readable = {
        target_id: one.identity
        for target_id, one in targets.get(references, {}).items()
        if target_id not in in_code and by.may(Right.READ, one.workspace_id)
    }
    return readable | (dict.fromkeys(in_code, IN_CODE) if by.may(Right.READ, code.workspace_id) else {})
