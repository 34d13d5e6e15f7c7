"""The texts of the studio about snippets; texts that are missing here are in plain English."""

from __future__ import annotations

from typing import Final

from studio.kind_words import FieldWords, KindWords
from tests.toy_kind.kind import SNIPPET

WORDS: Final = KindWords.plain(
    SNIPPET,
    {
        "source": FieldWords(title="Source", help="What people copy.", control="text"),
        "language": FieldWords(title="Language", control="line"),
    },
)
