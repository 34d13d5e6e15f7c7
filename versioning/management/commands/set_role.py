"""Give a person a role in a workspace, or end the membership."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from versioning.domain.access import COMMAND, Role
from versioning.domain.errors import NotFound
from versioning.editor import Workspaces
from versioning.editor.workspaces import LastAdmin
from versioning.models.accounts import account

NO_ROLE: Final = "none"


class Command(BaseCommand):
    """For machine administrators: needs no consent of the person, and no admin of the workspace."""

    help = "Give an account a role in a workspace; `none` ends the membership."
    requires_system_checks = ()  # they would load the framework, which a role does not need

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("workspace", help="its id")
        parser.add_argument("role", choices=[*(role.value for role in Role), NO_ROLE])

    def handle(self, *_args: Any, username: str, workspace: str, role: str, **_options: Any) -> None:
        """Set the role, with an entry in the log unless nothing changes."""
        if account(username) is None:
            raise CommandError(
                f"There is no account {username!r}: create one with create_api_key or an invitation."
            )
        new_role = None if role == NO_ROLE else Role(role)
        try:
            before = Workspaces().set_role(workspace, username, new_role, by=COMMAND)
        except NotFound:
            raise CommandError(f"There is no workspace {workspace!r}.") from None
        except LastAdmin as error:
            raise CommandError(str(error)) from None
        was = f", and was {before}" if before is not None and before != new_role else ""
        now = "no member of" if new_role is None else f"{new_role} in"
        self.stdout.write(f"{username} is {now} the workspace {workspace}{was}.")
