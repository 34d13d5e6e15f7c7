"""Erase a person: replace the name and the address everywhere; records of actions stay."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from versioning.domain.access import COMMAND
from versioning.domain.errors import Conflict, NotFound
from versioning.editor.people import People


class Command(BaseCommand):
    """For machine administrators, as for superusers."""

    help = "Erase a person: replace the name and the mail address everywhere and deactivate the account."
    requires_system_checks = ()  # they would load the framework, which this does not need

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    def handle(self, *_args: Any, username: str, **_options: Any) -> None:
        """Erase the person, and print the new name; fails if nothing is stored under the name."""
        try:
            erased = People().erase(username, by=COMMAND)
        except NotFound:
            raise CommandError(f"Nothing is stored under the name {username!r}.") from None
        except Conflict as error:
            raise CommandError(str(error)) from None
        self.stdout.write(erased.username)
