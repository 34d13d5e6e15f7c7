"""Load the examples, and create a key for trying them."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from editor_project.conf import KEY
from editor_project.demo import load
from versioning.domain.access import Role
from versioning.models import ApiKey, Membership, Workspace, events
from versioning.models.accounts import account, new_account

USERNAME = "demo"
PASSWORD = "demo-password"  # noqa: S105  it is printed at every start
KEY_NAME = "make run"


class Command(BaseCommand):
    """Loads the examples once; creates a key and revokes the previous one, unless that is kept."""

    help = "Load the demo workspace once and print how to sign in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--address", default="", help="the address of the service, such as http://127.0.0.1:8000"
        )
        parser.add_argument("--key-file", type=Path, help="store the key in this file for the next start")

    @events.transaction()
    def handle(self, *_args: Any, address: str, key_file: Path | None, **_options: Any) -> None:
        """Print the studio's address, the sign-in and the key."""
        workspace = Workspace.objects.get(id=settings.EDITOR_CODE_WORKSPACE)
        user = account(USERNAME)
        if user is None:
            user = new_account(USERNAME, PASSWORD)
            user.is_staff = user.is_superuser = True
            user.save()
            Membership.objects.grant(user, workspace, Role.ADMIN)
            load(user, workspace.id)
        secret = settings.EDITOR_DEMO_KEY
        if key_file and not secret:
            with suppress(OSError, ValueError):  # there may be no key in the file yet
                stored = key_file.read_text(encoding="ascii").strip()
                secret = stored if KEY.fullmatch(stored) else ""
        old_key = ApiKey.objects.find_by_secret_or_prefix(secret) if secret else None
        is_kept = (
            old_key is not None and old_key.usable and old_key.owner == user and old_key.name == KEY_NAME
        )
        if old_key is not None and not is_kept:
            if settings.EDITOR_DEMO_KEY:
                raise CommandError("EDITOR_DEMO_KEY is a revoked key, or not the demo's.")
            secret = ""
        for key in ApiKey.objects.filter(owner=user, name=KEY_NAME, revoked_at=None):
            if key != old_key:
                key.revoke()
        if not is_kept:
            _, secret = ApiKey.objects.issue(
                user, name=KEY_NAME, workspace=workspace, role=Role.ADMIN, secret=secret
            )
        if key_file and not settings.EDITOR_DEMO_KEY:
            self._keep(key_file, secret)
        password = PASSWORD if user.check_password(PASSWORD) else "the password that it has"
        self.stdout.write(
            f"\n  Studio   {address}/studio/\n"
            f"  Sign in  {USERNAME} / {password}\n"
            f"  API      {address}/{settings.EDITOR_API_PREFIX}/docs\n"
            f"  API key  {secret}\n"
        )

    def _keep(self, path: Path, secret: str) -> None:
        """Write the key to the file, readable only for this user; print a warning if that fails."""
        try:
            with open(path, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(f"{secret}\n")
        except OSError as error:
            self.stderr.write(f"The key was not stored for the next start: {error}")
