"""Load the examples, and create a key for trying them."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from editor_project.demo import load
from versioning.domain.access import Role
from versioning.models import ApiKey, Membership, Workspace, events
from versioning.models.accounts import account, new_account

USERNAME = "demo"
PASSWORD = "demo-password"  # noqa: S105  it is printed at every start
KEY_NAME = "make run"


class Command(BaseCommand):
    """Loads the examples once; each time creates a new key and revokes the previous one."""

    help = "Load the demo workspace once, and print how to get in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--address", default="http://127.0.0.1:8000", help="where the service will be")

    @events.transaction()
    def handle(self, *_args: Any, address: str, **_options: Any) -> None:
        """Print the studio's address, the sign-in and the key."""
        workspace = Workspace.objects.get(id=settings.EDITOR_CODE_WORKSPACE)
        user = account(USERNAME)
        if user is None:
            user = new_account(USERNAME, PASSWORD)
            user.is_staff = user.is_superuser = True
            user.save()
            Membership.objects.grant(user, workspace, Role.ADMIN)
            load(user, workspace.id)
        for key in ApiKey.objects.filter(owner=user, name=KEY_NAME, revoked_at=None):
            key.revoke()
        _, text = ApiKey.objects.issue(user, name=KEY_NAME, workspace=workspace, role=Role.ADMIN)
        password = PASSWORD if user.check_password(PASSWORD) else "the password that it has"
        self.stdout.write(
            f"\n  Studio   {address}/studio/\n"
            f"  Sign in  {USERNAME} / {password}\n"
            f"  API      {address}/{settings.EDITOR_API_PREFIX}/docs\n"
            f"  API key  {text}\n"
        )
