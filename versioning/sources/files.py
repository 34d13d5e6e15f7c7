"""The folder of override files: which file is whose, whole reads, and writes that are never half done."""

from __future__ import annotations

import datetime
import fcntl
import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from editor_client.shared import ids

from versioning.domain.errors import Invalid, VersioningError
from versioning.sources import durable
from versioning.sources.identity import Identity, identity_of, is_settled

MAX_BYTES: Final = 16 * 1024 * 1024
FOLDER: Final = "agents"
_PATIENCE = 10  # seconds; a publication that is at its end takes far less
_POLL = 0.01

logger = logging.getLogger(__name__)


class OverrideNotWritten(VersioningError):
    """The machine did not let the file be written: a full disk, a folder that is read-only."""

    code = "override_not_written"


class OverrideChanged(OverrideNotWritten):
    """The file is another one than that on which it was decided what to write; deciding anew helps."""


class OverrideUnreadable(VersioningError):
    """There is something under the name of an override file that cannot be read as one."""

    code = "override_unreadable"


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """What a file held at one moment."""

    content: bytes
    modified_at: datetime.datetime


class OverrideFiles:
    """The files `agents/<encoded id>.json` below one folder; nothing outside of it is touched."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.folder = self.root / FOLDER

    def path(self, agent_id: str) -> Path:
        """Return the file of an agent, symbolic links resolved.

        Raises `Invalid` for an id that names no file, and for a path that leaves the folder.
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
        """Return what the file of an agent holds, or None when there is no file.

        Raises `OverrideUnreadable` for a link out of the folder, a pipe, a folder or a file that is
        too large: they are looked at, never followed and never waited for.
        """
        try:
            descriptor = os.open(self.path(agent_id), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, Invalid) as error:
            raise OverrideUnreadable(str(error)) from error
        try:
            return _stored(descriptor)
        except OSError as error:
            raise OverrideUnreadable(str(error)) from error
        finally:
            os.close(descriptor)

    def write(self, agent_id: str, content: bytes) -> None:
        """Put the content in place of whatever the file held: all of it, or nothing.

        It is durable when this returns. Raises `OverrideNotWritten` for a problem of the machine and
        `Invalid` for a path that leaves the folder or a content that is too large.
        """
        if len(content) > MAX_BYTES:
            raise Invalid.field("body", f"makes an override file larger than {MAX_BYTES} bytes")
        path = self.path(agent_id)
        with _named_errors(path):
            durable.replace(path, content)

    @contextmanager
    def replacing(self, agent_id: str, content: bytes | None, *, expected: bytes | None) -> Iterator[None]:
        """Let the file hold the content, or be gone for None, unless what is done inside fails.

        Then the very file that was there comes back; but not over what somebody else has written in
        the meantime. Whoever replaces a file here waits until another one who does has ended this.
        `expected` is what the file held when it was decided what it is to hold: `OverrideChanged` when
        it holds something else by now. Raises as `write`, and when another one does not end.
        """
        path = self.path(agent_id)
        with _named_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._one_at_a_time(path):
            if self.content(agent_id) != expected:
                raise OverrideChanged(
                    f"The override file {path.name} is being changed by somebody else. "
                    "Nothing was changed here."
                )
            with _named_errors(path):
                aside = durable.set_aside(path)
            written = before = identity_of(path)
            try:
                try:
                    if content is None:
                        self.remove(agent_id)
                    else:
                        self.write(agent_id, content)
                finally:
                    # Only who waits for the lock writes through here, so what is there now is our own.
                    written = identity_of(path)
                yield
            except BaseException:
                if written != before:
                    _put_back(path, aside, written)
                raise
            finally:
                # Two names of one file do not replace each other, so it may still be there.
                if aside.exists():
                    aside.unlink()

    def content(self, agent_id: str) -> bytes | None:
        """Return what the file holds at this moment; None without one, and for one that cannot be read."""
        try:
            stored = self.read(agent_id)
        except OverrideUnreadable:
            return None
        return stored.content if stored else None

    def fingerprint(self, agent_id: str) -> tuple[Identity | None, Identity | None] | None:
        """Return what differs after any change of what `read` returns; None while that is not certain.

        It is the identity of the folder, and that of the file. Nothing is opened. It is not certain within
        two seconds after a change, nor where links are involved.
        """
        folder = identity_of(self.folder)
        if folder is None:
            return None, None
        file = identity_of(f"{self.folder}/{ids.encode(agent_id)}.json")
        is_plain = stat.S_ISDIR(folder[0]) and (file is None or stat.S_ISREG(file[0]))
        return (folder, file) if is_plain and is_settled(file) else None

    @contextmanager
    def publications_ended(self) -> Iterator[None]:
        """Wait for a publication that is under way, and let no other one begin during this block.

        What the files hold here was published, or written by hand; it is not going to be taken back. Raises
        `OverrideNotWritten` when a publication does not end.
        """
        if self.folder.is_dir():
            with self._one_at_a_time(self.folder / "any"):
                yield
        else:
            yield

    @contextmanager
    def _one_at_a_time(self, path: Path) -> Iterator[None]:
        """Hold the folder, against threads and processes of this machine, wherever it can be held.

        Never while anything else is still to be waited for: whoever holds it goes on to the end.
        """
        with _named_errors(path):
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _lock(folder, path)
            yield
        finally:
            os.close(folder)

    def remove(self, agent_id: str) -> None:
        """Remove the file of an agent, durably; nothing happens when there is none. Raises as `write`."""
        path = self.path(agent_id)
        with _named_errors(path), suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()
            durable.sync_folder(path.parent)


def _lock(folder: int, path: Path) -> None:
    """Lock a folder until its descriptor is closed; not every file system can."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise OverrideNotWritten(
                    f"The override file {path.name} could not be written: another publication does not end. "
                    "Nothing was changed."
                ) from None
            time.sleep(_POLL)
        except OSError as error:
            logger.warning("the folder of the override files cannot be locked: %s", error)
            return
        else:
            return


def _put_back(path: Path, aside: Path, written: Identity | None) -> None:
    """Bring a file back, unless there is another one by now than the one that was written in its place."""
    if identity_of(path) != written:
        logger.error("the override file %s was changed by somebody else, and stays so", path.name)
        return
    with _named_errors(path):
        if aside.exists():
            aside.replace(path)
        elif path.is_file():
            path.unlink()
        durable.sync_folder(path.parent)


def _stored(descriptor: int) -> StoredFile:
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
        raise OverrideNotWritten(
            f"The override file {path.name} could not be written: {reason}. Nothing was changed."
        ) from error
