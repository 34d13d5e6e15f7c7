"""The pages of the documentation, with their blocks of code and links.

Two comments, which are not rendered, may precede a block of code:

    <!-- not run: why -->     the block is left out when the page is followed
    <!-- shows: text -->      the output of the block contains this text
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from tests.support.service import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "client/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
SHELVES = ("tutorials", "guides", "reference", "explanation")
STUBS = [page for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "README.md"]
"""The addresses that pages had before the shelves; each says where its subject is now."""
GUIDES = ROOT / "docs/guides"
RUN = ("sh", "python", "js")
"""The languages that are run; the others are data, or show what something looks like."""
_NOTE = r"<!-- (not run|shows): (.+?) -->\n"
_FENCED = re.compile(
    rf"(?P<notes>(?:^ *{_NOTE})*)^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A block of code, with its notes."""

    page: Path
    line: int
    language: str
    text: str
    not_run: str | None
    shows: tuple[str, ...]

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """Return the blocks of code of a page, in its order."""
    text = page.read_text()
    return [_block(page, text[: found.start("text")].count("\n"), found) for found in _FENCED.finditer(text)]


def _block(page: Path, line: int, found: re.Match[str]) -> Block:
    notes = re.findall(_NOTE, found["notes"])
    return Block(
        page=page,
        line=line,
        language=found["language"],
        text=dedent(found["text"]),
        not_run=next((text for kind, text in notes if kind == "not run"), None),
        shows=tuple(text for kind, text in notes if kind == "shows"),
    )


def to_run(page: Path) -> list[Block]:
    """Return the blocks that are run when the page is followed."""
    return [block for block in blocks(page) if block.language in RUN and block.not_run is None]


def section(page: Path, heading: str) -> str:
    """Return the text between a heading of a page and the next one."""
    _, _, rest = page.read_text().partition(f"# {heading}\n")
    assert rest, f"{page.name} has no heading {heading!r}"
    return re.split(r"^#+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def commands(page: Path, heading: str, language: str = "sh") -> list[str]:
    """Return the blocks of commands, or of another language, below a heading of a page, in order.

    There is at least one.
    """
    shown = _FENCED.finditer(section(page, heading))
    found = [block["text"] for block in shown if block["language"] == language]
    assert found, f"{page.name} shows no commands below {heading!r}"
    return found
