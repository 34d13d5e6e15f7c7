"""Messages of the domain in the language of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from django.utils.translation import get_language, gettext

from studio.domain_messages.sentences import SENTENCES

_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")
_LONGEST: Final = 2_000
"""Longer messages hold what people typed, and stay as they are."""


def translated(message: str) -> str:
    """Return a message of the domain in the current language, with its values as they are.

    What is no sentence of the domain, such as a text that a person wrote, comes back unchanged.
    """
    if (get_language() or "en").startswith("en") or len(message) > _LONGEST:
        return message
    if message in SENTENCES:
        return gettext(message)
    for sentence, pattern in _patterns():
        found = pattern.fullmatch(message)
        if found is not None:
            values = {name: translated(value) for name, value in found.groupdict().items()}
            return gettext(sentence).format(**values)
    return message


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the sentences with placeholders, those that say most first."""
    with_values = sorted((one for one in SENTENCES if "{" in one), key=len, reverse=True)
    return tuple((sentence, re.compile("".join(_parts(sentence)), re.DOTALL)) for sentence in with_values)


def _parts(sentence: str) -> Iterator[str]:
    for position, part in enumerate(_PLACEHOLDER.split(sentence)):
        yield f"(?P<{part}>.+?)" if position % 2 else re.escape(part)
