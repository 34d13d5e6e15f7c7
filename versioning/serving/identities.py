"""Which resources the names in a configuration mean at this moment.

A configuration names prompt blocks and sub-agents by id, and once an id is free, another workspace can take
it. So whoever decides about a configuration decides about the resources that it names then: what a verdict is
about, what was live, and what a version is granted are all told apart by the identities that are found here.

Only what a configuration names itself counts. What those resources name in turn is theirs: their own versions
pass the gate of their own workspace, and reach by their own grants nothing but what they were published with.
What code defines is none of these resources, because whoever deploys decides about that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery

from versioning.domain.config import Config
from versioning.domain.registry import Registry
from versioning.models import Reference, Version, VersionedResource
from versioning.models.compiled_queries import ValuesByKeys


class Named(NamedTuple):
    """A resource that a configuration names."""

    identity: UUID
    """What a namesake does not share."""
    workspace_id: str


Targets = Mapping[type[Reference], Mapping[str, Named]]
"""The stored resources that a configuration names, by id, for each kind of reference that it holds."""


def ids_named(references: type[Reference], config: Config) -> set[str]:
    """Return the ids that a configuration names by one kind of reference."""
    return {target for _, target in references.find(config)}


def targets_of(model: type[VersionedResource], config: Config) -> Targets:
    """Return the stored resources that a configuration names now; one query for each kind of reference."""
    wanted = {one: ids_named(one, config) for one in model.version_model.reference_models}
    return {references: _found(references, ids) for references, ids in wanted.items() if ids}


def named_in(targets: Targets, code: Registry) -> frozenset[Named]:
    """Return the resources among the targets about which code does not decide."""
    return frozenset(
        one
        for references, found in targets.items()
        for target_id, one in found.items()
        if not _is_in_code(references, target_id, code)
    )


def named_by_versions(
    model: type[Version], version_ids: Collection[Any], code: Registry
) -> Mapping[str, frozenset[Named]]:
    """Return the resources that stored versions name now, by the id of the version; in one query.

    A version that names none, or that was deleted, is not in the result.
    """
    queries = [_joined(references, version_ids, code) for references in model.reference_models]
    found: dict[str, set[Named]] = {}
    if queries and version_ids:
        for version_id, identity, workspace_id in queries[0].union(*queries[1:], all=True):
            if identity is not None:
                found.setdefault(str(version_id), set()).add(Named(identity, workspace_id))
    return {version_id: frozenset(named) for version_id, named in found.items()}


def _joined(
    references: type[Reference], version_ids: Collection[Any], code: Registry
) -> QuerySet[Any, tuple[Any, ...]]:
    target: Any = references.target._default_manager.filter(pk=OuterRef("target_id")).order_by()
    manager: Any = references._default_manager
    rows = manager.filter(version_id__in=version_ids).order_by()
    if references.target.kind.in_code:
        rows = rows.exclude(target_id__in=list(code.agents))
    identity, workspace_id = (Subquery(target.values(column)) for column in ("uuid", "workspace_id"))
    found: QuerySet[Any, tuple[Any, ...]] = rows.annotate(
        identity_now=identity, workspace_now=workspace_id
    ).values_list("version_id", "identity_now", "workspace_now")
    return found


def _is_in_code(references: type[Reference], target_id: str, code: Registry) -> bool:
    return references.target.kind.in_code and target_id in code.agents


def _found(references: type[Reference], ids: Collection[str]) -> Mapping[str, Named]:
    target: type[VersionedResource] = references.target
    rows = _identities(target).get(ids)
    return {target_id: Named(identity, workspace_id) for target_id, identity, workspace_id in rows}


@cache
def _identities(target: type[VersionedResource]) -> ValuesByKeys:
    return ValuesByKeys(target._default_manager.values_list("pk", "uuid", "workspace_id"))
