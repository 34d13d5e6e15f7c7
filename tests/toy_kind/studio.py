"""What the studio says about snippets; what is not said here it says in plain English."""

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
