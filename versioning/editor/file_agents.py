"""The agents, where overrides of code-defined ones are files under Git.

The file is the truth: what it holds at this moment is what is published, whoever wrote it. Rows
keep the drafts; Git keeps the history. A row's own pointer to an active version remembers what the
editor published last: whatever is newer than that is a draft, and when the file says something else
by now, somebody has changed it by hand, and the next edit starts from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as AnyCollection
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from typing import Any, Final, TypeVar, cast

from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import IdTaken
from versioning.domain.registry import Registry
from versioning.domain.snapshots import Snapshot, Standing
from versioning.editor.agents import Agents
from versioning.editor.override_records import OverrideRecords
from versioning.editor.reading import Who, caller_of
from versioning.models import Agent, KnownOverride, Version, Workspace, events
from versioning.models.basis import Basis
from versioning.models.versioned import VersionedQuerySet
from versioning.serving.resolution import Resolved
from versioning.sources.files import OverrideChanged
from versioning.sources.overrides import OverrideSource, digest_of

KEPT: Final = "Kept from the override file"
_ATTEMPTS: Final = 3


V = TypeVar("V", bound=Callable[..., Any])


def _decided_anew(verb: V) -> V:
    """Return the verb, begun anew when somebody else changes the file while it decides."""

    @wraps(verb)
    def begun_anew(*args: Any, **named: Any) -> Any:
        for _ in range(_ATTEMPTS - 1):
            with suppress(OverrideChanged):
                return verb(*args, **named)
        return verb(*args, **named)

    return cast("V", begun_anew)


class FileAgents(Agents):
    """Stored agents, and overrides that live in files."""

    def __init__(self, code: Registry, source: OverrideSource) -> None:
        super().__init__(code)
        self.source = source
        self.records = OverrideRecords(source, code.workspace_id)

    # Reading

    @property
    def rows_decide(self) -> bool:
        """Whether rows say where every agent stands; of those that code defines, their files do."""
        return not self.code.agents

    def _readable_by(self, by: Caller, *, label: str | None = None) -> VersionedQuerySet[Agent]:
        # Overrides are `beside` the stored agents, for their rows do not say what counts.
        rows = super()._readable_by(by, label=label)
        return rows.exclude(pk__in=self.code.agents, workspace=self.code.workspace_id)

    def beside(self, *, by: Who = APPLICATION) -> Sequence[Agent]:
        """Return the overrides that the caller may read, by id; one query, however many there are."""
        by = caller_of(by)
        rows = self._override_rows.in_bulk(list(self.code.agents))
        commits_of = self.source.at_head()
        found = (
            self.records.record(agent, rows.get(agent.id), commits_of) for agent in self.code.agents.values()
        )
        readable = (one for one in found if one and not one.gone and self._is_readable(one, by))
        return sorted(readable, key=lambda one: one.pk)

    def basis(self, resource_id: str) -> Basis | None:
        """Return what an agent's record depends on; of an override the file decides, and no row."""
        return None if self.code.get(resource_id) else super().basis(resource_id)

    def _found(self, resource_id: str, by: Caller, *, label: str | None = None) -> Agent:
        override = self._override_row(resource_id) if self.code.get(resource_id) else None
        if override is None or not self._is_readable(override, by, label=label):
            return super()._found(resource_id, by, label=label)
        return override

    def _override_row(self, agent_id: str) -> Agent | None:
        agent = self.code.agents[agent_id]
        return self.records.record(agent, self._override_rows.filter(pk=agent_id).first())

    @property
    def _override_rows(self) -> VersionedQuerySet[Agent]:
        rows = self._with_versions.select_related(
            "author", "published_by", "active_version__author", "latest_version__author"
        )
        return rows.filter(workspace=self.code.workspace_id)

    def _is_readable(self, override: Agent, by: Caller, *, label: str | None = None) -> bool:
        if by.may(Right.READ_DRAFTS, self.code.workspace_id):
            return True
        if override.pk not in self.code.readable_by(by):
            return False
        is_released = label is not None and override.labels.filter(name=label, released=True).exists()
        return override.active_id is not None or is_released

    # Changing

    @_decided_anew
    def create(
        self, fields: Mapping[str, Any] | None = None, *, by: Who = APPLICATION, **more: Any
    ) -> Resolved[Agent]:
        """Make an agent, or an override, whose file is written when it is published at once."""
        with ExitStack() as undo, events.transaction():
            content = self._content(more.get("id") or "")
            made = super().create(fields, by=by, **more)
            self._follow(undo, made.resource.pk, made.resource, None, content)
        return made

    edit = _decided_anew(Agents.edit)
    edit_live = _decided_anew(Agents.edit_live)
    publish = _decided_anew(Agents.publish)
    unpublish = _decided_anew(Agents.unpublish)
    delete = _decided_anew(Agents.delete)

    @contextmanager
    def _changing(
        self,
        resource_id: str,
        right: Right,
        by: Caller,
        expect: AnyCollection[str] | None = None,
        **how: bool,
    ) -> Iterator[Agent]:
        with ExitStack() as undo, events.transaction():
            with super()._changing(resource_id, right, by, expect, **how) as resource:
                before, content = resource.active_id, self._content(resource_id)
                yield resource
            self._follow(undo, resource_id, resource, before, content)

    def _content(self, agent_id: str) -> bytes | None:
        """Return what the file of an agent of the code holds; None of any other."""
        return self.source.files.content(agent_id) if self.code.get(agent_id) else None

    def _follow(
        self, undo: ExitStack, agent_id: str, resource: Agent, before: str | None, content: bytes | None
    ) -> None:
        """Do the last act of a transaction: make the file hold what is active by then.

        The file as it was, which held this content, comes back when the transaction cannot be ended
        after that: until then nobody else can publish.
        """
        agent = self.code.get(agent_id)
        if agent is None or resource.standing is None:
            return
        deleted = resource.pk is None
        active = None if deleted else resource.active
        if (active and active.version_id) != before:
            config = None if active is None else active.config
            KnownOverride.objects.note(agent_id, digest_of(agent, config), active)
            undo.enter_context(self.source.replacing(agent, config, expected=content))
        if not deleted:
            self.records.record(agent, resource)

    def _locked(self, resource_id: str, by: Caller, *, for_deletion: bool = False) -> Agent:
        agent = self.code.get(resource_id)
        row = self._locked_row(resource_id, for_deletion=for_deletion) if agent else None
        override = self.records.record(agent, row) if agent else None
        if override is None or not self._is_readable(override, by):
            return super()._locked(resource_id, by, for_deletion=for_deletion)
        if not override.is_stored and self.all.filter(pk=resource_id).exists():
            raise IdTaken(f"The id {resource_id!r} is taken by an agent of another workspace.")
        return override

    def _locked_row(self, agent_id: str, *, for_deletion: bool) -> Agent | None:
        rows = self.all.locked(for_deletion=for_deletion).filter(
            pk=agent_id, workspace=self.code.workspace_id
        )
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
