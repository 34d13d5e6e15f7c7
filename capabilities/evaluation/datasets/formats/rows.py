"""What the formats of files share: the rows of a file, and their items. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from editor_client.shared.tables import decode

from versioning.domain.errors import Invalid, Issue

IdentifiedItem = Mapping[str, Any]
"""The members of an item as callers set them, with its `id`, and its `externalId` if it has one."""
Items = Callable[[], Iterable[IdentifiedItem]]
"""Returns the items of an export anew each time that it is called."""
MEMBERS: Final = (
    "input",
    "groundTruth",
    "expectedTrajectory",
    "toolMocks",
    "unmockedToolPolicy",
    "scorerIds",
    "requestContext",
    "metadata",
    "source",
)
"""The members of an item that callers set."""


class Row(NamedTuple):
    """A row of a file: its number, from 1 on, with the item in it, or with what is wrong with it."""

    number: int
    item: dict[str, Any] = {}
    issues: tuple[Issue, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Format:
    """How items are written to files and read from them."""

    media_type: str
    suffix: str
    read: Callable[[str], Iterator[Row]]
    """The rows of a file; raises `Invalid` for a file that has none."""
    write: Callable[[Items], Iterator[str]]
    """The parts of a file."""


def row_of(number: int, make: Callable[[], dict[str, Any]]) -> Row:
    """Return the row with the item that is made, or with the issues that this raises."""
    try:
        return Row(number, make())
    except Invalid as error:
        return Row(number, issues=tuple(error.issues))


def text_of(body: bytes, *encodings: str) -> str:
    """Return the text of a file without its byte order mark.

    Raises `Invalid` with the line unless it is UTF-8, or one of the encodings if any are named.
    """
    return decode(body, *encodings)[0]
