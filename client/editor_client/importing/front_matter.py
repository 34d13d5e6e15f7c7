"""Files with YAML between two lines of `---`, and a text after them."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from editor_client.importing.collection import Collection, Unreadable, shown
from editor_client.importing.yaml_text import parse_yaml

_UNRESOLVED: Final = re.compile(r"\$\{(?:env|file):[^}\n]{0,200}\}")


class FrontMatter(NamedTuple):
    """A file in its parts."""

    head: dict[str, Any]
    body: str
    line: int
    """The line on which the body begins."""


def parted(text: str, name: str) -> FrontMatter:
    """Return the parts of a file; one without a head is a body. Raises `Unreadable`."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        return FrontMatter({}, "\n".join(lines), 1)
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise Unreadable(f"{shown(name)} begins with `---`, and the head has no end.")
    head = parse_yaml("\n".join(["", *lines[1:end]]), name)  # with the lines of the file
    if head is not None and not isinstance(head, dict):
        raise Unreadable(f"{shown(name)} has a head that is no object.")
    return FrontMatter(head or {}, "\n".join(lines[end + 1 :]), end + 2)


def note_unresolved(text: str, collection: Collection, where: str, first_line: int = 1) -> None:
    """Note what the source would read from the environment or from a file: here it stays as text."""
    for match in _UNRESOLVED.finditer(text):
        line = first_line + text.count("\n", 0, match.start())
        collection.lose("not_resolved", where, f"{shown(match[0])} stays as text.", line)
