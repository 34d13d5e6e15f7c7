"""Print the state of the installation."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connection

from versioning import __version__
from versioning.models import WorkerHeartbeat, events, replica, sealed_keys, storage
from versioning.models.sealed_keys import KeyUnreadable, SealedKey
from versioning.worker.jobs import backlogs, seconds_since


class Command(BaseCommand):
    """`manage.py status [--json]`."""

    help = "Print the version, pending migrations, and the state of log, workers, queues and keys."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="for programs")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print the state of the installation; fails if the database does not answer."""
        try:
            state = _state()
        except Error as error:
            raise CommandError(f"The database does not answer: {error}") from error
        if options["json"]:
            self.stdout.write(json.dumps(state, indent=2))
        else:
            for name, value in _lines(state):
                self.stdout.write(f"{name:<20} {value}")


def _state() -> dict[str, Any]:
    state: dict[str, Any] = {
        "version": __version__,
        "database": connection.vendor,
        "migrations": "pending" if storage.lack_migrations() else "current",
    }
    if state["migrations"] == "pending":  # the tables may be missing
        return state
    extent, newest = events.extent(), events.newest_at()
    silence = WorkerHeartbeat.objects.silence()
    return {
        **state,
        "log": {
            "position": extent.newest,
            "prunedTo": extent.oldest,
            "epoch": extent.epoch,
            "secondsSinceNewest": None if newest is None else round(seconds_since(newest)),
        },
        **_replica(),
        "worker": {
            "running": silence is None,
            "silentSince": silence.since.isoformat() if silence and silence.since else None,
        },
        "queues": {
            backlog.kind: {
                "due": backlog.due,
                "leased": backlog.leased,
                "later": backlog.later,
                "oldestSeconds": round(backlog.oldest_seconds),
            }
            for backlog in backlogs()
        },
        "fallbacks": len([fallback for fallback in settings.SECRET_KEY_FALLBACKS if fallback]),
        "keys": {model._meta.label: _key(model) for model in sealed_keys.sealed_keys()},
    }


def _replica() -> dict[str, Any]:
    if not replica.is_configured():
        return {}
    found = replica.state()
    return {
        "replica": {
            "state": found.state,
            "position": found.position,
            "secondsBehind": round(found.seconds_behind),
        }
    }


def _key(model: type[SealedKey]) -> str:
    try:
        return "under a fallback" if model.is_under_fallback() else "current"
    except KeyUnreadable:
        return "unreadable"


def _lines(state: dict[str, Any], before: str = "") -> list[tuple[str, object]]:
    lines: list[tuple[str, object]] = []
    for name, value in state.items():
        if isinstance(value, dict):
            lines += _lines(value, f"{before}{name}.")
        else:
            lines.append((f"{before}{name}", "-" if value is None else value))
    return lines
