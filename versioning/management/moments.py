"""Moments as they are typed behind the options of commands."""

from __future__ import annotations

import datetime

from django.core.management.base import CommandError
from django.utils import timezone
from django.utils.dateparse import parse_datetime


def moment(text: str, option: str) -> datetime.datetime:
    """Return the moment that an option names, in UTC; raises `CommandError` for what is no ISO 8601."""
    try:
        found = parse_datetime(text) or parse_datetime(f"{text}T00:00:00")
        if found is not None:
            # In UTC, as the database stores it: a moment can be too early or too late for that.
            return (found if timezone.is_aware(found) else found.replace(tzinfo=datetime.UTC)).astimezone(
                datetime.UTC
            )
    except (ValueError, OverflowError):
        pass
    raise CommandError(f"{option} must be ISO 8601, not {text!r}")
