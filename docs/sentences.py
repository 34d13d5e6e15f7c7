"""Measure the prose of the documentation: words, sentences, and words that the style avoids.

`python docs/sentences.py [REVISION]` measures the working tree, or a revision of Git.
"""  # noqa: INP001 - a program

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
GENERATED: Final = re.compile(r"/(api-reference|benchmarks|performance)\.md$|/decisions/")
LONG: Final = 25
AVOIDED: Final = (
    "anew beside besides thereby henceforth nobody somebody whoever whatever"
    "|goes on|go on|comes back|by itself|for ever|who may|that there is|that there are"
)
"""Words and phrases, separated by spaces in the first part and by bars in the second."""


def pages(revision: str | None) -> Iterator[tuple[str, str]]:
    """Yield each page with its text, without generated pages and decisions."""
    if revision is None:
        for path in sorted((ROOT / "docs").rglob("*.md")):
            name = str(path.relative_to(ROOT))
            if not GENERATED.search(name):
                yield name, path.read_text()
        return
    listed = _git("ls-tree", "-r", "--name-only", revision, "docs").splitlines()
    for name in listed:
        if name.endswith(".md") and not GENERATED.search(name):
            yield name, _git("show", f"{revision}:{name}")


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of paragraphs and lists, without blocks of code, tables and headings."""
    text = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^\s*(?:#|\||<!--|!\[).*$|^ {4,}.*$", "", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        words = re.sub(r"\]\([^)]*\)", "]", paragraph)
        words = re.sub(r"`[^`]*`", "X", words)
        yield from filter(None, map(str.strip, re.split(r"(?<=[.!?:])\s+(?=[A-Z*\[X“])|;\s", words)))


def main(revision: str | None) -> None:
    """Print the figures."""
    texts = dict(pages(revision))
    lengths = [len(re.findall(r"[\w’'-]+", one)) for text in texts.values() for one in sentences(text)]
    prose = " ".join(one for text in texts.values() for one in sentences(text)).lower()
    words, phrases = AVOIDED.split("|", 1)
    avoided = {one: len(re.findall(rf"\b{one}\b", prose)) for one in [*words.split(), *phrases.split("|")]}
    count = sum(len(text.split()) for text in texts.values())
    print(f"{len(texts)} pages, {count:,} words, {len(lengths):,} sentences")  # noqa: T201 - a program
    longer = sum(length > LONG for length in lengths)
    mean = sum(lengths) / len(lengths)
    print(f"mean {mean:.1f} words, over {LONG}: {longer} ({longer / len(lengths):.0%})")  # noqa: T201
    print(", ".join(f"{one} {number}" for one, number in avoided.items()))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
