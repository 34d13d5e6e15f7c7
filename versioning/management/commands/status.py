"""Print the state of the installation."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connection

from versioning import __version__
from versioning.models import WorkerHeartbeat, events, replica, sealed_keys, storage
from versioning.models.sealed_keys import KeyUnreadable, SealedKey
from versioning.worker.jobs import backlogs, seconds_since, work_models

_WIDTH: Final = 40


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
                self.stdout.write(f"{name + ':':<{_WIDTH}}{value}")


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
    state = replica.state()
    return {
        "replica": {
            "state": state.state,
            "position": state.position,
            "secondsBehind": round(state.seconds_behind),
        }
    }


def _key(model: type[SealedKey]) -> str:
    try:
        return "under a fallback" if model.is_under_fallback() else "current"
    except KeyUnreadable:
        return "unreadable"


def _lines(state: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield names and values for people; the names of `--json` are for programs."""
    yield "Version", state["version"]
    yield "Database", state["database"]
    yield "Migrations", state["migrations"]
    if state["migrations"] == "pending":
        return
    log, worker = state["log"], state["worker"]
    age = log["secondsSinceNewest"]
    yield "Log position", str(log["position"])
    yield "Log pruned up to", str(log["prunedTo"])
    yield "Log epoch", log["epoch"] or "none yet"
    yield "Newest log entry", "none" if age is None else f"{age} seconds ago"
    if "replica" in state:
        replica_state = state["replica"]
        position = "unknown" if replica_state["position"] is None else replica_state["position"]
        behind = f"{replica_state['secondsBehind']} seconds behind"
        yield "Replica", f"{replica_state['state']}, at log position {position}, {behind}"
    if worker["running"]:
        yield "Worker", "running"
    else:
        since = worker["silentSince"]
        yield "Worker", f"not running since {since}" if since else "has never run"
    for kind, model in work_models().items():
        work = state["queues"][kind]
        waiting = f", oldest due for {work['oldestSeconds']} seconds" if work["due"] else ""
        yield (
            f"Waiting {getattr(model, 'work_name', kind)}",
            f"{work['due']} due, {work['leased']} in progress, {work['later']} later{waiting}",
        )
    yield "Fallback secret keys", str(state["fallbacks"])
    for model in sealed_keys.sealed_keys():
        yield model.purpose.decode().removeprefix("the ").capitalize(), state["keys"][model._meta.label]
