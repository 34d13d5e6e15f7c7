"""Overrides as files with a history: what is published of a code-defined agent, and what was."""

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

from versioning.domain.config import AGENT_OVERRIDE, Config
from versioning.domain.errors import Invalid
from versioning.domain.overrides import CodeAgent, applied, withheld
from versioning.sources.commits import Commit
from versioning.sources.files import OverrideFiles, OverrideUnreadable, StoredFile
from versioning.sources.histories import Histories
from versioning.sources.identity import Identity

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class FileVersion:
    """A snapshot that an override file holds and that is saved nowhere else."""

    config: Config
    created_at: datetime.datetime
    digest: str
    changed_fields: list[str]
    number: int = 0
    change_message: str = "The override file as it is; not committed"
    author_name: str | None = None
    source: str = "file"
    read_only: bool = True
    commit: str | None = None

    @property
    def version_id(self) -> str:
        """The id by which callers name it."""
        return f"file-{self.digest[:12]}"


@dataclass(frozen=True, kw_only=True)
class GitVersion:
    """A snapshot that a commit holds."""

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

    @property
    def version_id(self) -> str:
        """The id by which callers name it."""
        return f"git-{self.commit}"


class OverrideSource:
    """The override files below one folder. Every answer is of this moment.

    A parsed file is remembered with its content. `depth` says how many commits of a file are looked at.
    """

    def __init__(self, root: Path, depth: int) -> None:
        self.files = OverrideFiles(root)
        self.histories = Histories(self.files.folder, depth, git_versions)
        self._parsed: dict[str, tuple[object, FileVersion | None]] = {}
        self._paths: dict[str, tuple[Identity | None, Path]] = {}
        """The files of agents, by the identity of the folder in which they are."""
        self._unread: dict[str, int] = {}
        """How often the file of an agent could not be read, which can pass without a change of the file."""

    def current(self, agent: CodeAgent) -> FileVersion | None:
        """Return what the agent's file holds; None without a file, and for one that cannot count.

        A file that does not parse, or that holds what an override of this agent may not, is a
        logged error, once for each content.
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
        held = self._parsed.get(agent.id)
        if held is None or held[0] != key:
            held = self._parsed[agent.id] = (key, _file_version(agent, stored))
        return held[1]

    def at_head(self) -> Callable[[CodeAgent], Sequence[GitVersion]]:
        """Return what gives the versions that Git has of an agent's file, newest first.

        Git is asked once where it stands, for however many agents. No history is no error.
        """
        return partial(self._versions, self.histories.at_head())

    def versions(self, agent: CodeAgent) -> Sequence[GitVersion]:
        """Return the versions that Git has of one agent's file, newest first."""
        return self.at_head()(agent)

    def fingerprint(self, agent: CodeAgent) -> Hashable | None:
        """Return under what an answer made of `current` and `versions` may be cached.

        Equal values, one from before the answer was made and one of now, say that the answer is still right.
        None says that nothing can be said: the file or the repository was changed less than two seconds ago
        (a further change might not show in their times), links are involved, or the history was not read yet
        or not in time. It takes some ten microseconds and starts no process.
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
        """Let the file hold a configuration, or be gone; see `OverrideFiles.replacing`."""
        content = None if config is None else file_content(agent, config)
        return self.files.replacing(agent.id, content, expected=expected)

    def write(self, agent: CodeAgent, config: Config) -> None:
        """Make the file hold what counts of a configuration; raises as `OverrideFiles.write`."""
        self.files.write(agent.id, file_content(agent, config))

    def _versions(
        self, history_of: Callable[[Path], tuple[GitVersion, ...]], agent: CodeAgent
    ) -> tuple[GitVersion, ...]:
        try:
            return history_of(self.files.path(agent.id))
        except Invalid:
            return ()


def file_content(agent: CodeAgent, config: Config) -> bytes:
    """Return the bytes of the file for a configuration: only what an override of this agent may hold."""
    return canonical.file_text(applied(agent, config)).encode()


def digest_of(agent: CodeAgent, config: Config | None) -> str:
    """Return the digest of what an agent's file holds after `replacing` it; empty when it is gone."""
    return "" if config is None else canonical.digest(applied(agent, config))


def git_versions(commits: Sequence[Commit]) -> tuple[GitVersion, ...]:
    """Return the snapshots of a file's commits (both newest first).

    Of commits in a row with equal configurations the oldest stays; a commit that does not parse is
    skipped; one that removed the file ends such a row. The number is the position among all the
    commits, the oldest being 1.
    """
    found: list[GitVersion] = []
    previous: Config = {}
    digest = ""
    for number, commit in enumerate(reversed(commits), start=1):
        if commit.content is None:
            digest, previous = "", {}
            continue
        config = _parsed_config(commit.content)
        if config is None or canonical.digest(config) == digest:
            continue
        digest = canonical.digest(config)
        found.append(
            GitVersion(
                commit=commit.sha,
                number=number,
                config=config,
                digest=digest,
                changed_fields=AGENT_OVERRIDE.changed(previous, config),
                change_message=commit.message,
                author_name=commit.author_name,
                created_at=commit.authored_at,
            )
        )
        previous = config
    return tuple(reversed(found))


def _parsed_config(content: bytes) -> Config | None:
    """Return the configuration that a file holds, or None when it holds none."""
    try:
        return _config_of(canonical.parse(content, field="file"))
    except Invalid:
        return None


def _config_of(value: Any) -> Config:
    if not isinstance(value, dict):
        raise Invalid.field("file", "must be a JSON object")
    return AGENT_OVERRIDE.read(value)


def _file_version(agent: CodeAgent, stored: StoredFile) -> FileVersion | None:
    try:
        config = _config_of(canonical.parse(stored.content, field="file"))
        others = withheld(agent, config)
        if others:
            raise Invalid.field(others[0], "is not a field that an override of this agent may hold")
    except Invalid as error:
        logger.error("the override file of %r is ignored: %s", agent.id, error)  # noqa: TRY400
        return None
    return FileVersion(
        config=config,
        created_at=stored.modified_at,
        digest=canonical.digest(config),
        changed_fields=AGENT_OVERRIDE.changed({}, config),
    )
