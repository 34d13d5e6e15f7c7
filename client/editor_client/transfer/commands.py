"""Commands: those with subcommands, as tables; and the exit codes of commands about files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from editor_client.errors import EditorError
from editor_client.result import Success
from editor_client.shared import canonical
from editor_client.sync import Client

DONE, UNDONE, USAGE, REFUSED = 0, 1, 2, 4
CODES: Final = """\
exit codes:
  0  it is done
  1  rows of the file cannot be imported, so nothing is; or the name is not that of one dataset
  2  wrong usage, or a file that cannot be read or written
  4  the server has refused, or does not answer; or there is no such dataset
"""

Run = Callable[[Client, argparse.Namespace], int]


class CommandError(Exception):
    """What ends a command, with its exit code; the message says why."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def reporting_errors(command: Run, *unusable: type[Exception]) -> Run:
    """Return the command with the exit codes for its errors; `unusable` are those of what it is given."""
    known: tuple[type[Exception], ...] = (OSError, CommandError, EditorError, *unusable)

    def run(client: Client, given: argparse.Namespace) -> int:
        try:
            return command(client, given)
        except known as error:
            sys.stderr.write(f"error: {error}\n")
            if isinstance(error, CommandError):
                return error.code
            return REFUSED if isinstance(error, EditorError) else USAGE

    return run


Arguments = Sequence[tuple[str, Mapping[str, Any]]]
"""The arguments of a command: each with the keywords of `ArgumentParser.add_argument`."""


@dataclass(frozen=True)
class Command:
    """A command, or one of a group."""

    name: str
    help: str
    run: Callable[[Client, argparse.Namespace], object]
    """Returns what is printed: a result, a text, or the items of a list; of a `Success` its message."""
    arguments: Arguments = ()
    columns: Sequence[str] = ()
    """The members of the items of a list that are printed."""

    def __call__(self, client: Client, given: argparse.Namespace) -> int:
        """Do it, print the outcome, and return the exit code."""
        found = self.run(client, given)
        if self.columns:
            print_items(found, self.columns, as_json=given.json)  # type: ignore[arg-type]
        elif isinstance(found, str | Success):
            sys.stdout.write(f"{found if isinstance(found, str) else found.message}\n")
        else:
            sys.stdout.write(canonical.file_text(found.raw))  # type: ignore[attr-defined]
        return 0


@dataclass(frozen=True)
class Group:
    """Commands about one thing."""

    name: str
    help: str
    commands: Sequence[Command] = field(default_factory=tuple)

    def add_to(self, parsers: Any, add_server: Callable[[argparse.ArgumentParser], None]) -> None:
        """Add the parsers of the commands."""
        group = parsers.add_parser(self.name, help=self.help)
        inner = group.add_subparsers(
            required=True, metavar=" | ".join(command.name for command in self.commands)
        )
        for command in self.commands:
            add_command(inner, command, add_server)


def add_command(
    parsers: Any, command: Command, add_server: Callable[[argparse.ArgumentParser], None]
) -> None:
    """Add the parser of a command."""
    parser = parsers.add_parser(command.name, help=command.help)
    for name, keywords in command.arguments:
        parser.add_argument(name, **keywords)
    if command.columns:
        parser.add_argument("--json", action="store_true", help="each as JSON")
    add_server(parser)
    parser.set_defaults(command=command)


def print_items(items: Iterable[Mapping[str, Any]], columns: Sequence[str], *, as_json: bool) -> None:
    """Print the items of a list, one a line: the columns below their names, or all of it as JSON."""
    if as_json:
        for item in items:
            sys.stdout.write(f"{json.dumps(getattr(item, 'raw', item), ensure_ascii=False)}\n")
        return
    rows = [list(columns), *([_cell(item.get(column)) for column in columns] for item in items)]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(f"{line.rstrip()}\n")


def _cell(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case str():
            return value
        case list() | tuple():
            return ",".join(map(str, value))
    return str(value)
