"""YAML, where PyYAML is installed."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from editor_client.shared.errors import Invalid
from editor_client.transfer.importing.collection import Unreadable, shown

MAX_TEXT: Final = 2 * 1024 * 1024
MAX_ALIASES: Final = 100


class MissingExtra(Exception):
    """The library for YAML is not installed."""


def yaml_files() -> ModuleType:
    """Return the module that reads and writes YAML; raises `MissingExtra` without PyYAML."""
    try:
        import yaml  # noqa: F401, PLC0415 - an extra of the distribution

        from editor_client.shared import yaml_files  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("This needs PyYAML: pip install 'editor-client[import]'") from None
    return yaml_files


def parse_yaml(text: str, name: str) -> Any:
    """Return the value of a YAML text.

    Raises `Unreadable` for what is no YAML, has tags, repeated keys or too many aliases, or has values that
    JSON does not have; `MissingExtra` without PyYAML.
    """
    files = yaml_files()
    if len(text) > MAX_TEXT:
        raise Unreadable(f"{shown(name)} is too large: {MAX_TEXT >> 20} MiB of YAML are allowed.")
    try:
        return files.parse(text, max_aliases=MAX_ALIASES, max_size=2 * MAX_TEXT)
    except Invalid as error:
        raise Unreadable(f"{shown(name)} {shown(error.issues[0].message)}") from None
