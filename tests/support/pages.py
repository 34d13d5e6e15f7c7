"""The commands that the documents show, run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.service import ROOT

ADMINISTRATION = ROOT / "docs/administration.md"
DEPLOYMENT = ROOT / "docs/deployment.md"


def commands(page: Path, heading: str) -> list[str]:
    """Return the blocks of commands below a heading of a page, in order; there is at least one."""
    title, _, rest = page.read_text().partition(f"# {heading}\n")
    assert rest and title, f"{page.name} has no heading {heading!r}"
    section = re.split(r"^#+ ", re.sub(r"^```.*?^```", _without_comments, rest, flags=re.M | re.S), flags=re.M)[0]
    blocks = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert blocks, f"{page.name} shows no commands below {heading!r}"
    return blocks


def _without_comments(block: re.Match[str]) -> str:
    """Return a block without the lines that would be taken for headings."""
    return "".join(line for line in block[0].splitlines(keepends=True) if not line.startswith("#"))


@dataclass(frozen=True)
class Installation:
    """A folder that looks like the one in which an administrator works."""

    folder: Path
    environment: dict[str, str]

    @classmethod
    def new(cls, folder: Path, environment: dict[str, str]) -> Installation:
        """Make the folder, with this code, this Python and nothing else."""
        folder.mkdir()
        (folder / "manage.py").symlink_to(ROOT / "manage.py")
        (folder / ".venv").symlink_to(sys.prefix)
        (folder / "var").mkdir()
        return cls(folder, environment)

    def run(self, block: str, **environment: str) -> str:
        """Run a block of commands there and return what it prints; a command that fails fails the test."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=self.folder,
            env={**os.environ, **self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        return done.stdout
