"""Django's command, which checks typed passwords, with a check of the environment's password."""

from __future__ import annotations

import os
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.management.commands import createsuperuser
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from versioning.models.accounts import unsaved_account


class Command(createsuperuser.Command):
    """`manage.py createsuperuser`, with `DJANGO_SUPERUSER_PASSWORD` under the rules for passwords."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuse a password that breaks the rules for passwords, then create the account."""
        password = os.environ.get("DJANGO_SUPERUSER_PASSWORD")
        if not options["interactive"] and password is not None:
            name = options[get_user_model().USERNAME_FIELD] or ""
            try:
                validate_password(password, unsaved_account(name))
            except ValidationError as error:
                raise CommandError(f"DJANGO_SUPERUSER_PASSWORD: {' '.join(error.messages)}") from None
        super().handle(*args, **options)
