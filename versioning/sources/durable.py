"""Write files completely or not at all, and durably."""

from __future__ import annotations

import os
import shutil
import stat
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Final

_TEMPORARY, _ASIDE = ".tmp", ".old"
_ABANDONED_AFTER: Final = 3600  # seconds; a write takes far less


def replace(path: Path, content: bytes) -> None:
    """Replace the content of the file atomically. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(path.parent)
    temporary = path.with_name(f".{uuid.uuid4().hex}{_TEMPORARY}")
    try:
        _write(temporary, content, like=path)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def set_aside(path: Path) -> Path:
    """Give the file, if there is one, a second name and return that name. Raises `OSError`."""
    aside = path.with_name(f".{uuid.uuid4().hex}{_ASIDE}")
    try:
        aside.hardlink_to(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError:  # not every file system has hard links
        if path.is_file():
            try:
                shutil.copy2(path, aside)
            except OSError:
                aside.unlink(missing_ok=True)
                raise
    return aside


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, so that no power failure loses a change. Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(path: Path, content: bytes, *, like: Path) -> None:
    """Write a new file with the permissions of the one that it will replace."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with open(descriptor, "wb") as file:  # noqa: PTH123  a descriptor has no path
        with suppress(FileNotFoundError):
            os.fchmod(descriptor, stat.S_IMODE(like.stat().st_mode))
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _remove_abandoned(folder: Path) -> None:
    """Remove files that a killed process left behind; nothing reads them, but they would be committed."""
    for leftover in (*folder.glob(f".*{_TEMPORARY}"), *folder.glob(f".*{_ASIDE}")):
        with suppress(FileNotFoundError):
            about = leftover.lstat()
            # The second name of a file has the file's own age, so the time of the change counts.
            since = about.st_ctime if leftover.suffix == _ASIDE else about.st_mtime
            if time.time() - since > _ABANDONED_AFTER:
                leftover.unlink()
