"""Dates and times in the options of commands."""

from __future__ import annotations

import datetime

from django.core.management.base import CommandError
from django.utils import timezone
from django.utils.dateparse import parse_datetime


def parse_option(text: str, option: str) -> datetime.datetime:
    """Return the time that an option gives, in UTC; raises `CommandError` unless it is ISO 8601."""
    try:
        found = parse_datetime(text) or parse_datetime(f"{text}T00:00:00")
        if found is not None:
            # The database stores UTC; a time close to the limits of `datetime` cannot be converted.
            return (found if timezone.is_aware(found) else found.replace(tzinfo=datetime.UTC)).astimezone(
                datetime.UTC
            )
    except (ValueError, OverflowError):
        pass
    raise CommandError(f"{option} must be ISO 8601, not {text!r}")
