"""Unicode's own test files: selections, and whole ones where Debian's `unicode-data` is installed.

See the first lines of each selection, and LICENSE.txt. Versions differ: these files are of Unicode 15 or
newer, `regex` and Node.js have newer rules, and the tables of Python can be older. So foldings and spellings
of characters that this Python does not know are left out. What is stored depends on Python's tables alone.
"""

from __future__ import annotations

import bz2
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
INSTALLED: Final = Path("/usr/share/unicode")
"""Where Debian's package has the whole files; long ones are compressed."""


def _lines(name: str, folder: str = "") -> Iterator[str]:
    """Yield the lines of a selection, and then those of the whole file, without comments."""
    whole = INSTALLED / folder / f"{name}.txt"
    compressed = whole.with_suffix(".txt.bz2")
    text = (HERE / f"{name}.txt").read_text("utf-8")
    if whole.exists():
        text += whole.read_text("utf-8")
    elif compressed.exists():
        text += bz2.decompress(compressed.read_bytes()).decode()
    for line in text.splitlines():
        content = line.partition("#")[0].strip()
        if content and not content.startswith("@"):
            yield content


def _text(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split())


def _is_known(text: str) -> bool:
    """Return whether this Python knows all of the characters; its Unicode may be older than the file."""
    return all(unicodedata.category(one) != "Cn" for one in text)


def clusters() -> list[list[str]]:
    """Return texts as lists of their grapheme clusters.

    Unicode 16 has taken U+2701 from the characters that joiners connect: older files say otherwise.
    """
    found = []
    for line in _lines("GraphemeBreakTest", "auxiliary"):
        parts = [_text(part.replace("\u00d7", " ")) for part in line.strip("÷ ").split("÷")]
        if parts not in found and "\u2701" not in "".join(parts):
            found.append(parts)
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
        code, status, folded = (part.strip() for part in line.split(";")[:3])
        # Neither the simple foldings beside full ones (S), nor those of Turkish (T).
        if status in {"C", "F"} and _is_known(_text(code)):
            found.append((_text(code), _text(folded)))
    return found
