"""What every saved configuration looks like, wherever it is stored."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

SHORT_COMMIT: Final = 7
SHORT_ID: Final = 11
_IN_GIT: Final = "git-"
_IN_FILE: Final = "file-"


class Snapshot(Protocol):
    """One saved configuration; immutable, and without a status.

    Resolution, comparison, export and the studio see versions through these members only and
    never ask where one came from.
    """

    @property
    def version_id(self) -> str:
        """The id by which callers name this version."""

    @property
    def number(self) -> int:
        """The position in the history of its resource, from 1."""

    @property
    def config(self) -> dict[str, Any]:
        """The saved fields, under their wire names; not to be changed."""

    @property
    def digest(self) -> str:
        """What configurations share that are equal (`canonical.digest`)."""

    @property
    def changed_fields(self) -> list[str]:
        """The fields in which it differs from the version before."""

    @property
    def change_message(self) -> str:
        """Why it was saved, in the author's words."""

    @property
    def author_name(self) -> str | None:
        """Who saved it; None for the application itself."""

    @property
    def created_at(self) -> datetime.datetime:
        """When it was saved."""

    @property
    def source(self) -> str:
        """Where it is stored: `database`, `git`, or `file` for a file that is not committed."""

    @property
    def commit(self) -> str | None:
        """The commit that holds it, where one does."""

    @property
    def read_only(self) -> bool:
        """Whether it can be neither deleted nor labelled here."""


@dataclass(frozen=True, kw_only=True)
class VersionPointers:
    """The two pointers of a resource, where a file and not its row says what they point at."""

    active: Snapshot | None
    """What is published."""
    latest: Snapshot
    base: Snapshot
    """What the next edit starts from: the latest, or a richer version of the same configuration."""
    from_git: Sequence[Snapshot] = ()
    """The versions that commits hold, newest first."""
    file: Snapshot | None = None
    """What the file itself holds, whatever version that is."""
    gone: bool = False
    """Whether nothing but the history in Git is left: neither a file nor a row."""

    def find(self, version_id: str) -> Snapshot | None:
        """Return the version with this id, of those that no row holds."""
        if self.file is not None and self.file.version_id == version_id:
            return self.active
        return next((one for one in self.from_git if one.version_id == version_id), None)


def title_of(version: Snapshot) -> str:
    """Return what people are shown as the name of a version: `Version 3`, `Git 2f7341a` or `File`.

    A commit is never called by its number: the database counts its versions from 1, too.
    """
    if version.source == "database":
        return f"Version {version.number}"
    return _title_of_unstored(version.version_id)


def reference_to(version: Snapshot) -> str:
    """Return how a sentence calls a version: `version 3`, `Git 2f7341a` or `the override file`."""
    if version.source == "database":
        return f"version {version.number}"
    return reference_to_id(version.version_id)


def reference_to_id(version_id: str) -> str:
    """Return how a sentence calls a version of which no more than the id is known."""
    if version_id.startswith(_IN_FILE):
        return "the override file"
    return _title_of_unstored(version_id) if version_id.startswith(_IN_GIT) else version_id[:SHORT_ID]


def subject_of(message: str) -> str:
    """Return the first paragraph of a message as one line, which is what Git calls its subject."""
    first = message.strip().partition("\n\n")[0]
    return " ".join(first.split("\n"))


def _title_of_unstored(version_id: str) -> str:
    if version_id.startswith(_IN_GIT):
        return f"Git {version_id.removeprefix(_IN_GIT)[:SHORT_COMMIT]}"
    return "File"
