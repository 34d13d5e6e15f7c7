"""Lists across workspaces, with the part of each workspace by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from versioning.domain.access import Caller, Right
from versioning.editor.memberships import workspaces_with

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class OfWorkspace(Generic[T]):
    """The part of a list that belongs to one workspace."""

    id: str
    name: str
    items: Sequence[T]


def workspace_names(caller: Caller) -> dict[str, str]:
    """Return the names of the workspaces that the caller may read, by id; one query."""
    return dict(workspaces_with(Right.READ, by=caller).values_list("pk", "name"))


def by_workspace(
    items: Iterable[T], workspace_of: Callable[[T], str], names: dict[str, str]
) -> list[OfWorkspace[T]]:
    """Return the items by workspace; workspaces and items keep the order in which they come."""
    found: dict[str, list[T]] = {}
    for item in items:
        found.setdefault(workspace_of(item), []).append(item)
    return [OfWorkspace(id=one, name=names.get(one, one), items=own) for one, own in found.items()]
