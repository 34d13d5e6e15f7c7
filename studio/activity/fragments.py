"""Sentences with placeholders as lists of fragments, some of them links. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Fragment:
    """A fragment of a sentence."""

    text: str
    address: str = ""
    """The address that it links to; empty for plain words."""
    is_who: bool = False
    """Whether it names the actor."""
    number: int | None = None
    """The number of the version that it names, if that has a number."""


@dataclass(frozen=True)
class Sentence:
    """A sentence with placeholders (`{who} published {version}`), and their values."""

    sentence: str
    values: Mapping[str, Fragment | str] = field(default_factory=dict)


def as_fragments(sentence: str, values: Mapping[str, Fragment | str]) -> list[Fragment]:
    """Return a sentence as fragments; a placeholder without a value stays unchanged."""
    fragments = []
    for place, text in enumerate(_PLACEHOLDER.split(sentence)):
        value = values.get(text, f"{{{text}}}") if place % 2 else text
        if value:
            fragments.append(value if isinstance(value, Fragment) else Fragment(value))
    return fragments
