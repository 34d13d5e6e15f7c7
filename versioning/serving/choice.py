"""Choosing the version that the published selector returns for a request.

By default this is the active version. An application can choose another one for some requests: a published
read, the plan of a run with all its sub-agents, the list of agents, and the prompt blocks shown in any of
them. Records, exports and comparisons show the stored state and never call a chooser; an explicit selector is
never overruled.

A chooser declares the resources for which it chooses. All others are served and cached as without a chooser.
Rights are not checked after the choice: a chosen version is shown to every caller who can read published
versions. So a chooser must name only versions that have passed the gate (`versioning.editor.gate`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from versioning.domain.errors import NotFound
from versioning.domain.kinds import ResourceKind
from versioning.domain.snapshots import Snapshot
from versioning.domain.uuids import parse_uuid
from versioning.models import VersionedResource
from versioning.serving.followed_log import Dependency


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The choice for one resource in one request context."""

    version: str | None = None
    """The id of the version to serve; None, or an id that the resource lacks, for the active one."""
    varies_by: str = ""
    """Identifies the arm, such as by its name: one answer is cached for each."""
    depends_on: Sequence[Dependency] = ()
    """Additional dependencies of an answer with this choice."""
    outcome: Mapping[str, Any] | None = None
    """The description of the choice in answers: `editor_client.shared.arms.describe_outcome`."""
    parts: Mapping[str, Any] | None = None
    """The rule for all contexts, as `editor_client.shared.arms` follows it, with the `resolvedVersionId` of
    each arm. None for a choice that only the server can make."""

    def outcome_of(self, served: str | None) -> Mapping[str, Any] | None:
        """Return the rollout outcome to report; the arm is null if its version no longer exists."""
        if self.outcome is None or self.version in {None, served}:
            return self.outcome
        return {**self.outcome, "arm": None, "reason": "outside"}


class Chooser(Protocol):
    """An application's chooser. Every read calls it, so it keeps its answers in memory.

    `versioning.serving.followed_log.FollowedValue` holds a value read from the database until the log reports
    a change. Whenever a resource is added or removed, or its rule changes, the application records an event
    about that resource, which all its readers may see: this invalidates its cached answers.
    """

    def speaks_of(self, kind: ResourceKind) -> Collection[str]:
        """Return the ids of the resources of a kind for which it may choose."""

    def choose(
        self, kind: ResourceKind, ids: Collection[str], context: Mapping[str, Any]
    ) -> Mapping[str, Choice]:
        """Return, by id, the choices for a request with this context.

        A resource that is missing in the result is served in its active version.
        """


Chooses = Callable[[Sequence[VersionedResource]], Mapping[str, Snapshot]]
"""Returns, by id, the versions that a request gets instead of the active ones."""

_choosers: list[Chooser] = []


def register(chooser: Chooser) -> None:
    """Add a chooser; if two choose for the same resource, the one registered first wins.

    Raises `TypeError` for an object without the methods of a chooser.
    """
    if not all(callable(getattr(chooser, method, None)) for method in ("speaks_of", "choose")):
        raise TypeError(f"choice.register() takes an object with speaks_of() and choose(), not {chooser!r}")
    _choosers.append(chooser)


def unregister(chooser: Chooser) -> None:
    """Remove a chooser; raises `ValueError` if it is not registered."""
    _choosers.remove(chooser)


def speaks_of(kind: ResourceKind) -> bool:
    """Return whether any chooser may choose for a resource of this kind."""
    return any(chooser.speaks_of(kind) for chooser in _choosers)


def choices(kind: ResourceKind, ids: Iterable[str], context: Mapping[str, Any]) -> dict[str, Choice]:
    """Return the choices for a request, by id; resources without a chooser are omitted."""
    choices_by_id: dict[str, Choice] = {}
    ids = list(ids) if _choosers else []
    for chooser in _choosers if ids else ():
        spoken = chooser.speaks_of(kind)
        pending = [name for name in ids if name in spoken and name not in choices_by_id] if spoken else []
        if pending:
            chosen = chooser.choose(kind, pending, context)
            choices_by_id |= {resource_id: chosen.get(resource_id, Choice()) for resource_id in pending}
    return choices_by_id


def chosen(resources: Sequence[VersionedResource], context: Mapping[str, Any]) -> dict[str, Snapshot]:
    """Return, by id, the versions of published resources of one kind that a request gets instead."""
    if not resources or not speaks_of(resources[0].kind):
        return {}
    active = {resource.pk: resource.active_id for resource in resources if resource.active_id is not None}
    choices_by_id = choices(resources[0].kind, active, context)
    names = {
        (resource_id, choice.version)
        for resource_id, choice in choices_by_id.items()
        if choice.version not in {None, active[resource_id]}
    }
    return {resource_id: version for (resource_id, _), version in versions(type(resources[0]), names).items()}


def nothing(_resources: Sequence[VersionedResource]) -> dict[str, Snapshot]:
    """Choose nothing, so that the active versions are served."""
    return {}


def always(resources: Sequence[VersionedResource], version: Snapshot) -> dict[str, Snapshot]:
    """Return a function that chooses this version of one resource in every context."""
    return {resource.pk: version for resource in resources}


def versions(
    model: type[VersionedResource], names: Collection[tuple[str, str | None]]
) -> dict[tuple[str, str], Snapshot]:
    """Return the versions that exist, by the ids of their resource and version."""
    ids: list[UUID] = []
    for _, version_id in names:
        with suppress(NotFound):  # not the id of a row
            ids.append(parse_uuid(version_id or ""))
    rows = model.version_model.objects.defer("search_text").filter(pk__in=ids) if ids else ()
    rows_by_name = {(row.resource_id, row.version_id): row for row in rows}
    return {name: row for name, row in rows_by_name.items() if name in names}


def arms(kind: ResourceKind, ids: Iterable[str], context: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the arm that a request gets, for each resource with a chooser."""
    return tuple(
        (resource_id, choice.varies_by) for resource_id, choice in choices(kind, ids, context).items()
    )


def find_arms(kind: ResourceKind) -> dict[str, str]:
    """Return the resources of a kind that have arms, by the ids of the versions in these."""
    resources_by_version: dict[str, str] = {}
    for chooser in _choosers:
        spoken = chooser.speaks_of(kind)
        for resource_id, choice in chooser.choose(kind, spoken, {}).items() if spoken else ():
            for arm in (choice.parts or {}).get("arms", ()):
                resources_by_version[str(arm["resolvedVersionId"])] = resource_id
    return resources_by_version


def dependencies(
    kind: ResourceKind, ids: Iterable[str], context: Mapping[str, Any]
) -> tuple[Dependency, ...]:
    """Return the additional dependencies of answers about these resources, because of choices."""
    return tuple(
        dependency for choice in choices(kind, ids, context).values() for dependency in choice.depends_on
    )
