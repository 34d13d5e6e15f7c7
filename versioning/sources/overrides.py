"""Overrides as files with a history: the current and the previous overrides of code-defined agents."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from editor_client.shared import canonical

from versioning.domain.agents import OVERRIDE
from versioning.domain.config import Config
from versioning.domain.errors import Invalid
from versioning.domain.overrides import CodeAgent, apply_override, withheld
from versioning.sources.files import Identity, OverrideFiles, OverrideUnreadable, StoredFile
from versioning.sources.histories import Commit, Histories

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class FileVersion:
    """A snapshot that exists only in an override file."""

    config: Config
    created_at: datetime.datetime
    digest: str
    changed_fields: list[str]
    number: int = 0
    change_message: str = "The override file as it is now; not committed"
    author_name: str | None = None
    source: str = "file"
    read_only: bool = True
    commit: str | None = None
    bypassed_by: str = ""

    @property
    def version_id(self) -> str:
        return f"file-{self.digest[:12]}"


@dataclass(frozen=True, kw_only=True)
class GitVersion:
    """A snapshot in a commit."""

    commit: str
    number: int
    config: Config
    digest: str
    changed_fields: list[str]
    change_message: str
    author_name: str
    created_at: datetime.datetime
    source: str = "git"
    read_only: bool = True
    bypassed_by: str = ""

    @property
    def version_id(self) -> str:
        return f"git-{self.commit}"


class OverrideSource:
    """The override files below one folder. Every answer is current.

    A parsed file is remembered with its content. `depth` is the maximum number of commits of a file.
    """

    def __init__(self, root: Path, depth: int) -> None:
        self.files = OverrideFiles(root)
        self.histories = Histories(self.files.folder, depth, git_versions)
        self._parsed: dict[str, tuple[object, FileVersion | None]] = {}
        self._paths: dict[str, tuple[Identity | None, Path]] = {}
        """The paths of agents' files, by the identity of the folder."""
        self._unread: dict[str, int] = {}
        """The number of failed reads of an agent's file, which can end without a change of the file."""

    def current(self, agent: CodeAgent) -> FileVersion | None:
        """Return the content of the agent's file; None if there is none or it is not valid.

        A file that does not parse, or has fields that an override of this agent may not have, is logged as an
        error, once for each content.
        """
        try:
            stored = self.files.read(agent.id)
        except OverrideUnreadable as error:
            logger.error("the override file of %r is ignored: %s", agent.id, error)  # noqa: TRY400
            self._unread[agent.id] = self._unread.get(agent.id, 0) + 1
            return None
        if stored is None:
            return None
        key = (stored, agent.ownership)
        cached = self._parsed.get(agent.id)
        if cached is None or cached[0] != key:
            cached = self._parsed[agent.id] = (key, _file_version(agent, stored))
        return cached[1]

    def at_head(self) -> Callable[[CodeAgent], Sequence[GitVersion]]:
        """Return a function that returns the versions of an agent's file in Git, newest first.

        HEAD is read only once for any number of agents. There may be no history.
        """
        return partial(self._versions, self.histories.at_head())

    def versions(self, agent: CodeAgent) -> Sequence[GitVersion]:
        """Return the versions of one agent's file in Git, newest first."""
        return self.at_head()(agent)

    def fingerprint(self, agent: CodeAgent) -> Hashable | None:
        """Return a fingerprint under which an answer made from `current` and `versions` may be cached.

        If the value from before the answer was made equals the present one, the answer is still valid. None
        means that this is uncertain: the file or the repository was changed less than two seconds ago
        (another change might not show in their times), links are involved, or the history was not read yet or
        not in time. It takes some ten microseconds and starts no process.
        """
        file = self.files.fingerprint(agent.id)
        if file is None:
            return None
        path = self._paths.get(agent.id)
        if path is None or path[0] != file[0]:
            path = self._paths[agent.id] = file[0], self.files.path(agent.id)
        history = self.histories.fingerprint(path[1])
        return None if history is None else (file, history, self._unread.get(agent.id), agent.ownership)

    def replacing(
        self, agent: CodeAgent, config: Config | None, *, expected: bytes | None
    ) -> AbstractContextManager[None]:
        """Write a configuration to the file or remove it; see `OverrideFiles.replacing`."""
        content = None if config is None else file_content(agent, config)
        return self.files.replacing(agent.id, content, expected=expected)

    def write(self, agent: CodeAgent, config: Config) -> None:
        """Write the applied fields of a configuration to the file; raises as `OverrideFiles.write` does."""
        self.files.write(agent.id, file_content(agent, config))

    def _versions(
        self, history_of: Callable[[Path], tuple[GitVersion, ...]], agent: CodeAgent
    ) -> tuple[GitVersion, ...]:
        try:
            return history_of(self.files.path(agent.id))
        except Invalid:
            return ()


def file_content(agent: CodeAgent, config: Config) -> bytes:
    """Return the bytes of the file for a configuration: only fields that an override may have."""
    return canonical.file_text(apply_override(agent, config)).encode()


def override_digest(agent: CodeAgent, config: Config | None) -> str:
    """Return the digest of an agent's file after `replacing` it; empty if it was removed."""
    return "" if config is None else canonical.digest(apply_override(agent, config))


def git_versions(commits: Sequence[Commit]) -> tuple[GitVersion, ...]:
    """Return the snapshots of a file's commits (both newest first).

    Of consecutive commits with equal configurations only the oldest is used; a commit that does not parse
    is skipped; a commit that removed the file ends such a series. The number is the position among all the
    commits, the oldest being 1.
    """
    versions: list[GitVersion] = []
    previous: Config = {}
    digest = ""
    for number, commit in enumerate(reversed(commits), start=1):
        if commit.content is None:
            digest, previous = "", {}
            continue
        try:
            config = _read_config(canonical.parse_file(commit.content))
        except Invalid:
            continue
        if canonical.digest(config) == digest:
            continue
        digest = canonical.digest(config)
        versions.append(
            GitVersion(
                commit=commit.sha,
                number=number,
                config=config,
                digest=digest,
                changed_fields=OVERRIDE.list_changes(previous, config),
                change_message=commit.message,
                author_name=commit.author_name,
                created_at=commit.authored_at,
            )
        )
        previous = config
    return tuple(reversed(versions))


def _read_config(value: Any) -> Config:
    if not isinstance(value, dict):
        raise Invalid.field("file", "must be a JSON object")
    return OVERRIDE.read(value)


def _file_version(agent: CodeAgent, stored: StoredFile) -> FileVersion | None:
    try:
        config = _read_config(canonical.parse_file(stored.content))
        withheld_fields = withheld(agent, config)
        if withheld_fields:
            raise Invalid.field(withheld_fields[0], "is not a field that an override of this agent may have")
    except Invalid as error:
        logger.error("the override file of %r is ignored: %s", agent.id, error)  # noqa: TRY400
        return None
    return FileVersion(
        config=config,
        created_at=stored.modified_at,
        digest=canonical.digest(config),
        changed_fields=OVERRIDE.list_changes({}, config),
    )
