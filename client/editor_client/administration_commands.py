"""The commands for administration: workspaces, members, invitations, keys, service accounts, `me`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import Any, Final

from editor_client.command_groups import Arguments, Command, Group
from editor_client.sync import Client

ROLES: Final = ("viewer", "editor", "publisher", "admin")
ACTIONS: Final = ("read", "run", "write", "publish", "admin", "directory")
WORKSPACE: Final = ("workspace", {"metavar": "WORKSPACE", "help": "its id"})
USERNAME: Final = ("username", {"metavar": "USERNAME"})
ROLE: Final = ("role", {"choices": ROLES})
OF_WORKSPACE: Final[Arguments] = (
    ("--workspace", {"dest": "workspace_id", "metavar": "ID", "help": "only of this workspace"}),
)
KEY_LIMITS: Final[Arguments] = (
    ("--workspace", {"dest": "workspace_id", "metavar": "ID", "help": "the only one that it reaches"}),
    ("--role", {"choices": ROLES, "help": "its role at most"}),
    (
        "--action",
        {"dest": "actions", "action": "append", "choices": ACTIONS, "help": "can be repeated"},
    ),
    ("--id-prefix", {"metavar": "TEXT", "help": "it reaches only ids that begin like this"}),
    ("--expires", {"dest": "expires_at", "metavar": "TIME", "help": "such as 2030-01-31T12:00:00Z"}),
    ("--owner", {"metavar": "USERNAME", "help": "a service account, instead of yourself"}),
)


def _given(given: Namespace, *names: str) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name in names if (value := getattr(given, name)) is not None}


def _create_key(client: Client, given: Namespace) -> Mapping[str, Any]:
    limits = _given(given, "workspace_id", "role", "actions", "id_prefix", "expires_at", "owner")
    return client.create_key(given.name, **limits)


def _message(done: Any) -> str:
    return str(done.message)


ME: Final = Command(
    name="me", help="print who the key acts for, and its limits", run=lambda client, _given: client.me()
)
GROUPS: Final = (
    Group(
        name="workspaces",
        help="the workspaces that the key reaches",
        commands=(
            Command(
                name="list",
                help="list them",
                run=lambda client, _given: client.iter_workspaces(),
                columns=("id", "name", "role"),
            ),
            Command(
                name="create",
                help="create one",
                arguments=(("name", {}), ("--id", {"help": "by default made of the name"})),
                run=lambda client, given: client.create_workspace(given.name, workspace_id=given.id),
            ),
            Command(
                name="rename",
                help="give one another name",
                arguments=(WORKSPACE, ("name", {})),
                run=lambda client, given: client.get_workspace(given.workspace).rename(given.name),
            ),
            Command(
                name="delete",
                help="delete one that owns nothing",
                arguments=(WORKSPACE,),
                run=lambda client, given: _message(client.get_workspace(given.workspace).delete()),
            ),
        ),
    ),
    Group(
        name="members",
        help="the members of a workspace",
        commands=(
            Command(
                name="list",
                help="list them",
                arguments=(WORKSPACE,),
                run=lambda client, given: client.get_workspace(given.workspace).iter_members(),
                columns=("username", "displayName", "role", "origin", "service", "lastSignInAt"),
            ),
            Command(
                name="set-role",
                help="change a role",
                arguments=(WORKSPACE, USERNAME, ROLE),
                run=lambda client, given: client.get_workspace(given.workspace).set_role(
                    given.username, given.role
                ),
            ),
            Command(
                name="remove",
                help="end a membership",
                arguments=(WORKSPACE, USERNAME),
                run=lambda client, given: _message(
                    client.get_workspace(given.workspace).remove_member(given.username)
                ),
            ),
        ),
    ),
    Group(
        name="invitations",
        help="invitations to a workspace",
        commands=(
            Command(
                name="list",
                help="list those that are not accepted yet",
                arguments=(WORKSPACE,),
                run=lambda client, given: (
                    client.get_workspace(given.workspace).list_invitations().invitations
                ),
                columns=("id", "username", "role", "invitedBy", "expiresAt", "isAcceptable"),
            ),
            Command(
                name="create",
                help="invite a person; prints the link, once",
                arguments=(WORKSPACE, USERNAME, ROLE, ("--mail", {"metavar": "ADDRESS"})),
                run=lambda client, given: (
                    client.get_workspace(given.workspace)
                    .invite(given.username, given.role, mail=given.mail)
                    .url
                ),
            ),
            Command(
                name="withdraw",
                help="withdraw one",
                arguments=(WORKSPACE, ("id", {"help": "the id of the invitation"})),
                run=lambda client, given: _message(
                    client.get_workspace(given.workspace).withdraw_invitation(given.id)
                ),
            ),
        ),
    ),
    Group(
        name="keys",
        help="API keys",
        commands=(
            Command(
                name="list",
                help="list your own, and those of your workspaces",
                arguments=OF_WORKSPACE,
                run=lambda client, given: client.iter_keys(**_given(given, "workspace_id")),
                columns=("prefix", "name", "owner", "workspaceId", "role", "actions", "idPrefix", "state"),
            ),
            Command(
                name="create",
                help="create one; prints it, once",
                arguments=(("name", {"help": "what it is for"}), *KEY_LIMITS),
                run=lambda client, given: str(_create_key(client, given)["key"]),
            ),
            Command(
                name="revoke",
                help="revoke one",
                arguments=(("prefix", {"help": "its first eleven characters"}),),
                run=lambda client, given: _message(client.revoke_key(given.prefix)),
            ),
        ),
    ),
    Group(
        name="service-accounts",
        help="accounts for programs",
        commands=(
            Command(
                name="list",
                help="list them",
                arguments=OF_WORKSPACE,
                run=lambda client, given: client.iter_service_accounts(**_given(given, "workspace_id")),
                columns=("username", "workspaceId", "role"),
            ),
            Command(
                name="create",
                help="create one",
                arguments=(USERNAME, WORKSPACE, ROLE),
                run=lambda client, given: client.create_service_account(
                    given.username, given.workspace, given.role
                ),
            ),
            Command(
                name="delete",
                help="switch one off for good, with its keys",
                arguments=(USERNAME,),
                run=lambda client, given: _message(client.delete_service_account(given.username)),
            ),
        ),
    ),
)
