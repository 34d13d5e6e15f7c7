"""Revoke an API key."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from versioning.domain.access import COMMAND
from versioning.models import ApiKey
from versioning.models.keys import PREFIX_LENGTH


class Command(BaseCommand):
    """Takes the whole key, or the prefix that the studio shows."""

    help = "Revoke an API key; it is refused from the next request on."
    requires_system_checks = ()  # they would load the framework, which no key needs

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("key", metavar="KEY_OR_PREFIX")

    def handle(self, *_args: Any, key: str, **_options: Any) -> None:
        """Revoke the key; an unknown one is an error."""
        api_key = ApiKey.objects.find_by_secret_or_prefix(key)
        if api_key is None:
            raise CommandError(f"There is no API key {key[:PREFIX_LENGTH]}…")
        api_key.revoke(by=COMMAND)
        self.stdout.write(f"The API key {api_key.prefix}… is revoked.")
