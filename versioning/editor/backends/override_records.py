"""Combine the file, the commits and the row of an override into one record."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from editor_client.shared import canonical

from versioning.domain.overrides import CodeAgent, applied
from versioning.domain.snapshots import Snapshot, VersionPointers
from versioning.models import Agent, Version
from versioning.sources.overrides import FileVersion, OverrideSource


class OverrideRecords:
    """Builds the records of overrides; a record without a row is not stored."""

    def __init__(self, source: OverrideSource, workspace_id: str) -> None:
        self.source = source
        self.workspace_id = workspace_id
        self._alike: dict[str, tuple[object, uuid.UUID | None]] = {}

    def record(
        self,
        agent: CodeAgent,
        row: Agent | None,
        commits_of: Callable[[CodeAgent], Sequence[Snapshot]] | None = None,
    ) -> Agent | None:
        """Return the record of an override, built from its file, its history and its row.

        Returns None if all three are missing. Without a row the record exists in memory only.
        """
        file, commits = self.source.current(agent), (commits_of or self.source.versions)(agent)
        if file is None and not commits and (row is None or not row.is_stored):
            return None
        if row is None:
            row = self._unstored(agent, [*filter(None, [file]), *commits])
        row.pointers = self._pointers(agent, row, file, commits)
        return row

    def _unstored(self, agent: CodeAgent, snapshots: Sequence[Snapshot]) -> Agent:
        return Agent(
            id=agent.id,
            workspace_id=self.workspace_id,
            visibility=agent.visibility,
            created_at=snapshots[-1].created_at,
            updated_at=snapshots[0].created_at,
            published_updated_at=snapshots[0].created_at,
        )

    def _pointers(
        self, agent: CodeAgent, row: Agent, file: FileVersion | None, commits: Sequence[Snapshot]
    ) -> VersionPointers:
        own: Version | None = row.latest_version if row.is_stored else None
        if file is None:
            newest = own or commits[0]
            return VersionPointers(
                active=None, latest=newest, base=newest, from_git=commits, gone=own is None
            )
        active = self._published(agent, row, file, commits)
        at = partial(VersionPointers, active=active, from_git=commits, file=file)
        if own is None:
            return at(latest=active, base=active)
        if _digest(agent, own.config) == file.digest:
            return at(latest=active, base=own)
        if row.active_version_id == own.pk:
            return at(latest=active, base=active)
        return at(latest=own, base=own)

    def _published(
        self, agent: CodeAgent, row: Agent, file: FileVersion, commits: Sequence[Snapshot]
    ) -> Snapshot:
        """Return the newest version with the same configuration as the file, otherwise the file itself."""
        commit = next((commit for commit in commits if _digest(agent, commit.config) == file.digest), None)
        own = self._own_version_like(agent, row, file)
        if commit is None or own is None:
            return commit or own or file
        # Git has whole seconds only, and a file is published before it is committed.
        return own if own.created_at.replace(microsecond=0) > commit.created_at else commit

    def _own_version_like(self, agent: CodeAgent, row: Agent, file: FileVersion) -> Snapshot | None:
        """Return the newest version in the row with the configuration of the file."""
        if not row.is_stored:
            return None
        newest: Version = row.latest_version
        if _digest(agent, newest.config) == file.digest:
            return newest
        key = (row.revision, row.latest_version_id, file.digest, agent.ownership)
        held = self._alike.get(row.pk)
        if held is None or held[0] != key:
            configs = row.versions.values_list("pk", "config_json").iterator()
            alike = (pk for pk, text in configs if _digest(agent, json.loads(text)) == file.digest)
            held = self._alike[row.pk] = (key, next(alike, None))
        if held[1] == row.active_version_id:
            published: Version | None = row.active_version
            return published
        return row.version(held[1]) if held[1] else None


def _digest(agent: CodeAgent, config: Mapping[str, Any]) -> str:
    """Return the digest of the file content that a configuration would produce."""
    return canonical.digest(applied(agent, dict(config)))
