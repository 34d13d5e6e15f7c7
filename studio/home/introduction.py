"""What a person may do here, for the introduction on the home page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from studio.workspaces.roles import role_name
from versioning.domain.access import Caller, Role

SHOWN: Final = 6
"""How many workspaces the introduction names."""


@dataclass(frozen=True, kw_only=True)
class Introduction:
    """The roles of a person."""

    role: Role
    """The highest of them."""
    by_workspace: Sequence[tuple[str, str]]
    """Workspaces with the name of the role there, the highest first; empty for a role in all of them."""
    more: int
    """How many workspaces were left out."""
    differs: bool
    """Whether the person has another role elsewhere."""

    @property
    def role_name(self) -> str:
        """The name of the highest role, for use in a sentence."""
        return role_name(self.role)


def introduction_of(caller: Caller) -> Introduction | None:
    """Return what the introduction says of the caller; None for a person without a role."""
    if caller.everywhere is not None:
        return Introduction(role=caller.everywhere, by_workspace=[], more=0, differs=False)
    if not caller.roles:
        return None
    roles = sorted(caller.roles.items(), key=lambda one: (-one[1].rank, one[0]))
    return Introduction(
        role=roles[0][1],
        by_workspace=[(workspace, role_name(role)) for workspace, role in roles[:SHOWN]],
        more=max(len(roles) - SHOWN, 0),
        differs=len(set(caller.roles.values())) > 1,
    )
