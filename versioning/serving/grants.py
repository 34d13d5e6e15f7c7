"""The resources that a configuration currently names, and those that a version is granted.

A configuration names prompt blocks and sub-agents by id, and once an id is free, another workspace can take
it. So decisions about a configuration are decisions about the resources that it names at that moment:
verdicts, live versions and grants identify resources by their identity, not just their id.

Only resources named by the configuration itself count. What those resources name in turn is their own
concern: their versions pass the gate of their own workspace, and have only the grants with which they were
published. Code-defined resources are not included, because deployment decides about them.

A version gets its grants when it goes live: a sub-agent runs as part of a published agent, and a prompt block
of another workspace is shown in it, because the publisher of the version was a member of the target's
workspace. The grant is for that very target. Within one workspace blocks need no grant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import OuterRef, QuerySet, Subquery

from versioning.domain.access import Caller, Right
from versioning.domain.agents import Registry, ResolvedAgent
from versioning.domain.config import Config
from versioning.domain.events import Reach, Target
from versioning.domain.overrides import IN_CODE
from versioning.domain.snapshots import Snapshot
from versioning.models import Agent, Reference, SubAgentReference, Version, VersionedResource, Visibility
from versioning.models.statements import ValuesByKeys, quoted_table


class Named(NamedTuple):
    """A resource that a configuration names."""

    identity: UUID
    """Distinguishes it from a later resource with the same id."""
    workspace_id: str


Names = Mapping[type[Reference], set[str]]
"""The ids that a configuration names, for each kind of reference that it holds."""
Targets = Mapping[type[Reference], Mapping[str, Named]]
"""The stored resources that a configuration names, by id, for each kind of reference that it holds."""
Grants = Mapping[type[Reference], Sequence[tuple[UUID | None, str]]]
"""Changes to a version's grants: identities, or None to remove a grant, each with its id."""


def target_of(resource: VersionedResource, code: Registry, *, released: bool = False) -> Target:
    """Return the log's reference to a resource; call it before the change.

    `released` means that the change affects a released label, which was readable until now. An override has
    the identity of the code-defined agent, which outlives the override.
    """
    in_code = resource.kind.in_code and code.overridden_by(resource.pk, resource.workspace_id) is not None
    is_live = in_code or resource.active_id is not None or released
    reach = Reach.MEMBERS if is_live else Reach.EDITORS
    if is_live and resource.visibility_by(code) == Visibility.PUBLIC:
        reach = Reach.EVERYBODY
    return Target(
        kind=resource.kind.slug,
        id=resource.pk,
        identity=IN_CODE if in_code else resource.uuid,
        workspace_id=resource.workspace_id,
        reach=reach,
    )


def ids_named(references: type[Reference], config: Config) -> set[str]:
    """Return the ids that a configuration names by one kind of reference."""
    return {target for _, target in references.find(config)}


def names_in(model: type[VersionedResource], config: Config) -> Names:
    """Return the ids that a configuration of a resource of this kind names, by any kind of reference."""
    named = {references: ids_named(references, config) for references in model.version_model.reference_models}
    return {references: ids for references, ids in named.items() if ids}


def find_targets(names: Names) -> Targets:
    """Return the stored resources that are named now; one query for each kind of reference."""
    targets = {}
    for references, ids in names.items():
        target: type[VersionedResource] = references.target
        rows = _identities(target).get(ids)
        targets[references] = {
            target_id: Named(identity, workspace) for target_id, identity, workspace in rows
        }
    return targets


def named_in(targets: Targets, code: Registry) -> frozenset[Named]:
    """Return the target resources, except those that code defines."""
    return frozenset(
        value
        for references, values_by_id in targets.items()
        for target_id, value in values_by_id.items()
        if not (references.target.kind.in_code and target_id in code.agents)
    )


def named_by_versions(
    model: type[Version], version_ids: Collection[Any], code: Registry
) -> Mapping[str, frozenset[Named]]:
    """Return the resources that stored versions name now, by version id; in one query.

    Versions that name none, or were deleted, are not in the result.
    """
    queries = [_join_targets(references, version_ids, code) for references in model.reference_models]
    resources_by_version: dict[str, set[Named]] = {}
    if queries and version_ids:
        for version_id, identity, workspace_id in queries[0].union(*queries[1:], all=True):
            if identity is not None:
                resources_by_version.setdefault(str(version_id), set()).add(Named(identity, workspace_id))
    return {version_id: frozenset(named) for version_id, named in resources_by_version.items()}


def _join_targets(
    references: type[Reference], version_ids: Collection[Any], code: Registry
) -> QuerySet[Any, tuple[Any, ...]]:
    target: Any = references.target._default_manager.filter(pk=OuterRef("target_id")).order_by()
    manager: Any = references._default_manager
    rows = manager.filter(version_id__in=version_ids).order_by()
    if references.target.kind.in_code:
        rows = rows.exclude(target_id__in=list(code.agents))
    identity, workspace_id = (Subquery(target.values(column)) for column in ("uuid", "workspace_id"))
    joined_rows: QuerySet[Any, tuple[Any, ...]] = rows.annotate(
        identity_now=identity, workspace_now=workspace_id
    ).values_list("version_id", "identity_now", "workspace_now")
    return joined_rows


@cache
def _identities(target: type[VersionedResource]) -> ValuesByKeys:
    return ValuesByKeys(target._default_manager.values_list("pk", "uuid", "workspace_id"))


def keep_targets(names: Names) -> None:
    """Prevent the deletion, but not changes, of a configuration's targets until the transaction ends.

    So its targets stay the same until the commit, and `delete(if_unused=True)` does not miss an agent that is
    being published at this moment. The kinds of reference are locked in a fixed order, and each by id, to
    prevent deadlocks.

    Django does not offer PostgreSQL's `FOR KEY SHARE`, the lock that foreign keys take. It blocks
    deletions only, so that two agents that refer to each other can be published at the same time.
    SQLite has one writer at a time, so nothing needs to be locked.
    """
    if connection.vendor != "postgresql":
        return
    for references, ids in names.items():
        with connection.cursor() as cursor:
            # Only the name of the table is inserted.
            table = quoted_table(references.target)
            rows = f"SELECT id FROM {table} WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE"  # noqa: S608
            cursor.execute(rows, [sorted(ids)])


def grants_for(
    version: Snapshot, names: Names, targets: Targets, by: Caller, code: Registry, *, replaces: bool
) -> Grants:
    """Return the changes to a version's grants if the caller published it, which names these targets.

    `replaces` replaces previous grants; otherwise grants are only added, to a version that is live already. A
    version in a file or a commit is granted nothing.
    """
    if not isinstance(version, Version):
        return {}
    grants: dict[type[Reference], list[tuple[UUID | None, str]]] = {}
    for references, ids in names.items():
        readable = _readable(references, ids, targets, by, code)
        grants[references] = [
            (identity, target_id)
            for target_id, stored in references.of_version(version)
            if (identity := readable.get(target_id, None if replaces else stored)) != stored
        ]
    return {references: changed for references, changed in grants.items() if changed}


def store_grants(version: Snapshot, grants: Grants) -> None:
    """Store which targets a published version may run and show."""
    for references, changed in grants.items():
        references.grant(version, changed)


def granted_sub_agents(parent: ResolvedAgent, code: Registry) -> dict[str, UUID]:
    """Return the identities, by id, of the sub-agents that run as part of a published agent for every caller.

    Sub-agents named by code are defined by the application or belong to the workspace of its agents. Takes
    two queries at most.
    """
    if parent.source == "code":
        return granted_to_code(parent.agents, code)
    return find_grants(SubAgentReference, [parent.resolved_version_id]).get(parent.resolved_version_id, {})


def granted_to_code(named: Iterable[str], code: Registry) -> dict[str, UUID]:
    """Return the identities, by id, of the named sub-agents that run as part of a code-defined agent."""
    agent_ids = set(named)
    in_code = {agent_id: IN_CODE for agent_id in agent_ids if agent_id in code.agents}
    stored = Agent.objects.filter(pk__in=agent_ids - in_code.keys(), workspace=code.workspace_id)
    return {**dict(stored.values_list("pk", "uuid")), **in_code}


def find_grants(
    references: type[Reference], version_ids: Iterable[str | None]
) -> dict[str | None, dict[str, UUID]]:
    """Return the identities granted to each of these versions, by target id."""
    grants: dict[str | None, dict[str, UUID]] = {}
    manager: Any = references._default_manager
    rows = manager.filter(version_id__in=version_ids, target_uuid__isnull=False)
    for version_id, target_id, target_uuid in rows.values_list("version_id", "target_id", "target_uuid"):
        grants.setdefault(str(version_id), {})[target_id] = target_uuid
    return grants


def _readable(
    references: type[Reference], target_ids: set[str], targets: Targets, by: Caller, code: Registry
) -> dict[str, UUID]:
    """Return the identities of the targets that the caller may read as a member, by id."""
    in_code = target_ids & code.agents.keys() if references.target.kind.in_code else set()
    readable = {
        target_id: value.identity
        for target_id, value in targets.get(references, {}).items()
        if target_id not in in_code and by.may(Right.READ, value.workspace_id) and by.covers(target_id)
    }
    return readable | (dict.fromkeys(in_code, IN_CODE) if by.may(Right.READ, code.workspace_id) else {})
