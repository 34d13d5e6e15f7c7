"""Agents whose overrides are files under Git. Agents that code does not define are ordinary rows.

The file is authoritative: its current content is published. Rows hold the drafts, and Git holds the history.
The active pointer of a row is the editor's last publication; newer versions are drafts. If the file's content
differs, it was edited by hand, and the next edit starts from it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

from editor_client.shared import canonical

from versioning.domain.access import Caller, Right, Via
from versioning.domain.agents import Registry
from versioning.domain.errors import IdTaken, Message
from versioning.domain.overrides import CodeAgent, apply_override
from versioning.domain.snapshots import Snapshot, VersionPointers
from versioning.editor.backends import Finish
from versioning.editor.backends.rows import Rows, find_row, with_authors
from versioning.models import Agent, KnownOverride, Version, Workspace, events
from versioning.models.querysets import VersionedQuerySet
from versioning.serving.grants import target_of
from versioning.sources.overrides import FileVersion, OverrideSource, override_digest


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
            row = self._make_unstored(agent, [*filter(None, [file]), *commits])
        row.pointers = self._pointers(agent, row, file, commits)
        return row

    def _make_unstored(self, agent: CodeAgent, snapshots: Sequence[Snapshot]) -> Agent:
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
        active = self._find_published(agent, row, file, commits)
        at = partial(VersionPointers, active=active, from_git=commits, file=file)
        if own is None:
            return at(latest=active, base=active)
        if _digest(agent, own.config) == file.digest:
            return at(latest=active, base=own)
        if row.active_version_id == own.pk:
            return at(latest=active, base=active)
        return at(latest=own, base=own)

    def _find_published(
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
        cached = self._alike.get(row.pk)
        if cached is None or cached[0] != key:
            configs = row.versions.values_list("pk", "config_json").iterator()
            alike = (pk for pk, text in configs if _digest(agent, json.loads(text)) == file.digest)
            cached = self._alike[row.pk] = (key, next(alike, None))
        if cached[1] == row.active_version_id:
            published: Version | None = row.active_version
            return published
        return row.version(cached[1]) if cached[1] else None


def _digest(agent: CodeAgent, config: Mapping[str, Any]) -> str:
    """Return the digest of the file content that a configuration would produce."""
    return canonical.digest(apply_override(agent, dict(config)))


COPY_MESSAGE: Final = "Kept from the override file"
BY_HAND: Final = Caller(via=Via.FILE)
"""The author of a version copied from a file, whose real author is unknown."""


class OverrideFiles:
    """The backend for agents when overrides are files. Drafts and labels are saved in rows."""

    def __init__(self, code: Registry, source: OverrideSource) -> None:
        self.code = code
        self.source = source
        self.rows = Rows(Agent, code)
        self.records = OverrideRecords(source, code.workspace_id)

    # Loading

    def readable(self, by: Caller, *, label: str | None = None) -> VersionedQuerySet[Agent]:
        """Return the rows of stored agents; rows of overrides do not determine the published version."""
        rows = self.rows.readable(by, label=label)
        return rows.exclude(pk__in=self.code.agents, workspace=self.code.workspace_id)

    def list_unstored(self, by: Caller) -> Sequence[Agent]:
        """Return the overrides that the caller may read, by id, in one query."""
        rows = self._override_rows.in_bulk(list(self.code.agents))
        commits_of = self.source.at_head()
        commits = (
            self.records.record(agent, rows.get(agent.id), commits_of) for agent in self.code.agents.values()
        )
        readable = (
            commit for commit in commits if commit and not commit.gone and self._is_readable(commit, by)
        )
        return sorted(readable, key=lambda commit: commit.pk)

    def find(
        self, resource_id: str, by: Caller, *, label: str | None = None, only: Sequence[str] | None = None
    ) -> Agent:
        """Return an agent; an override is combined from its file, its commits and its row."""
        agent = self.code.get(resource_id)
        override = self.override(agent) if agent else None
        if override is None or not self._is_readable(override, by, label=label):
            return self.rows.find(resource_id, by, label=label, only=only)
        return override

    def override(self, agent: CodeAgent) -> Agent | None:
        """Return the override of a code-defined agent."""
        return self.records.record(agent, self._override_rows.filter(pk=agent.id).first())

    def fingerprint(self, resource_id: str) -> Hashable | None:
        """Return the fingerprint of the file and its history; `()` for an agent that code does not define."""
        agent = self.code.get(resource_id)
        return () if agent is None else self.source.fingerprint(agent)

    def refuse_taken(self, resource_id: str) -> None:
        """Raise `IdTaken` if the override of this agent is already in a file."""
        agent = self.code.get(resource_id)
        if agent is not None and self.source.current(agent) is not None:
            raise IdTaken(Message("{id!r} already has an override, in a file.", id=resource_id))

    # Locking: the file is written as the last step of a transaction

    @contextmanager
    def creating(self, resource_id: str) -> Iterator[Finish[Agent]]:
        """Open a transaction; its last step writes the file if the new override is published at once."""
        agent = self.code.get(resource_id)
        with ExitStack() as undo, events.transaction():
            content = self.source.files.content(agent.id) if agent else None
            yield lambda resource: self._write_file(undo, agent, resource, None, content)

    @contextmanager
    def lock_resource(self, resource_id: str, by: Caller, *, for_deletion: bool = False) -> Iterator[Agent]:
        """Lock an agent; the file of an override is read again after locking."""
        agent = self.code.get(resource_id)
        with ExitStack() as undo, events.transaction():
            resource = self._find_and_lock(resource_id, agent, by, for_deletion=for_deletion)
            before = resource.active_id
            content = self.source.files.content(resource_id) if agent else None
            yield resource
            self._write_file(undo, agent, resource, before, content)

    def _find_and_lock(
        self, resource_id: str, agent: CodeAgent | None, by: Caller, *, for_deletion: bool
    ) -> Agent:
        if agent is None:
            return self.rows.lock(resource_id, by, for_deletion=for_deletion)
        row = self._lock_row(resource_id, for_deletion=for_deletion)
        override = self.records.record(agent, row)
        if override is None or not self._is_readable(override, by):
            return find_row(self.readable(by).with_lock(for_deletion=for_deletion), resource_id)
        if not override.is_stored and self.rows.all.filter(pk=resource_id).exists():
            raise IdTaken(Message("The id {id!r} is taken by an agent of another workspace.", id=resource_id))
        return override

    def _lock_row(self, agent_id: str, *, for_deletion: bool) -> Agent | None:
        rows = self.rows.all.with_lock(for_deletion=for_deletion).filter(
            pk=agent_id, workspace=self.code.workspace_id
        )
        row = rows.first()
        if row is None:
            # If two people make the first draft at the same time, the second waits here and then finds the
            # row.
            Workspace.objects.with_lock().get(pk=self.code.workspace_id)
            row = rows.first()
        return row

    def _write_file(
        self,
        undo: ExitStack,
        agent: CodeAgent | None,
        resource: Agent,
        before: str | None,
        content: bytes | None,
    ) -> None:
        """Write the active version to the file if the active version has changed.

        If the transaction fails afterwards, the previous file is restored; until then no one else can
        publish.
        """
        if agent is None or resource.pointers is None:
            return
        deleted = resource.pk is None
        active = None if deleted else resource.active
        if (active and active.version_id) != before:
            config = None if active is None else active.config
            KnownOverride.objects.note(agent.id, override_digest(agent, config), active)
            undo.enter_context(self.source.replacing(agent, config, expected=content))
        if not deleted:
            self.records.record(agent, resource)

    # Changing a locked resource

    def store(self, resource: Agent) -> None:
        """Save the row; a new row starts with the content of the file."""
        if not resource.is_stored:
            self._copy_into_row(resource, resource.base)
        self.rows.store(resource)

    def set_active(self, resource: Agent, version: Snapshot | None, by: Caller) -> None:
        """Move the row's pointer; `lock_resource` writes the file. The row keeps the content of a file."""
        if self.code.overridden_by(resource.pk, resource.workspace_id) is None:
            self.rows.set_active(resource, version, by)
            return
        replaced = resource.active
        if replaced is not None and (
            replaced.source == "file" or (version is None and not resource.is_stored)
        ):
            self._copy_into_row(resource, replaced)
        if version is not None and version.read_only:
            if resource.is_stored:
                self.rows.set_active(resource, None, by)
        else:
            self.rows.set_active(resource, version, by)
        latest = version or resource.latest
        resource.pointers = VersionPointers(active=version, latest=latest, base=latest)

    def delete_version(self, resource: Agent, version: Version) -> None:
        """Delete the version. If it was the last one in the row of an override, only the file remains."""
        if self.rows.is_last_trace(resource, version):
            resource.drop_row()
        else:
            self.rows.delete_version(resource, version)

    def is_last_trace(self, resource: Agent, version: Version) -> bool:
        """Return whether this is the only version and no file holds another one."""
        in_file = resource.pointers is not None and resource.active is not None
        return not in_file and self.rows.is_last_trace(resource, version)

    def delete(self, resource: Agent) -> None:
        """Delete the row, if there is one, and the file."""
        self.rows.delete(resource)

    def _copy_into_row(self, resource: Agent, snapshot: Snapshot) -> None:
        """Save the content of the file as an earlier version of the row if it would otherwise be lost."""
        latest_id = resource.latest_version_id if resource.is_stored else None
        before = resource.latest_version.config if resource.is_stored else {}
        changed = resource.kind.schema.list_changes(before, snapshot.config)
        version = resource.append(
            snapshot.config,
            message=COPY_MESSAGE,
            author_id=None,
            changed_fields=changed,
            created_at=snapshot.created_at,
        )
        target = target_of(resource, self.code)
        events.record(
            f"{target.kind}.versionCreated",
            by=BY_HAND,
            workspace_id=resource.workspace_id,
            resource=target,
            version=version,
            changedFields=changed,
        )
        if latest_id is not None:
            resource.latest_version_id = latest_id

    # Reading

    @property
    def _override_rows(self) -> VersionedQuerySet[Agent]:
        return with_authors(self.rows.overrides).select_related("author")

    def _is_readable(self, override: Agent, by: Caller, *, label: str | None = None) -> bool:
        if not by.covers(override.pk):
            return False
        if by.may(Right.READ_DRAFTS, self.code.workspace_id):
            return True
        if override.pk not in self.code.readable_by(by):
            return False
        is_released = label is not None and override.labels.filter(name=label, released=True).exists()
        return override.active_id is not None or is_released
