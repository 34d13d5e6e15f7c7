"""Roles and rights: one table, used by every query and every verb. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cached_property
from typing import Any

from versioning.domain.errors import Forbidden, KeyScope, Message, WorkspaceId


class Role(StrEnum):
    """The role of a member in a workspace, from the lowest to the highest."""

    VIEWER = "viewer"
    EDITOR = "editor"
    PUBLISHER = "publisher"
    ADMIN = "admin"

    rank: int
    """The position in the order of roles; 0 for a viewer."""

    def __init__(self, _value: str) -> None:
        self.rank = len(type(self).__members__)

    def at_most(self, limit: Role | None) -> Role:
        return self if limit is None or self.rank <= limit.rank else limit


class Right(Enum):
    """A permission of a caller in a workspace."""

    READ = Message("read what is published")
    READ_DRAFTS = Message("read drafts and history")
    SAVE = Message("save drafts")
    PUBLISH = Message("publish")
    ADMINISTER = "administer"

    def describe_refusal(self, workspace_id: str) -> str:
        if self is Right.ADMINISTER:
            return Message(
                "You may not administer the workspace {workspace!r}.", workspace=WorkspaceId(workspace_id)
            )
        return Message(
            "You may not {right} in the workspace {workspace!r}.",
            right=self.value,
            workspace=WorkspaceId(workspace_id),
        )


LEAST_ROLE: Mapping[Right, Role] = {
    Right.READ: Role.VIEWER,
    Right.READ_DRAFTS: Role.EDITOR,
    Right.SAVE: Role.EDITOR,
    Right.PUBLISH: Role.PUBLISHER,
    Right.ADMINISTER: Role.ADMIN,
}


_RIGHTS_WITH: Mapping[Role | None, frozenset[Right]] = {
    None: frozenset(),
    **{
        role: frozenset(right for right, least in LEAST_ROLE.items() if least.rank <= role.rank)
        for role in Role
    },
}


class Action(StrEnum):
    """An action that an API key can be limited to, in addition to its owner's role."""

    READ = "read"
    """Read published versions, and everything that the role can read."""
    RUN = "run"
    WRITE = "write"
    """Save, comment, review."""
    PUBLISH = "publish"
    ADMIN = "admin"
    DIRECTORY = "directory"
    """Accounts, by SCIM. Only for keys that name this action."""


def roles_with(right: Right) -> list[str]:
    """Return the roles that have a right, by their stored values."""
    return [role.value for role in Role if right in _RIGHTS_WITH[role]]


class Via(StrEnum):
    """How a change was made, as the log records it."""

    STUDIO = "studio"
    API = "api"
    PYTHON = "python"
    SCHEDULE = "schedule"
    COMMAND = "command"
    FILE = "file"
    """An override file was changed by hand or through Git."""


Rights = tuple[Role | None, frozenset[tuple[str, Role]], frozenset[Action] | None, str]
"""The role in all workspaces, the roles by workspace, and the limits of a key: its actions and its prefix."""


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The caller of a verb: a person, an API key acting for its owner, or the application itself.

    `roles` maps workspace ids to roles, already limited to what an API key allows. `everywhere` is a role
    in every workspace: that of a superuser, or of the application.

    Rights that were read from the database may be outdated. So they are compared with the stored rights
    before a change is committed: `versioning.models.events`.
    """

    username: str | None = None
    user_id: Any = None
    """The primary key of the account, of the type that the project's accounts have."""
    roles: Mapping[str, Role] = field(default_factory=dict)
    everywhere: Role | None = None
    key_prefix: str | None = None
    key_workspace: str | None = None
    actions: frozenset[Action] | None = None
    """The actions of an API key; None for all that the role allows."""
    id_prefix: str = ""
    """The prefix of the ids to which an API key is limited."""
    via: Via = Via.PYTHON
    read_again: Callable[[], Caller] | None = field(default=None, compare=False, repr=False)
    """Returns the caller with the currently stored rights; raises `Unauthorized` if it may no longer call.
    None if a program set the rights, which are then independent of the database.
    """
    rights_position: int = field(default=0, compare=False)
    """The position in the log of the newest change of rights when these were read, or an earlier position."""
    installation: str = field(default="", compare=False)
    """The name of the installation that has read the API key; empty without a key."""

    @cached_property
    def rights(self) -> Rights:
        """The caller's rights, without the identity. Equal for all callers with the same rights."""
        return self.everywhere, frozenset(self.roles.items()), self.actions, self.id_prefix

    @property
    def has_role(self) -> bool:
        """Whether the caller has a role anywhere; public resources may be read without one."""
        return self.everywhere is not None or bool(self.roles)

    def may(self, right: Right, workspace_id: str) -> bool:
        return right in self.rights_in(workspace_id)

    def rights_in(self, workspace_id: str) -> frozenset[Right]:
        everywhere, here = self.everywhere, self.roles.get(workspace_id)
        return _RIGHTS_WITH[everywhere] | _RIGHTS_WITH[here]

    def require(self, right: Right, workspace_id: str) -> None:
        """Raise `Forbidden` unless the caller has the right in the workspace."""
        if not self.may(right, workspace_id):
            raise Forbidden(right.describe_refusal(workspace_id))

    def may_act(self, action: Action) -> bool:
        """Return whether the key has this action. Callers without a key have all but `DIRECTORY`."""
        return action is not Action.DIRECTORY if self.actions is None else action in self.actions

    def require_action(self, action: Action) -> None:
        """Raise `KeyScope` unless the key has this action."""
        if not self.may_act(action):
            raise KeyScope(action.value)

    def require_publish(self, workspace_id: str) -> None:
        """Raise `Forbidden` without the right to publish, `KeyScope` for a key that may not publish."""
        if not self.may(Right.PUBLISH, workspace_id):
            raise Forbidden(Right.PUBLISH.describe_refusal(workspace_id))
        if self.actions is not None and Action.PUBLISH not in self.actions:
            raise KeyScope(Action.PUBLISH.value)

    def covers(self, resource_id: str) -> bool:
        """Return whether a resource with this id is within the limits of the key."""
        return resource_id.startswith(self.id_prefix)

    def require_covered(self, resource_id: str) -> None:
        """Raise `KeyScope` for an id outside the limits of the key."""
        if not self.covers(resource_id):
            raise KeyScope(Action.WRITE.value, id_prefix=self.id_prefix)

    def scope(self, right: Right) -> frozenset[str] | None:
        """Return the workspaces in which the caller has the right; None for all."""
        return self._scopes[right]

    @cached_property
    def _scopes(self) -> Mapping[Right, frozenset[str] | None]:
        return {
            right: None
            if right in _RIGHTS_WITH[self.everywhere]
            else frozenset(name for name, role in self.roles.items() if right in _RIGHTS_WITH[role])
            for right in Right
        }


class RightsChanged(Forbidden):
    """The caller's rights have changed since they were read, so nothing was saved.

    The editor's verbs retry with the current rights; other code gets the error.
    """

    def __init__(self, caller: Caller) -> None:
        super().__init__("Your rights have changed in the meantime; try again.")
        self.caller = caller


APPLICATION = Caller(everywhere=Role.ADMIN)
"""The program that embeds the editor. It has all rights, and is never named as an author."""

COMMAND = Caller(everywhere=Role.ADMIN, via=Via.COMMAND)
"""A person with access to the machine who runs a management command."""
