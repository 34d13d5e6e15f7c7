"""Remove the second factors of a person who has lost them."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from capabilities.accounts.models import SecondFactor
from capabilities.accounts.sign_in.events import record
from versioning.domain.access import COMMAND
from versioning.models import events
from versioning.models.accounts import account


class Command(BaseCommand):
    """`manage.py remove_second_factor USERNAME`; verify the person's identity first."""

    help = "Remove all second factors and recovery codes of a person."
    requires_system_checks = ()  # they would load the framework, which this does not need

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    @events.transaction()
    def handle(self, *_args: Any, username: str, **_options: Any) -> None:
        """Remove them, with an entry in the log; fails if there are none."""
        user = account(username)
        if user is None or not SecondFactor.is_set_up(user):
            raise CommandError(f"{username} has no second factor.")
        for factor in SecondFactor.of(user):
            factor.delete()
        record("secondFactor.removed", user, by=COMMAND)
        self.stdout.write(f"{user.get_username()} no longer has a second factor.")
