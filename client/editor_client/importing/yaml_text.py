"""YAML as plain values: by the core schema of YAML 1.2, without tags, and with a limit for aliases."""

from __future__ import annotations

from typing import Any, Final

from editor_client.importing.collection import Unreadable, shown
from editor_client.shared import canonical

MAX_TEXT: Final = 2 * 1024 * 1024
MAX_NODES: Final = 200_000
"""The maximum number of values, those behind aliases counted each time."""
HINT: Final = "This needs PyYAML: pip install 'editor-client[import]'"


class MissingExtra(Exception):
    """The library for YAML is not installed."""


def parse_yaml(text: str, name: str) -> Any:
    """Return the value of a YAML text.

    Raises `Unreadable` for what is no YAML, has tags, repeated keys or too many aliases, or has values that
    JSON does not have; `MissingExtra` without PyYAML.
    """
    try:
        import yaml  # noqa: PLC0415 - an extra of the distribution

        from editor_client.importing.yaml_loader import Loader  # noqa: PLC0415
    except ImportError:
        raise MissingExtra(HINT) from None
    if len(text) > MAX_TEXT:
        raise Unreadable(f"{shown(name)} is too large: {MAX_TEXT >> 20} MiB of YAML are allowed.")
    try:
        value = yaml.load(text, Loader)  # noqa: S506 - a safe loader
        _check_size(value, name)
        canonical.check(value)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise Unreadable(f"{shown(name)}{line}: {error.problem or 'no valid YAML'}") from None
    except yaml.YAMLError as error:
        raise Unreadable(f"{shown(name)} is no YAML: {shown(error)}") from None
    except RecursionError:
        raise Unreadable(f"{shown(name)} is nested too deeply.") from None
    except ValueError as error:
        raise Unreadable(f"{shown(name)} {error}") from None
    return value


def _check_size(value: Any, name: str) -> None:
    """Refuse values that are small as text and large once aliases are written out, or without an end."""
    pending, count = [value], 0
    while pending:
        item = pending.pop()
        count += 1
        if count > MAX_NODES:
            raise Unreadable(f"{shown(name)} has more than {MAX_NODES} values, aliases written out.")
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
