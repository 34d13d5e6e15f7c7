"""The events of the log on the command line, a line each."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from editor_client.log import After, EventFilters, LogEvent
from editor_client.sync import Client

FILTERS = ("type", "kind", "id", "workspace_id", "actor")
BEYOND_THE_END = 10**18


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the options of `events`."""
    extent = command.add_mutually_exclusive_group()
    extent.add_argument("--follow", action="store_true", help="go on with new events, until Ctrl-C")
    extent.add_argument("--limit", type=int, default=100, metavar="N", help="at most so many; 100")
    command.add_argument(
        "--after", type=_position, metavar="POSITION", help="the events after this one; `now` with --follow"
    )
    command.add_argument("--type", metavar="TYPES", help="such as agent.published,promptBlock.*")
    command.add_argument("--kind", choices=("agent", "promptBlock"))
    command.add_argument("--id", help="of one resource")
    command.add_argument("--workspace", dest="workspace_id", metavar="ID")
    command.add_argument("--actor", metavar="NAME", help="what this person did")
    command.add_argument("--json", action="store_true", help="each event as JSON")


def show(client: Client, given: argparse.Namespace) -> None:
    """Print the events that the arguments ask for; Ctrl-C and a reader that leaves end it."""
    try:
        for event in _wanted(client, given):
            sys.stdout.write(f"{_json(event) if given.json else _line(event)}\n")
            sys.stdout.flush()
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        # What is still in the buffer would be written, and fail, when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _wanted(client: Client, given: argparse.Namespace) -> Iterator[LogEvent]:
    chosen: dict[str, Any] = {name: getattr(given, name) for name in FILTERS}
    filters: EventFilters = {name: value for name, value in chosen.items() if value is not None}  # type: ignore[assignment]
    if given.follow:
        return client.events("now" if given.after is None else given.after, **filters)
    if given.after is not None:
        return iter(client.list_events(after=given.after, limit=given.limit, **filters).events)
    newest = client.list_events(before=BEYOND_THE_END, limit=given.limit, **filters)
    return reversed(newest.events)


def _position(text: str) -> After:
    if text == "now":
        return "now"
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError("is a whole number, or `now`")
    return int(text)


def _line(event: LogEvent) -> str:
    about = f"{event.resource.kind} {event.resource.id}" if event.resource else event.workspace_id or ""
    version = "" if event.version_number is None else f"version {event.version_number}"
    by = f"{event.actor.id or 'the application'} ({event.actor.via})"
    words = (f"{event.position:>6}", f"{event.created_at:%Y-%m-%d %H:%M:%S}", event.type, about, version, by)
    return "  ".join(word for word in words if word)


def _json(event: LogEvent) -> str:
    return json.dumps(event.raw, ensure_ascii=False)
