"""The folders formed by the ids of resources, as a tree. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

MAX_FOLDERS: Final = 300
"""The maximum number of folders on a page."""


@dataclass(kw_only=True)
class Folder:
    """A folder and its contents."""

    path: str
    """The common prefix of its ids, with a final `/`."""
    name: str
    count: int
    """The number of resources in it, at any depth."""
    is_open: bool
    """Whether its subfolders are shown: it is the current folder or one of its parents."""
    is_current: bool
    folders: list[Folder] = field(default_factory=list)


def tree(counts: Mapping[str, int], current: str) -> tuple[Sequence[Folder], int]:
    """Return the top folders with their subfolders, and the number of omitted folders.

    `counts` has the number of resources below each folder. The largest folders are shown, and those that lead
    to the current one.
    """
    largest = sorted(counts, key=lambda path: (-counts[path], path))[:MAX_FOLDERS]
    shown = sorted({*largest, *(path for path in counts if current.startswith(path))})
    folders: dict[str, Folder] = {}
    outermost: list[Folder] = []
    for path in shown:  # a folder's parent comes before it, and has at least as many resources
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
