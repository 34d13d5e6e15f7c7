"""The agents, where overrides of code-defined ones are files under Git.

The file is the truth: what it holds at this moment is what is published, whoever wrote it. Rows
keep the drafts; Git keeps the history. A row's own pointer to an active version remembers what the
editor published last: whatever is newer than that is a draft, and when the file says something else
by now, somebody has changed it by hand, and the next edit starts from there.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

from django.db import transaction

from versioning import canonical
from versioning.access import APPLICATION, Caller, Right
from versioning.editor.agents import Agents
from versioning.editor.reading import Who, caller_of
from versioning.errors import IdTaken, NotFound
from versioning.models import Agent, Version, Workspace
from versioning.models.basis import Basis
from versioning.models.versioned import VersionedQuerySet
from versioning.overrides import CodeAgent, applied
from versioning.registry import Registry
from versioning.resolution import Resolved
from versioning.snapshots import Snapshot, Standing
from versioning.sources.files import OverrideUnreadable
from versioning.sources.overrides import FileVersion, OverrideSource

KEPT: Final = "Kept from the override file"


class FileAgents(Agents):
    """Stored agents, and overrides that live in files."""

    def __init__(self, code: Registry, source: OverrideSource) -> None:
        super().__init__(code)
        self.source = source
        self._matches: dict[str, tuple[object, uuid.UUID | None]] = {}

    # Reading

    @property
    def rows_decide(self) -> bool:
        """Whether rows say where every agent stands; of those that code defines, their files do."""
        return not self.code.agents

    def list(self, *, by: Who = APPLICATION) -> VersionedQuerySet[Agent]:
        """Return the stored agents; overrides are `beside` them, for their rows do not say what counts."""
        return super().list(by=by).exclude(pk__in=self.code.agents, workspace=self.code.workspace_id)

    def beside(self, *, by: Who = APPLICATION) -> Sequence[Agent]:
        """Return the overrides that the caller may read, by id; one query, however many there are."""
        by = caller_of(by)
        rows = self._override_rows.in_bulk(list(self.code.agents))
        commits_of = self.source.at_head()
        found = (
            self._with_standing(agent, rows.get(agent.id), commits_of) for agent in self.code.agents.values()
        )
        readable = (one for one in found if one and not one.gone and self._is_readable(one, by))
        return sorted(readable, key=lambda one: one.pk)

    def basis(self, resource_id: str) -> Basis | None:
        """Return what an agent's record depends on; of an override the file decides, and no row."""
        return None if self.code.get(resource_id) else super().basis(resource_id)

    def _found(self, resource_id: str, by: Caller) -> Agent:
        override = self._override_row(resource_id) if self.code.get(resource_id) else None
        if override is None:
            return super()._found(resource_id, by)
        if not self._is_readable(override, by):
            raise NotFound
        return override

    def _override_row(self, agent_id: str) -> Agent | None:
        agent = self.code.agents[agent_id]
        return self._with_standing(agent, self._override_rows.filter(pk=agent_id).first())

    @property
    def _override_rows(self) -> VersionedQuerySet[Agent]:
        rows = self._with_versions.select_related(
            "author", "published_by", "active_version__author", "latest_version__author"
        )
        return rows.filter(workspace=self.code.workspace_id)

    def _is_readable(self, override: Agent, by: Caller) -> bool:
        if by.may(Right.READ_DRAFTS, self.code.workspace_id):
            return True
        return override.active_id is not None and override.pk in self.code.readable_by(by)

    # Where an override stands

    def _with_standing(
        self,
        agent: CodeAgent,
        row: Agent | None,
        commits_of: Callable[[CodeAgent], Sequence[Snapshot]] | None = None,
    ) -> Agent | None:
        """Return the record of an override as its file, its history and its row make it.

        None when there is none of the three. Without a row the record is made here and stored nowhere.
        """
        file, commits = self.source.current(agent), (commits_of or self.source.versions)(agent)
        if file is None and not commits and (row is None or not row.is_stored):
            return None
        if row is None:
            row = self._unstored(agent, [*filter(None, [file]), *commits])
        row.standing = self._standing(agent, row, file, commits)
        return row

    def _unstored(self, agent: CodeAgent, snapshots: Sequence[Snapshot]) -> Agent:
        return Agent(
            id=agent.id,
            workspace_id=self.code.workspace_id,
            visibility=agent.visibility,
            created_at=snapshots[-1].created_at,
            updated_at=snapshots[0].created_at,
        )

    def _standing(
        self, agent: CodeAgent, row: Agent, file: FileVersion | None, commits: Sequence[Snapshot]
    ) -> Standing:
        own: Version | None = row.latest_version if row.is_stored else None
        if file is None:
            newest = own or commits[0]
            return Standing(active=None, latest=newest, base=newest, history=commits, gone=own is None)
        active = self._published(agent, row, file, commits)
        at = partial(Standing, active=active, history=commits, file=file)
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
        """Return the newest version with the exact configuration of the file, else the file itself."""
        commit = next((one for one in commits if _digest(agent, one.config) == file.digest), None)
        own = self._own_version_like(agent, row, file)
        if commit is None or own is None:
            return commit or own or file
        # Git knows whole seconds only, and what is committed was published before.
        return own if own.created_at.replace(microsecond=0) > commit.created_at else commit

    def _own_version_like(self, agent: CodeAgent, row: Agent, file: FileVersion) -> Snapshot | None:
        """Return the newest version that a row holds with the configuration of the file."""
        if not row.is_stored:
            return None
        newest: Version = row.latest_version
        if _digest(agent, newest.config) == file.digest:
            return newest
        key = (row.revision, row.latest_version_id, file.digest, agent.ownership)
        held = self._matches.get(row.pk)
        if held is None or held[0] != key:
            configs = row.versions.values_list("pk", "config_json").iterator()
            alike = (pk for pk, text in configs if _digest(agent, json.loads(text)) == file.digest)
            held = self._matches[row.pk] = (key, next(alike, None))
        if held[1] == row.active_version_id:
            published: Version | None = row.active_version
            return published
        return row.version(held[1]) if held[1] else None

    # Changing

    def create(
        self, fields: Mapping[str, Any] | None = None, *, by: Who = APPLICATION, **more: Any
    ) -> Resolved[Agent]:
        """Make an agent, or an override, whose file is written when it is published at once."""
        with self._file_follows() as follow:
            made = super().create(fields, by=by, **more)
            follow(made.resource.pk, made.resource, None)
        return made

    @contextmanager
    def _changing(
        self,
        resource_id: str,
        right: Right,
        by: Caller,
        expect: AnyCollection[str] | None = None,
        *,
        even_gone: bool = False,
    ) -> Iterator[Agent]:
        with self._file_follows() as follow:
            with super()._changing(resource_id, right, by, expect, even_gone=even_gone) as resource:
                before = resource.active_id
                yield resource
            follow(resource_id, resource, before)

    @contextmanager
    def _file_follows(self) -> Iterator[Callable[[str, Agent, str | None], None]]:
        """Give out the last act of a transaction: it makes the file hold what is active by then.

        The file as it was comes back when the transaction cannot be ended after that.
        """
        with ExitStack() as undo:
            with transaction.atomic():
                yield partial(self._follow, undo)
            undo.pop_all()

    def _follow(self, undo: ExitStack, agent_id: str, resource: Agent, before: str | None) -> None:
        agent = self.code.get(agent_id)
        if agent is None or resource.standing is None:
            return
        deleted = resource.pk is None
        active = None if deleted else resource.active
        if (active and active.version_id) != before:
            undo.callback(self._put_back, agent_id, self._content(agent_id))
            if active is None:
                self.source.files.remove(agent_id)
            else:
                self.source.write(agent, active.config)
        if not deleted:
            self._with_standing(agent, resource)

    def _content(self, agent_id: str) -> bytes | None:
        try:
            stored = self.source.files.read(agent_id)
        except OverrideUnreadable:
            return None
        return None if stored is None else stored.content

    def _put_back(self, agent_id: str, content: bytes | None) -> None:
        if content is None:
            self.source.files.remove(agent_id)
        else:
            self.source.files.write(agent_id, content)

    def _locked(self, resource_id: str, by: Caller) -> Agent:
        agent = self.code.get(resource_id)
        override = self._with_standing(agent, self._locked_row(resource_id)) if agent else None
        if override is None:
            return super()._locked(resource_id, by)
        if not self._is_readable(override, by):
            raise NotFound
        return override

    def _locked_row(self, agent_id: str) -> Agent | None:
        rows = self.all.locked().filter(pk=agent_id, workspace=self.code.workspace_id)
        row = rows.first()
        if row is None:
            # Whoever comes second to make the first draft waits here, and then finds the row.
            Workspace.objects.select_for_update().get(pk=self.code.workspace_id)
            row = rows.first()
        return row

    def _point(self, resource: Agent, version: Snapshot | None, by: Caller) -> None:
        if not self._is_override(resource):
            super()._point(resource, version, by)
            return
        replaced = resource.active
        if replaced is not None and (
            replaced.source == "file" or (version is None and not resource.is_stored)
        ):
            self._keep(resource, replaced)
        if version is not None and version.read_only:
            if resource.is_stored:
                super()._point(resource, None, by)
        else:
            super()._point(resource, version, by)
        latest = version or resource.latest
        resource.standing = Standing(active=version, latest=latest, base=latest)

    def _keep(self, resource: Agent, snapshot: Snapshot) -> None:
        """Save what nothing else holds, or will hold: a version of the row, but not its latest."""
        latest_id = resource.latest_version_id if resource.is_stored else None
        before = resource.latest_version.config if resource.is_stored else {}
        resource.append(
            snapshot.config,
            message=KEPT,
            author_id=None,
            changed_fields=self.model.schema.changed(before, snapshot.config),
            created_at=snapshot.created_at,
        )
        if latest_id is not None:
            resource.latest_version_id = latest_id

    def _store(self, resource: Agent) -> None:
        if not resource.is_stored:
            self._keep(resource, resource.base)
        super()._store(resource)

    def _is_override(self, resource: Agent) -> bool:
        return self.code.get(resource.pk) is not None and resource.workspace_id == self.code.workspace_id

    def _refuse_taken(self, resource_id: str) -> None:
        agent = self.code.get(resource_id)
        if agent is not None and self.source.current(agent) is not None:
            raise IdTaken(f"{resource_id!r} has an override already, in a file.")

    def _is_only_version(self, resource: Agent) -> bool:
        outside = resource.standing is not None and resource.active is not None
        return not outside and super()._is_only_version(resource)

    def _forget(self, resource: Agent, version: Version) -> None:
        if not super()._is_only_version(resource):
            super()._forget(resource, version)
            return
        # The record lives on in its file; only the row, which has nothing left to hold, goes.
        resource.drop_row()


def _digest(agent: CodeAgent, config: Mapping[str, Any]) -> str:
    """Return the digest of what a file would hold of a configuration."""
    return canonical.digest(applied(agent, dict(config)))
