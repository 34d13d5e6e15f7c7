"""The place of a comment in a configuration: a field, a line of its text, the quoted words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from versioning.domain.config import Config
from versioning.domain.errors import Invalid
from versioning.domain.texts import MAX_QUOTE

_INDEX: Final = re.compile(r"(0|[1-9][0-9]{0,8})(?:\.|\Z)")


def value_at(config: Config, field: str) -> Any:
    """Return the value at a path such as `instructions.2.content` in a configuration, or None.

    List items are counted from 0, as in the field names of errors. A key may contain dots itself.
    """
    if field.endswith("."):
        return None
    value, rest = config, field
    while rest:
        step = _step(value, rest)
        if step is None:
            return None
        value, rest = step
    return value


def _step(value: Any, path: str) -> tuple[Any, str] | None:
    """Return the member that the path begins with, and the rest of the path."""
    if isinstance(value, list):
        first = _INDEX.match(path)
        return (value[int(first[1])], path[first.end() :]) if first and int(first[1]) < len(value) else None
    if isinstance(value, Mapping):
        found = [key for key in value if path == key or path.startswith(f"{key}.")]
        if found:
            key = max(found, key=len)
            return value[key], path[len(key) :].removeprefix(".")
    return None


def checked_quote(config: Config, field: str, line: int | None, quote: str) -> str:
    """Return the quotation of a comment at this place: the given words, or else the beginning of the line.

    Raises `Invalid` if the configuration does not have the field, or the field the line.
    """
    if line is not None and not field:
        raise Invalid.field("line", "needs the field to which the line belongs")
    if not field:
        return quote
    value = value_at(config, field)
    if value is None:
        raise Invalid.field(
            "field", "is not a field of this version; a field is named like instructions.2.content"
        )
    if line is None:
        return quote
    lines = value.split("\n") if isinstance(value, str) else []
    if not 1 <= line <= len(lines):
        raise Invalid.field("line", "is not a line of this field: only texts have lines, counted from 1")
    return quote or lines[line - 1].strip()[:MAX_QUOTE]


class Content:
    """The content of a version, to be searched for the places of comments."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._texts: dict[str, str] = {}

    def lacks(self, field: str, quote: str) -> bool:
        """Return whether the place of a comment is missing in the version.

        It is the field, and the quoted words anywhere in it; for a comment on a block, anywhere in
        `instructions`.
        """
        if not quote:
            return bool(field) and value_at(self._config, field) is None
        name = top(self._config, field)
        if name not in self._texts:
            searched = self._config.get(name) if name else self._config
            # No text holds NUL.
            self._texts[name] = "\0".join(_plain(text) for _path, text in texts(searched, name))
        return _plain(quote) not in self._texts[name]


def located(config: Config, name: str, quote: str) -> tuple[str, int | None] | None:
    """Return the path of the first text in a field that contains some words, and the number of their line.

    The line is None for words of several lines. Returns None if no text contains them.
    """
    wanted = _plain(quote)
    for path, text in texts(config.get(name), name):
        if wanted in _plain(text):
            lines = [number for number, line in enumerate(text.split("\n"), 1) if wanted in _plain(line)]
            return path, lines[0] if lines else None
    return None


def has_words(text: str, quote: str) -> bool:
    """Return whether a text has the quoted words, with any white space between them."""
    return _plain(quote) in _plain(text)


def top(config: Config, field: str) -> str:
    """Return the name of the field of a place: `instructions` for `instructions.2.content`."""
    return field if field in config else field.partition(".")[0]


def texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield all texts in a value, in order, each with its path."""
    pending = [(path, value)]
    while pending:
        at, item = pending.pop()
        if isinstance(item, str):
            yield at, item
        elif isinstance(item, Mapping):
            pending += reversed([(f"{at}.{key}" if at else key, member) for key, member in item.items()])
        elif isinstance(item, list):
            pending += reversed([(f"{at}.{place}", member) for place, member in enumerate(item)])


def _plain(text: str) -> str:
    """Return a text with each run of white space as one space, as a browser copies it."""
    return " ".join(text.split())
