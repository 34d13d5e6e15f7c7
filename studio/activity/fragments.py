"""Sentences with placeholders as lists of fragments, some of them links. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from django.utils.safestring import SafeString

from studio.people import Place, people, person_name

_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Fragment:
    """A fragment of a sentence."""

    text: str
    address: str = ""
    """The address that it links to; empty for plain words."""
    html: SafeString | None = None
    """How a page shows it, if not as its text: people, with their faces."""
    number: int | None = None
    """The number of the version that it names, if that has a number."""
    of: str = ""
    """The name of a resource after what belongs to it, `of agent Writer`: languages decline it."""
    as_object: str = ""
    """The name of a resource as the object of a sentence; empty for its text."""


def people_in(usernames: Sequence[str], place: Place = Place.WITHIN) -> Fragment:
    return Fragment(
        ", ".join(person_name(username, place) for username in usernames), html=people(usernames, place)
    )


@dataclass(frozen=True)
class Sentence:
    """A sentence with placeholders (`{who} published {version}`), and their values."""

    sentence: str
    values: Mapping[str, Fragment | str] = field(default_factory=dict)


def as_fragments(sentence: str, values: Mapping[str, Fragment | str], of: str = "of") -> list[Fragment]:
    """Return a sentence as fragments; a placeholder without a value stays unchanged.

    After the word `of`, a fragment with its own words for that place has them.
    """
    fragments: list[Fragment] = []
    for place, text in enumerate(_PLACEHOLDER.split(sentence)):
        value = values.get(text, f"{{{text}}}") if place % 2 else text
        if isinstance(value, Fragment) and value.of and fragments and fragments[-1].text.endswith(f" {of} "):
            before, (article, _space, name) = fragments.pop().text, value.of.partition(" ")
            fragments.append(Fragment(f"{before.removesuffix(f'{of} ')}{article} "))
            value = replace(value, text=name)
        if value:
            fragments.append(value if isinstance(value, Fragment) else Fragment(value))
    return fragments
