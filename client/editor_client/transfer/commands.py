"""Commands with subcommands, as tables, for administrators; and the exit codes of commands about files."""

from __future__ import annotations

import argparse
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.errors import EditorError
from editor_client.manage.administration import Workspace
from editor_client.result import Success
from editor_client.shared import canonical
from editor_client.sync import Client

DONE, UNDONE, USAGE, REFUSED = 0, 1, 2, 4
CODES: Final = """\
exit codes:
  0  it is done
  1  the file or rows of it cannot be imported, so nothing is; or the name is not that of one dataset
  2  wrong usage, or a file that cannot be read or written
  4  the server has refused, or does not answer; or there is no such dataset
"""

Run = Callable[[Client, argparse.Namespace], int]


class CommandError(Exception):
    """The error that ends a command, with its exit code and message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def reporting_errors(command: Run, *unusable: type[Exception]) -> Run:
    """Return the command with the exit codes for its errors; `unusable` are errors of its input."""
    error_types: tuple[type[Exception], ...] = (OSError, CommandError, EditorError, *unusable)

    def run(client: Client, args: argparse.Namespace) -> int:
        try:
            return command(client, args)
        except error_types as error:
            sys.stderr.write(f"error: {error}\n")
            if isinstance(error, CommandError):
                return error.code
            return REFUSED if isinstance(error, EditorError) else USAGE

    return run


Arguments = Sequence[tuple[str, Mapping[str, Any]]]
"""The arguments of a command: each with the keywords of `ArgumentParser.add_argument`."""


@dataclass(frozen=True)
class Command:
    """A command, or one of a group."""

    name: str
    help: str
    run: Callable[[Client, argparse.Namespace], object]
    """Returns the output: a result, a text, or the items of a list; for a `Success` its message."""
    arguments: Arguments = ()
    columns: Sequence[str] = ()
    """The members of the items of a list that are printed."""

    def __call__(self, client: Client, args: argparse.Namespace) -> int:
        """Run the command, print the outcome, and return the exit code."""
        result = self.run(client, args)
        if self.columns:
            print_items(result, self.columns, as_json=args.json)  # type: ignore[arg-type]
        elif isinstance(result, str | Success):
            sys.stdout.write(f"{result if isinstance(result, str) else result.message}\n")
        else:
            sys.stdout.write(canonical.file_text(result.raw))  # type: ignore[attr-defined]
        return 0


@dataclass(frozen=True)
class Group:
    """Commands about one thing."""

    name: str
    help: str
    commands: Sequence[Command] = field(default_factory=tuple)

    def add_to(self, parsers: Any, add_server: Callable[[argparse.ArgumentParser], None]) -> None:
        """Add the parsers of the commands."""
        group = parsers.add_parser(self.name, help=self.help)
        inner = group.add_subparsers(
            required=True, metavar=" | ".join(command.name for command in self.commands)
        )
        for command in self.commands:
            add_command(inner, command, add_server)


def add_command(
    parsers: Any, command: Command, add_server: Callable[[argparse.ArgumentParser], None]
) -> None:
    """Add the parser of a command."""
    parser = parsers.add_parser(command.name, help=command.help)
    for name, keywords in command.arguments:
        parser.add_argument(name, **keywords)
    if command.columns:
        parser.add_argument("--json", action="store_true", help="each as JSON")
    add_server(parser)
    parser.set_defaults(command=command)


def print_items(items: Iterable[Mapping[str, Any]], columns: Sequence[str], *, as_json: bool) -> None:
    """Print the items of a list, one a line: the columns below their names, or all of it as JSON."""
    if as_json:
        for item in items:
            sys.stdout.write(f"{json.dumps(getattr(item, 'raw', item), ensure_ascii=False)}\n")
        return
    rows = [list(columns), *([_cell(item.get(column)) for column in columns] for item in items)]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(f"{line.rstrip()}\n")


def _cell(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case list() | tuple():
            return ",".join(map(str, value))
    return str(value)


ROLES: Final = ("viewer", "editor", "publisher", "admin")
ACTIONS: Final = ("read", "run", "write", "publish", "admin", "directory")
WORKSPACE: Final = ("workspace", {"metavar": "WORKSPACE", "help": "its id"})
USERNAME: Final = ("username", {"metavar": "USERNAME"})
ROLE: Final = ("role", {"choices": ROLES})
OF_WORKSPACE: Final[Arguments] = (
    ("--workspace", {"dest": "workspace_id", "metavar": "ID", "help": "only of this workspace"}),
)
KEY_LIMITS: Final[Arguments] = (
    ("--workspace", {"dest": "workspace_id", "metavar": "ID", "help": "the only workspace that it reaches"}),
    ("--role", {"choices": ROLES, "help": "its maximum role"}),
    (
        "--action",
        {"dest": "actions", "action": "append", "choices": ACTIONS, "help": "can be repeated"},
    ),
    ("--id-prefix", {"metavar": "TEXT", "help": "the prefix of the ids that it reaches"}),
    ("--expires", {"dest": "expires_at", "metavar": "TIME", "help": "such as 2030-01-31T12:00:00Z"}),
    ("--owner", {"metavar": "USERNAME", "help": "a service account, instead of yourself"}),
)


def _options(args: Namespace, *names: str) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name in names if (value := getattr(args, name)) is not None}


def _workspace(client: Client, args: Namespace) -> Workspace[Client]:
    return client.get_workspace(args.workspace)


ME: Final = Command("me", "print the owner and the limits of the key", lambda client, _args: client.me())
WORKSPACES: Final = Group(
    "workspaces",
    "the workspaces that the key reaches",
    (
        Command(
            "list",
            "list them",
            lambda client, _args: client.iter_workspaces(),
            columns=("id", "name", "role"),
        ),
        Command(
            "create",
            "create one",
            lambda client, args: client.create_workspace(args.name, workspace_id=args.id),
            (("name", {}), ("--id", {"help": "by default derived from the name"})),
        ),
        Command(
            "rename",
            "rename one",
            lambda client, args: _workspace(client, args).rename(args.name),
            (WORKSPACE, ("name", {})),
        ),
        Command(
            "delete",
            "delete an empty one",
            lambda client, args: _workspace(client, args).delete(),
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
            lambda client, args: _workspace(client, args).iter_members(),
            (WORKSPACE,),
            ("username", "displayName", "role", "origin", "service", "lastSignInAt"),
        ),
        Command(
            "set-role",
            "change a role",
            lambda client, args: _workspace(client, args).set_role(args.username, args.role),
            (WORKSPACE, USERNAME, ROLE),
        ),
        Command(
            "remove",
            "end a membership",
            lambda client, args: _workspace(client, args).remove_member(args.username),
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
            lambda client, args: _workspace(client, args).list_invitations().invitations,
            (WORKSPACE,),
            ("id", "username", "role", "invitedBy", "expiresAt", "isAcceptable"),
        ),
        Command(
            "create",
            "invite a person; prints the link, once",
            lambda client, args: (
                _workspace(client, args).invite(args.username, args.role, mail=args.mail).url
            ),
            (WORKSPACE, USERNAME, ROLE, ("--mail", {"metavar": "ADDRESS"})),
        ),
        Command(
            "withdraw",
            "withdraw one",
            lambda client, args: _workspace(client, args).withdraw_invitation(args.id),
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
            lambda client, args: client.iter_keys(**_options(args, "workspace_id")),
            OF_WORKSPACE,
            ("prefix", "name", "owner", "workspaceId", "role", "actions", "idPrefix", "state"),
        ),
        Command(
            "create",
            "create one; prints it, once",
            lambda client, args: (
                client.create_key(
                    args.name,
                    **_options(args, "workspace_id", "role", "actions", "id_prefix", "expires_at", "owner"),
                ).key
            ),
            (("name", {"help": "its purpose"}), *KEY_LIMITS),
        ),
        Command(
            "revoke",
            "revoke one",
            lambda client, args: client.revoke_key(args.prefix),
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
            lambda client, args: client.iter_service_accounts(**_options(args, "workspace_id")),
            OF_WORKSPACE,
            ("username", "workspaceId", "role"),
        ),
        Command(
            "create",
            "create one",
            lambda client, args: client.create_service_account(args.username, args.workspace, args.role),
            (USERNAME, WORKSPACE, ROLE),
        ),
        Command(
            "delete",
            "deactivate one permanently, with its keys",
            lambda client, args: client.delete_service_account(args.username),
            (USERNAME,),
        ),
    ),
)
GROUPS: Final = (WORKSPACES, MEMBERS, INVITATIONS, KEYS, SERVICE_ACCOUNTS)
