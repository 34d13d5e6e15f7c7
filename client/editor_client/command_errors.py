"""The exit codes of commands about files, and the errors that lead to them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Final

from editor_client.errors import EditorError
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
