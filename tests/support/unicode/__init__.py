"""Unicode's own test files, or selections of them: see the first lines of each, and LICENSE.txt."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent


def _lines(name: str) -> Iterator[str]:
    for line in (HERE / f"{name}.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line


def _text(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split())


def _is_known(text: str) -> bool:
    """Return whether this Python knows all of the characters; its Unicode may be older than the file."""
    return all(unicodedata.category(one) != "Cn" for one in text)


def clusters() -> list[list[str]]:
    """Return texts as lists of their grapheme clusters."""
    found = []
    for line in _lines("GraphemeBreakTest"):
        parts = line.strip("÷ ").split("÷")
        found.append([_text(part.replace("\u00d7", " ")) for part in parts])
    return found


def spellings() -> list[tuple[str, str, str]]:
    """Return texts, each with its composed and its decomposed form."""
    found = []
    for line in _lines("NormalizationTest"):
        source, composed, decomposed = (_text(part) for part in line.split(";")[:3])
        if _is_known(source):
            found.append((source, composed, decomposed))
    return found


def foldings() -> list[tuple[str, str]]:
    """Return letters, each as it is folded."""
    found = []
    for line in _lines("CaseFolding"):
        code, _status, folded = line.split("; ")
        if _is_known(_text(code)):
            found.append((_text(code), _text(folded)))
    return found
