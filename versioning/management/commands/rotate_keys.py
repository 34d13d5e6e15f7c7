"""Re-encrypt and sign everything with the current keys of the settings."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from versioning.models import sealed_keys
from versioning.models.sealed_keys import KeyUnreadable


class Command(BaseCommand):
    """`manage.py rotate_keys`, after a new `SECRET_KEY` was set in every process."""

    help = (
        "Re-encrypt stored secrets with the current SECRET_KEY and report whether SECRET_KEY_FALLBACKS "
        "can be removed."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Re-encrypt stored keys and sign sessions again; fails if a stored key cannot be read."""
        unreadable: list[str] = []
        for model in sealed_keys.sealed_keys():
            name = model.purpose.decode().removeprefix("the ").capitalize()
            try:
                renewed = model.is_under_fallback()
                model.keep_up()
            except KeyUnreadable as error:
                unreadable.append(f"{name}: {error}")
                continue
            self.stdout.write(f"{name}: {'encrypted again' if renewed else 'unchanged'}.")
        self.stdout.write(f"Sessions: {sealed_keys.rotate_sessions()} signed again.")
        if unreadable:
            raise CommandError("\n".join([*unreadable, "Keep all fallbacks until it can be read."]))
        if any(settings.SECRET_KEY_FALLBACKS) or "," in getattr(settings, "EDITOR_WEBHOOK_KEY", ""):
            self.stdout.write(
                "Nothing needs a fallback any more: once every process has the new settings, you can remove "
                "SECRET_KEY_FALLBACKS and all but the first text of EDITOR_WEBHOOK_KEY."
            )
        else:
            self.stdout.write("There is no fallback.")
