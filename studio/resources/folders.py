"""The folders that the ids of resources make, as a tree. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

MAX_FOLDERS: Final = 300
"""How many folders a page shows."""


@dataclass(kw_only=True)
class Folder:
    """A folder and what is in it."""

    path: str
    """The beginning of the ids in it, with its final `/`."""
    name: str
    count: int
    """How many resources are in it, however deep."""
    is_open: bool
    """Whether the folders in it are shown: it is the one whose resources are listed, or leads there."""
    is_current: bool
    folders: list[Folder] = field(default_factory=list)


def tree(counts: Mapping[str, int], current: str) -> tuple[Sequence[Folder], int]:
    """Return the outermost folders with those in them, and how many of all folders are left out.

    `counts` says how many resources are below each folder. The largest are shown, and those that lead to the
    current one.
    """
    largest = sorted(counts, key=lambda path: (-counts[path], path))[:MAX_FOLDERS]
    shown = sorted({*largest, *(path for path in counts if current.startswith(path))})
    folders: dict[str, Folder] = {}
    outermost: list[Folder] = []
    for path in shown:  # what a folder is in comes before it, and has at least as many resources
        outer = path[: path.rstrip("/").rfind("/") + 1]
        folder = Folder(
            path=path,
            name=path[len(outer) : -1],
            count=counts[path],
            is_open=current.startswith(path),
            is_current=current == path,
        )
        folders[path] = folder
        (folders[outer].folders if outer in folders else outermost).append(folder)
    return outermost, len(counts) - len(shown)
