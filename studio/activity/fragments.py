"""Sentences with placeholders as lists of fragments, of which some lead somewhere. Pure."""

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
    """Where it leads; empty for plain words."""
    is_who: bool = False
    """Whether it names who did it."""
    number: int | None = None
    """The number of the version that it names, if it names one that has a number."""


@dataclass(frozen=True)
class Sentence:
    """A sentence with placeholders (`{who} published {version}`), and what stands for them."""

    sentence: str
    values: Mapping[str, Fragment | str] = field(default_factory=dict)


def as_fragments(sentence: str, values: Mapping[str, Fragment | str]) -> list[Fragment]:
    """Return a sentence in fragments; a placeholder without a value stays as it is."""
    fragments = []
    for place, text in enumerate(_PLACEHOLDER.split(sentence)):
        value = values.get(text, f"{{{text}}}") if place % 2 else text
        if value:
            fragments.append(value if isinstance(value, Fragment) else Fragment(value))
    return fragments
