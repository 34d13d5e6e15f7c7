"""The commands that the documents show, to be run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.service import ROOT

ADMINISTRATION = ROOT / "docs/administration.md"
DEPLOYMENT = ROOT / "docs/deployment.md"


def section(page: Path, heading: str) -> str:
    """Return what stands between a heading of a page and the next one."""
    _, _, rest = page.read_text().partition(f"# {heading}\n")
    assert rest, f"{page.name} has no heading {heading!r}"
    return re.split(r"^#+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def commands(page: Path, heading: str) -> list[str]:
    """Return the blocks of commands below a heading of a page, in order; there is at least one."""
    blocks = re.findall(r"^```sh\n(.*?)^```", section(page, heading), re.MULTILINE | re.DOTALL)
    assert blocks, f"{page.name} shows no commands below {heading!r}"
    return blocks
