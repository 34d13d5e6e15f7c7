"""A saved configuration, independent of its storage."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from editor_client.shared.configurations import EDIT_MESSAGE, INITIAL_MESSAGE

from versioning.domain.errors import Message

SHORT_COMMIT: Final = 7
SHORT_ID: Final = 11
RESTORED: Final = "Restored from {version}"
_IN_GIT: Final = "git-"
_IN_FILE: Final = "file-"
_RESTORED_FROM: Final = re.compile(
    r"Restored from (?:version (?P<number>\d+)|(?P<other>Git [0-9a-f]{7}|the override file))"
)


class Snapshot(Protocol):
    """One saved configuration; immutable, and without a status.

    Resolution, comparison, export and the studio use only these members, and do not depend on where a version
    is stored.
    """

    @property
    def version_id(self) -> str:
        """The id by which callers name this version."""

    @property
    def number(self) -> int:
        """Its number in the history of the resource, from 1."""

    @property
    def config(self) -> dict[str, Any]:
        """The saved fields by their JSON names; must not be changed."""

    @property
    def digest(self) -> str:
        """A digest that is equal for equal configurations (`canonical.digest`)."""

    @property
    def changed_fields(self) -> list[str]:
        """The fields in which it differs from the previous version."""

    @property
    def change_message(self) -> str:
        """Why it was saved, in the author's words."""

    @property
    def author_name(self) -> str | None:
        """Who saved it; None for the application."""

    @property
    def created_at(self) -> datetime.datetime:
        """When it was saved."""

    @property
    def source(self) -> str:
        """Where it is stored: `database`, `git`, or `file` for a file that is not committed."""

    @property
    def commit(self) -> str | None:
        """The commit that contains it, if there is one."""

    @property
    def read_only(self) -> bool:
        """Whether it cannot be deleted or labelled."""

    @property
    def bypassed_by(self) -> str:
        """The user who published it without the required approvals; empty if there was none."""


@dataclass(frozen=True, kw_only=True)
class VersionPointers:
    """The two pointers of a resource whose published version is determined by a file, not its row."""

    active: Snapshot | None
    """The published version."""
    latest: Snapshot
    base: Snapshot
    """The version from which the next edit starts: the latest, or an equivalent one with more fields."""
    from_git: Sequence[Snapshot] = ()
    """The versions in commits, newest first."""
    file: Snapshot | None = None
    """The content of the file, as a version."""
    gone: bool = False
    """Whether only the history in Git remains, without a file or a row."""

    def find(self, version_id: str) -> Snapshot | None:
        """Return the version with this id if it is one that no row stores."""
        if self.file is not None and self.file.version_id == version_id:
            return self.active
        return next((commit for commit in self.from_git if commit.version_id == version_id), None)


def version_title(version: Snapshot) -> str:
    """Return the name of a version for people: `Version 3`, `Git 2f7341a` or `File`.

    Commits are never numbered, because the versions in the database are numbered from 1 as well.
    """
    if version.source == "database":
        return Message("Version {number}", number=version.number)
    return _title_of_unstored(version.version_id)


def reference_to(version: Snapshot) -> str:
    """Return the version's name for use in a sentence: `version 3`, `Git 2f7341a` or `the override file`."""
    if version.source == "database":
        return Message("version {number}", number=version.number)
    return reference_to_id(version.version_id)


def reference_to_id(version_id: str) -> str:
    """Return the version's name for use in a sentence when only the id is known."""
    if version_id.startswith(_IN_FILE):
        return Message("the override file")
    return _title_of_unstored(version_id) if version_id.startswith(_IN_GIT) else version_id[:SHORT_ID]


def message_subject(message: str) -> str:
    """Return the first paragraph of a message as one line, which Git calls the subject."""
    first = message.strip().partition("\n\n")[0]
    return " ".join(first.split("\n"))


def own_message(version: Snapshot) -> str:
    """Return the message that a person wrote; empty for one that the editor generated."""
    message = version.change_message
    if version.source != "database":
        return "" if version.commit is None else message
    is_ours = message in {INITIAL_MESSAGE, EDIT_MESSAGE} or _RESTORED_FROM.fullmatch(message)
    return "" if is_ours else message


def restored_from(version: Snapshot) -> str:
    """Return the name of the version that this one copies, for use in a sentence: `version 3`.

    Empty for a version that is not a copy, and for a copy with its own message.
    """
    match = _RESTORED_FROM.fullmatch(version.change_message)
    if match is None or version.source != "database":
        return ""
    if match["number"]:
        return Message("version {number}", number=match["number"])
    return Message(match["other"])


def _title_of_unstored(version_id: str) -> str:
    if version_id.startswith(_IN_GIT):
        return f"Git {version_id.removeprefix(_IN_GIT)[:SHORT_COMMIT]}"
    return Message("File")
