"""The commands for administration: workspaces, members, invitations, keys, service accounts, `me`."""

from __future__ import annotations

from argparse import Namespace
from typing import Any, Final

from editor_client.manage.administration import Workspace
from editor_client.sync import Client
from editor_client.transfer.commands import Arguments, Command, Group

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


def _create_key(client: Client, given: Namespace) -> str:
    limits = _given(given, "workspace_id", "role", "actions", "id_prefix", "expires_at", "owner")
    return client.create_key(given.name, **limits).key


def _workspace(client: Client, given: Namespace) -> Workspace[Client]:
    return client.get_workspace(given.workspace)


ME: Final = Command("me", "print who the key acts for, and its limits", lambda client, _given: client.me())
WORKSPACES: Final = Group(
    "workspaces",
    "the workspaces that the key reaches",
    (
        Command(
            "list",
            "list them",
            lambda client, _given: client.iter_workspaces(),
            columns=("id", "name", "role"),
        ),
        Command(
            "create",
            "create one",
            lambda client, given: client.create_workspace(given.name, workspace_id=given.id),
            (("name", {}), ("--id", {"help": "by default made of the name"})),
        ),
        Command(
            "rename",
            "give one another name",
            lambda client, given: _workspace(client, given).rename(given.name),
            (WORKSPACE, ("name", {})),
        ),
        Command(
            "delete",
            "delete one that owns nothing",
            lambda client, given: _workspace(client, given).delete(),
            (WORKSPACE,),
        ),
    ),
)
MEMBERS: Final = Group(
    "members",
    "the members of a workspace",
    (
        Command(
            "list",
            "list them",
            lambda client, given: _workspace(client, given).iter_members(),
            (WORKSPACE,),
            ("username", "displayName", "role", "origin", "service", "lastSignInAt"),
        ),
        Command(
            "set-role",
            "change a role",
            lambda client, given: _workspace(client, given).set_role(given.username, given.role),
            (WORKSPACE, USERNAME, ROLE),
        ),
        Command(
            "remove",
            "end a membership",
            lambda client, given: _workspace(client, given).remove_member(given.username),
            (WORKSPACE, USERNAME),
        ),
    ),
)
INVITATIONS: Final = Group(
    "invitations",
    "invitations to a workspace",
    (
        Command(
            "list",
            "list those that are not accepted yet",
            lambda client, given: _workspace(client, given).list_invitations().invitations,
            (WORKSPACE,),
            ("id", "username", "role", "invitedBy", "expiresAt", "isAcceptable"),
        ),
        Command(
            "create",
            "invite a person; prints the link, once",
            lambda client, given: (
                _workspace(client, given).invite(given.username, given.role, mail=given.mail).url
            ),
            (WORKSPACE, USERNAME, ROLE, ("--mail", {"metavar": "ADDRESS"})),
        ),
        Command(
            "withdraw",
            "withdraw one",
            lambda client, given: _workspace(client, given).withdraw_invitation(given.id),
            (WORKSPACE, ("id", {"help": "the id of the invitation"})),
        ),
    ),
)
KEYS: Final = Group(
    "keys",
    "API keys",
    (
        Command(
            "list",
            "list your own, and those of your workspaces",
            lambda client, given: client.iter_keys(**_given(given, "workspace_id")),
            OF_WORKSPACE,
            ("prefix", "name", "owner", "workspaceId", "role", "actions", "idPrefix", "state"),
        ),
        Command(
            "create",
            "create one; prints it, once",
            _create_key,
            (("name", {"help": "what it is for"}), *KEY_LIMITS),
        ),
        Command(
            "revoke",
            "revoke one",
            lambda client, given: client.revoke_key(given.prefix),
            (("prefix", {"help": "its first eleven characters"}),),
        ),
    ),
)
SERVICE_ACCOUNTS: Final = Group(
    "service-accounts",
    "accounts for programs",
    (
        Command(
            "list",
            "list them",
            lambda client, given: client.iter_service_accounts(**_given(given, "workspace_id")),
            OF_WORKSPACE,
            ("username", "workspaceId", "role"),
        ),
        Command(
            "create",
            "create one",
            lambda client, given: client.create_service_account(given.username, given.workspace, given.role),
            (USERNAME, WORKSPACE, ROLE),
        ),
        Command(
            "delete",
            "switch one off for good, with its keys",
            lambda client, given: client.delete_service_account(given.username),
            (USERNAME,),
        ),
    ),
)
GROUPS: Final = (WORKSPACES, MEMBERS, INVITATIONS, KEYS, SERVICE_ACCOUNTS)
