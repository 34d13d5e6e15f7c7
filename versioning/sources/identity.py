"""Detect whether a file is still the one that was read, without reading it again."""

from __future__ import annotations

import os
import stat
import time
from typing import Final

SETTLED_AFTER: Final = 2.0
"""Seconds after which another change certainly alters the times of a file, on any file system."""

Identity = tuple[int, ...]
"""Distinguishes a file from any other with its name, and from itself with another content."""


def identity_of(path: str | os.PathLike[str]) -> Identity | None:
    """Return the identity of what is at a path, without following links; None if there is nothing.

    The identity of a folder does not depend on what is in it.
    """
    try:
        about = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    which = (about.st_mode, about.st_dev, about.st_ino)
    if stat.S_ISDIR(about.st_mode):
        return which
    return (*which, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


def is_settled(identity: Identity | None) -> bool:
    """Return whether any later change will change the file's identity.

    Two changes within one tick of a file system's clock can leave the same times and the same size; Git's
    index has the same rule. The relevant time is that of the inode, which cannot be set.
    """
    if identity is None or stat.S_ISDIR(identity[0]):
        return True
    return time.time() - identity[-1] / 1e9 > SETTLED_AFTER
