"""Telling whether a file is still the one that was read, without reading it again."""

from __future__ import annotations

import os
import stat
import time
from typing import Final

SETTLED_AFTER: Final = 2.0
"""Seconds after which a further change of a file shows in its times, however coarse its file system is."""

Identity = tuple[int, ...]
"""What tells a file from any other that takes its name, and from itself with other content."""


def identity_of(path: str | os.PathLike[str]) -> Identity | None:
    """Return the identity of what is under a path, links not followed; None when nothing is.

    A folder has one for as long as it is the same folder, whatever is done in it.
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
    """Say whether any later change gives the file another identity.

    Two changes within one tick of a file system's clock can leave the same times and the same size; Git has
    the same rule for its index. The time that counts is the inode's, which nobody can set.
    """
    if identity is None or stat.S_ISDIR(identity[0]):
        return True
    return time.time() - identity[-1] / 1e9 > SETTLED_AFTER
