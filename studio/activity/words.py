"""What the types of events are called where somebody chooses among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from django.utils.text import capfirst

from versioning.domain.kinds import KINDS

NOUNS: Final[Mapping[str, str]] = {
    "key": "API key",
    **{kind.word: kind.singular for kind in KINDS},
}
"""What is not called by the first half of its types."""

_NAMES: Final[Mapping[str, str]] = {
    "versionCreated": "draft saved",
    "labelMoved": "label set, moved or released",
    "labelRemoved": "label removed",
    "workspace.updated": "name or policy changed",
    "updated": "metadata or visibility changed",
}
"""A type, or the second half of one; the others are called as they are written."""


@dataclass(frozen=True, kw_only=True)
class TypeGroup:
    """The types of events about one subject."""

    subject: str
    title: str
    types: list[tuple[str, str]]
    """Each type with its name, such as `("agent.versionCreated", "Draft saved")`."""

    @property
    def pattern(self) -> str:
        """The pattern that stands for all of them, and for those that are declared later."""
        return f"{self.subject}.*"


def noun_of(subject: str) -> str:
    """Return what the subject of a type is called: `prompt block`, `API key`."""
    return NOUNS.get(subject, spaced(subject))


def name_of(event_type: str) -> str:
    """Return what a type is called beside its subject: `draft saved`."""
    what = event_type.rpartition(".")[2]
    return _NAMES.get(event_type) or _NAMES.get(what) or spaced(what)


def grouped(types: Iterable[str]) -> Iterator[TypeGroup]:
    """Yield the types by subject, in the order in which they come."""
    for subject, members in groupby(types, key=lambda one: one.rpartition(".")[0]):
        title = capfirst(noun_of(subject)) + "s"
        yield TypeGroup(
            subject=subject, title=title, types=[(one, capfirst(name_of(one))) for one in members]
        )


def spaced(name: str) -> str:
    """Return a camelCase name as words: `changes requested`."""
    return re.sub("([A-Z])", lambda letter: f" {letter[0].lower()}", name)
