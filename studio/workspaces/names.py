"""The names of workspaces, for lists about several of them."""

from __future__ import annotations

from collections.abc import Mapping

from versioning.domain.access import Caller, Right
from versioning.editor.memberships import workspaces_with


def names_of_several(caller: Caller, right: Right = Right.READ) -> Mapping[str, str]:
    """Return the names of the workspaces where the caller has the right; empty if there is only one."""
    scope = caller.scope(right)
    if scope is not None and len(scope) < 2:  # noqa: PLR2004  then there are not several
        return {}
    found = dict(workspaces_with(right, by=caller).values_list("pk", "name"))
    return found if len(found) > 1 else {}
