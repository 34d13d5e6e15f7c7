"""The names of roles and workspaces; lists about several workspaces, grouped by workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from versioning.domain.access import Caller, Right, Role
from versioning.editor.workspaces import workspaces_with


def names_of_several(caller: Caller, right: Right = Right.READ) -> Mapping[str, str]:
    """Return the names of the workspaces where the caller has the right; empty if there is only one."""
    scope = caller.scope(right)
    if scope is not None and len(scope) < 2:
        return {}
    names = workspace_names(caller, right)
    return names if len(names) > 1 else {}


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class OfWorkspace(Generic[T]):
    id: str
    name: str
    items: Sequence[T]


def workspace_names(caller: Caller, right: Right = Right.READ) -> dict[str, str]:
    """Return the names of the workspaces in which the caller has the right, by id; one query."""
    return dict(workspaces_with(right, by=caller).values_list("pk", "name"))


def workspace_choices(right: Right, caller: Caller) -> list[tuple[str, str]]:
    return [*workspace_names(caller, right).items()]


def by_workspace(
    items: Iterable[T], workspace_of: Callable[[T], str], names: dict[str, str]
) -> list[OfWorkspace[T]]:
    """Return the items by workspace; workspaces and items keep the order in which they come."""
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(workspace_of(item), []).append(item)
    return [
        OfWorkspace(id=workspace_id, name=names.get(workspace_id, workspace_id), items=own)
        for workspace_id, own in groups.items()
    ]


NAMES: Final[dict[str, Promise]] = {
    Role.VIEWER.value: _("viewer"),
    Role.EDITOR.value: _("editor"),
    Role.PUBLISHER.value: _("publisher"),
    Role.ADMIN.value: _("admin"),
}
"""The names of the roles for use in a sentence."""
CHOICES: Final[list[tuple[str, Promise]]] = [
    (Role.VIEWER.value, _("Viewer: uses what is published")),
    (Role.EDITOR.value, _("Editor: also saves drafts")),
    (Role.PUBLISHER.value, _("Publisher: also publishes")),
    (Role.ADMIN.value, _("Admin: also members and keys")),
]
"""The roles with their permissions, for forms."""


def role_name(role: str | None) -> str:
    """Return the name of a role; for a key without one, that it has its owner's role."""
    return str(NAMES[role]) if role is not None else str(_("as its owner"))
