"""Files with YAML between two lines of `---`, and a text after them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from editor_client.transfer.importing.collection import Collection, Unreadable, shown
from editor_client.transfer.importing.messages import Message
from editor_client.transfer.importing.yaml_text import parse_yaml

DASHES: Final = re.compile(r"---\s*")
_ROLES: Final = {"model": "assistant"}
_UNRESOLVED: Final = re.compile(r"\$\{(?:env|file):[^}\n]{0,200}\}")


class FrontMatter(NamedTuple):
    """A file in its parts."""

    head: dict[str, Any]
    body: str
    line: int
    """The line on which the body begins."""
    comments: str = ""
    """The lines of comments before the head, such as a licence."""


def parted(
    text: str, name: str, *, marker: re.Pattern[str] = DASHES, with_comments: bool = False
) -> FrontMatter:
    """Return the parts of a file; one without a head is a body. Raises `Unreadable`.

    Empty lines may stand before the head; `with_comments`, lines that begin with `#`, too. The head is
    between the first two lines that are a `marker`.
    """
    text = text.replace("\r\n", "\n")
    lines = (text if "\n" in text else text.replace("\r", "\n")).split("\n")
    is_before: Callable[[str], bool] = lambda line: (  # noqa: E731
        not line.strip() or (with_comments and line.startswith("#"))
    )
    start = next((number for number, line in enumerate(lines) if not is_before(line)), None)
    if start is None or not marker.fullmatch(lines[start]):
        return FrontMatter({}, "\n".join(lines), 1)
    end = next((place for place in range(start + 1, len(lines)) if marker.fullmatch(lines[place])), None)
    if end is None:
        raise Unreadable(f"{shown(name)} begins with `{lines[start].strip()}`, and the head has no end.")
    # with the lines of the file
    head = parse_yaml("\n".join(["" for _ in range(start + 1)] + lines[start + 1 : end] + [""]), name)
    if head is not None and not isinstance(head, dict):
        raise Unreadable(f"{shown(name)} has a head that is no object.")
    comments = "\n".join(lines[:start]).strip()
    return FrontMatter(head or {}, "\n".join(lines[end + 1 :]), end + 2, comments)


def note_unresolved(text: str, collection: Collection, where: str, first_line: int = 1) -> None:
    """Note what the source would read from the environment or from a file: here it stays as text."""
    for match in _UNRESOLVED.finditer(text):
        line = first_line + text.count("\n", 0, match.start())
        collection.lose("not_resolved", where, f"{shown(match[0])} stays as text.", line)


def messages_in(file: FrontMatter, tag: re.Pattern[str], role: str) -> list[Message]:
    """Return the messages of a body; what stands before the first tag is of this role.

    The group `role` of a tag names that of the message after it; a tag without is the place of a history.
    The group `about`, if there is one, is what else a tag says of the message.
    """
    found: list[Message] = []
    start = 0
    about: dict[str, str] = {}
    for match in [*tag.finditer(file.body), None]:
        text = file.body[start : None if match is None else match.start()]
        if text.strip():
            leading = len(text) - len(text.lstrip("\n"))
            line = file.line + file.body.count("\n", 0, start) + leading
            found.append(Message(role=role, text=text.strip("\n"), line=line, left=about))
        if match is not None and match["role"] is None:
            found.append(Message(role="placeholder", text=None, placeholder="history"))
        elif match is not None:
            role = _ROLES.get(match["role"].lower(), match["role"].lower())
            about = {"about": said} if (said := match.groupdict().get("about")) else {}
        start = start if match is None else match.end()
    return found
