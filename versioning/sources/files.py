"""The folder of override files: paths, complete reads, and atomic writes."""

from __future__ import annotations

import datetime
import errno
import fcntl
import logging
import os
import shutil
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from editor_client.shared import ids

from versioning.domain.errors import Invalid, Message, VersioningError

SETTLED_AFTER: Final = 2.0
"""Seconds after which another change certainly alters the times of a file, on any file system."""
Identity = tuple[int, ...]
"""Distinguishes a file from any other with its name, and from itself with another content."""


def read_identity(path: str | os.PathLike[str]) -> Identity | None:
    """Return the identity of the file or folder at a path, without following links; None if there is none.

    The identity of a folder does not depend on its contents.
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
    """Give the file, if it exists, a second name and return that name. Raises `OSError`."""
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


MAX_BYTES: Final = 16 * 1024 * 1024
FOLDER: Final = "agents"
_PATIENCE = 10  # seconds; the end of a publication takes far less
_POLL = 0.01
logger = logging.getLogger(__name__)


class OverrideNotWritten(VersioningError):
    """The operating system refused to write the file, such as in a read-only folder."""

    code = "override_not_written"


class StorageFull(OverrideNotWritten):
    """The disk of the override files is full."""

    code = "storage_full"


class OverrideChanged(OverrideNotWritten):
    """The file changed after the new content was decided; trying again helps."""


class OverrideUnreadable(VersioningError):
    """Something with the name of an override file cannot be read as one."""

    code = "override_unreadable"


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """The content of a file at one moment."""

    content: bytes
    modified_at: datetime.datetime


class OverrideFiles:
    """The files `agents/<encoded id>.json` below one folder; nothing outside it is touched."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.folder = self.root / FOLDER

    def path(self, agent_id: str) -> Path:
        """Return the path of an agent's file, with symbolic links resolved.

        Raises `Invalid` for an id that has no file name, and for a path that leads out of the folder.
        """
        problem = ids.problem(agent_id)
        if problem is not None:
            raise Invalid.field("id", problem)
        folder = os.path.join(os.path.realpath(self.root), FOLDER)  # noqa: PTH118  quicker
        path = os.path.realpath(os.path.join(folder, f"{ids.encode(agent_id)}.json"))  # noqa: PTH118
        if not path.startswith(folder + os.sep):
            raise Invalid.field("id", "the path of its override file leaves the folder", code="path_refused")
        return Path(path)

    def read(self, agent_id: str) -> StoredFile | None:
        """Return the content of an agent's file, or None if there is none.

        Raises `OverrideUnreadable` for a link out of the folder, a pipe, a folder, and a file that is too
        large; they are detected without being followed or waited for.
        """
        try:
            descriptor = os.open(self.path(agent_id), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, Invalid) as error:
            raise OverrideUnreadable(str(error)) from error
        try:
            return _read_stored(descriptor)
        except OSError as error:
            raise OverrideUnreadable(str(error)) from error
        finally:
            os.close(descriptor)

    def write(self, agent_id: str, content: bytes) -> None:
        """Replace the content of the file atomically and durably.

        Raises `OverrideNotWritten` if the system prevents it, and `Invalid` for a path that leads out of
        the folder or a content that is too large.
        """
        if len(content) > MAX_BYTES:
            raise Invalid.field(
                "body", Message("makes an override file larger than {limit} bytes", limit=MAX_BYTES)
            )
        path = self.path(agent_id)
        with _named_errors(path):
            replace(path, content)

    @contextmanager
    def replacing(self, agent_id: str, content: bytes | None, *, expected: bytes | None) -> Iterator[None]:
        """Write the content, or remove the file if it is None; undo that if the block fails.

        Undoing restores the previous file, unless it was written to in the meantime. Only one such block runs
        at a time; others wait. `expected` is the content for which the new one was decided: raises
        `OverrideChanged` if the file now has another one. Also raises the errors of `write`, and
        `OverrideNotWritten` if another block does not end.
        """
        path = self.path(agent_id)
        with _named_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._one_at_a_time(path):
            if self.content(agent_id) != expected:
                raise OverrideChanged(
                    Message(
                        "The override file {name} is being changed by someone else. "
                        "Nothing was changed here.",
                        name=path.name,
                    )
                )
            with _named_errors(path):
                aside = set_aside(path)
            written = before = read_identity(path)
            try:
                try:
                    if content is None:
                        self.remove(agent_id)
                    else:
                        self.write(agent_id, content)
                finally:
                    # Only the holder of the lock writes through here, so the current content is our own.
                    written = read_identity(path)
                yield
            except BaseException:
                if written != before:
                    _put_back(path, aside, written)
                raise
            finally:
                # Renaming one hard link of a file to another does nothing, so it may still be there.
                if aside.exists():
                    aside.unlink()

    def content(self, agent_id: str) -> bytes | None:
        """Return the current content of the file; None if there is none or it cannot be read."""
        try:
            stored = self.read(agent_id)
        except OverrideUnreadable:
            return None
        return stored.content if stored else None

    def fingerprint(self, agent_id: str) -> tuple[Identity | None, Identity | None] | None:
        """Return a value that changes with the result of `read`; None while that is not certain.

        It consists of the identities of the folder and the file; nothing is opened. It is uncertain within
        two seconds after a change, and where links are involved.
        """
        folder = read_identity(self.folder)
        if folder is None:
            return None, None
        file = read_identity(f"{self.folder}/{ids.encode(agent_id)}.json")
        is_plain = stat.S_ISDIR(folder[0]) and (file is None or stat.S_ISREG(file[0]))
        return (folder, file) if is_plain and is_settled(file) else None

    @contextmanager
    def publications_ended(self) -> Iterator[None]:
        """Wait for a running publication to end, and prevent others during this block.

        So the contents read here were published or written by hand, and will not be undone. Raises
        `OverrideNotWritten` if the publication does not end.
        """
        if self.folder.is_dir():
            with self._one_at_a_time(self.folder / "any"):
                yield
        else:
            yield

    @contextmanager
    def _one_at_a_time(self, path: Path) -> Iterator[None]:
        """Lock the folder against threads and processes of this machine, where the file system can.

        Take it last: its holder must not have to wait for anything else.
        """
        with _named_errors(path):
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _lock(folder, path)
            yield
        finally:
            os.close(folder)

    def remove(self, agent_id: str) -> None:
        """Remove the file of an agent durably; nothing happens if there is none. Raises as `write` does."""
        path = self.path(agent_id)
        with _named_errors(path), suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()
            sync_folder(path.parent)


def _lock(folder: int, path: Path) -> None:
    """Lock a folder until its descriptor is closed; not every file system supports that."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise OverrideNotWritten(
                    Message(
                        "The override file {name} could not be written: another publication has not "
                        "finished. Nothing was changed.",
                        name=path.name,
                    )
                ) from None
            time.sleep(_POLL)
        except OSError as error:
            logger.warning("the folder of the override files cannot be locked: %s", error)
            return
        else:
            return


def _put_back(path: Path, aside: Path, written: Identity | None) -> None:
    """Restore the file, unless the one written in its place has been replaced."""
    if read_identity(path) != written:
        logger.error(
            "the override file %s was changed by another process or person, and is left unchanged", path.name
        )
        return
    with _named_errors(path):
        if aside.exists():
            aside.replace(path)
        elif path.is_file():
            path.unlink()
        sync_folder(path.parent)


def _read_stored(descriptor: int) -> StoredFile:
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        raise OverrideUnreadable("it is not a regular file")
    if about.st_size > MAX_BYTES:
        raise OverrideUnreadable(f"it is larger than {MAX_BYTES} bytes")
    with open(descriptor, "rb", closefd=False) as file:
        content = file.read(MAX_BYTES + 1)
    modified_at = datetime.datetime.fromtimestamp(about.st_mtime, datetime.UTC)
    return StoredFile(content=content, modified_at=modified_at)


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        raise (StorageFull if is_full else OverrideNotWritten)(
            Message(
                "The override file {name} could not be written: {reason}. Nothing was changed.",
                name=path.name,
                reason=reason,
            )
        ) from error
