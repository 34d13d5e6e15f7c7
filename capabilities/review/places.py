"""The place of a comment in a configuration: a field, a line of its text, the quoted words. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from versioning.domain.config import Config
from versioning.domain.errors import Invalid
from versioning.domain.texts import MAX_QUOTE, clip

MAX_PLACES: Final = 1_000
"""The maximum number of places of the same words that are distinguished."""
_BETWEEN: Final = "\n\0\n"
"""Separates texts that are compared as one: no text contains NUL."""
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
        keys = [key for key in value if path == key or path.startswith(f"{key}.")]
        if keys:
            key = max(keys, key=len)
            return value[key], path[len(key) :].removeprefix(".")
    return None


def with_text(value: Any, path: str, text: str) -> Any:
    """Return a copy of a value with another text at a path that `value_at` finds."""
    step = _step(value, path) if path else None
    if step is None:
        return text
    member, rest = step
    key = path[: len(path) - len(rest)].removesuffix(".") if rest else path
    if isinstance(value, list):
        number = int(key)
        return [*value[:number], with_text(member, rest, text), *value[number + 1 :]]
    return {**value, key: with_text(member, rest, text)}


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
    return quote or clip(lines[line - 1].strip(), MAX_QUOTE)


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
            # No text contains NUL.
            self._texts[name] = "\0".join(_plain(text) for _path, text in texts(searched, name))
        return _plain(quote) not in self._texts[name]


class PlaceOfWords(NamedTuple):
    """The position of words in a text of a configuration."""

    path: str
    """The text, such as `instructions.2.content`."""
    line: int | None
    """The number of their line, from 1; None for words of several lines."""
    start: int
    """The offset in the text, in characters."""


class Hint(NamedTuple):
    """A reader's selection: a text, the line in which the words begin, and the occurrence in that line."""

    path: str = ""
    line: int | None = None
    earlier: int = 0
    """The number of earlier occurrences in the line."""


def occurrences(config: Config, name: str, quote: str) -> list[PlaceOfWords]:
    """Return the places of some words in the texts of a field, in order; they may overlap."""
    words = r"\s+".join(map(re.escape, quote.split()))
    places: list[PlaceOfWords] = []
    for path, text in texts(config.get(name), name) if words else ():
        line, line_start = 1, 0
        for match in islice(re.finditer(f"(?=({words}))", text), MAX_PLACES - len(places)):
            line, line_start = line + text.count("\n", line_start, match.start()), match.start()
            is_long = "\n" in match[1]
            places.append(PlaceOfWords(path, None if is_long else line, match.start()))
    return places


def locate(config: Config, name: str, quote: str, hint: Hint = Hint()) -> PlaceOfWords | None:  # noqa: B008  immutable
    """Return the place of some words in a field that a reader has chosen; without a hint, the first one.

    Returns None if no text of the field contains them.
    """
    places = occurrences(config, name, quote)
    if not places:
        return None
    text = value_at(config, hint.path) if hint.path else None
    places_on_path = [place for place in places if place.path == hint.path]
    if not isinstance(text, str) or hint.line is None or not places_on_path:
        return places_on_path[0] if places_on_path else places[0]
    begins = 0
    for _ in range(hint.line - 1):
        begins = text.find("\n", begins) + 1 or len(text)
    ends = text.find("\n", begins) + 1 or len(text) + 1  # the position of the next line
    on_line = [place for place in places_on_path if begins <= place.start < ends]
    if on_line:
        return on_line[min(hint.earlier, len(on_line) - 1)]
    return min(places_on_path, key=lambda place: abs(place.start - begins))


def start_in(text: Any, line: int | None, quote: str) -> int | None:
    """Return the position of a quote in a text, preferably in its line; None if it is not in the text."""
    if not isinstance(text, str) or not quote:
        return None
    place = locate({"text": text}, "text", quote, Hint("text", line))
    return None if place is None else place.start


def follow(
    old: Config,
    new: Config,
    before: PlaceOfWords,
    places: list[PlaceOfWords],
    map_position: Callable[[str, str, int], int],
) -> PlaceOfWords:
    """Return the places of a quote in a newer version that are the commented words.

    `map_position` maps a position of a text to another text. All texts of the field are compared as one,
    because words can move from one block to another.
    """
    names = top(old, before.path), top(new, before.path)
    old_texts, new_texts = (
        list(texts(config.get(name), name)) for config, name in zip((old, new), names, strict=True)
    )
    starts = dict(_starts(new_texts))
    old_start = dict(_starts(old_texts)).get(before.path, 0) + before.start
    expected = map_position(_join(old_texts), _join(new_texts), old_start)
    return min(places, key=lambda place: abs(starts[place.path] + place.start - expected))


def _join(texts: list[tuple[str, str]]) -> str:
    return _BETWEEN.join(text for _path, text in texts)


def _starts(texts: list[tuple[str, str]]) -> Iterator[tuple[str, int]]:
    start = 0
    for path, text in texts:
        yield path, start
        start += len(text) + len(_BETWEEN)


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
    """Return a text, composed, with each run of white space as one space, as a browser copies it."""
    return " ".join(unicodedata.normalize("NFC", text).split())
