"""Load the demo, and make a key to try it with."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand

from editor_project.demo import load
from versioning.domain.access import Role
from versioning.models import ApiKey, Membership, Workspace, events

USERNAME = "demo"
PASSWORD = "demo"  # noqa: S105  it is printed at every start
KEY_NAME = "make run"


class Command(BaseCommand):
    """Loads the examples once; makes a new key each time and revokes the one before."""

    help = "Load the demo workspace once, and print how to get in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--address", default="http://127.0.0.1:8000", help="where the service will be")

    @events.transaction()
    def handle(self, *_args: Any, address: str, **_options: Any) -> None:
        """Print the studio's address, the sign-in and the key."""
        workspace = Workspace.objects.get(id=settings.EDITOR_CODE_WORKSPACE)
        user, is_new = User.objects.get_or_create(
            username=USERNAME, defaults={"is_staff": True, "is_superuser": True}
        )
        if is_new:
            user.set_password(PASSWORD)
            user.save()
            Membership.objects.grant(user, workspace, Role.ADMIN)
            load(user, workspace.id)
        for key in user.api_keys.filter(name=KEY_NAME, revoked_at=None):
            key.revoke()
        _, text = ApiKey.objects.issue(user, name=KEY_NAME, workspace=workspace, role=Role.ADMIN)
        self.stdout.write(
            f"\n  Studio   {address}/studio/\n"
            f"  Sign in  {USERNAME} / {PASSWORD}\n"
            f"  API      {address}/{settings.EDITOR_API_PREFIX}/docs\n"
            f"  API key  {text}\n"
        )
