"""Create an API key, and its owner, workspace and membership if they are missing."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError
from editor_client.shared import ids

from versioning.domain.access import COMMAND, Role
from versioning.domain.errors import Invalid
from versioning.management.export_import_report import parse_option
from versioning.models import ApiKey, Membership, Workspace, events
from versioning.models.accounts import account, new_account

if TYPE_CHECKING:
    from django.contrib.auth.models import User


class Command(BaseCommand):
    """Prints only the key on standard output, so that a script can use it."""

    help = "Create an API key for a user and print it."
    requires_system_checks = ()  # they would load the framework, which a key does not need

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--workspace", help="limit the key to this workspace, by id; created if missing")
        parser.add_argument(
            "--role",
            choices=[role.value for role in Role],
            help="limit the key to this role, which the user also gets there",
        )
        parser.add_argument("--name", default="", help="the purpose of the key, as its name")
        parser.add_argument("--expires", help="ISO 8601, such as 2030-01-31 or 2030-01-31T12:00:00Z")

    @events.transaction()
    def handle(
        self,
        *_args: Any,
        username: str,
        workspace: str | None,
        role: str | None,
        name: str,
        expires: str | None,
        **_options: Any,
    ) -> None:
        """Create the user, the workspace and the membership if they are missing, then the key."""
        expires_at = parse_option(expires, "--expires") if expires else None
        try:
            user = account(username) or new_account(username)
        except Invalid as error:
            raise CommandError(f"USERNAME: {error.issues[0].message}") from None
        limit = Role(role) if role else None
        room = _join_workspace(user, workspace, limit) if workspace else None
        try:
            _, text = ApiKey.objects.issue(
                user, name=name, workspace=room, role=limit, expires_at=expires_at, by=COMMAND
            )
        except Invalid as error:
            raise CommandError(str(error)) from None
        self.stdout.write(text)


def _join_workspace(user: User, workspace_id: str, role: Role | None) -> Workspace:
    """Return the workspace with the user as a member of at least this role; never lowers a role."""
    problem = ids.problem(workspace_id)
    if problem is not None:
        raise CommandError(f"--workspace {problem}")
    room, _ = Workspace.objects.make(workspace_id, workspace_id, by=COMMAND)
    current = Membership.objects.roles_of(user).get(workspace_id)
    requested = role or Role.VIEWER
    if current is None or current.rank < requested.rank:
        Membership.objects.grant(user, room, requested, by=COMMAND)
    return room
