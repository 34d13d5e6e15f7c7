"""Moving overrides from one source to the other: from the database to files, and back.

Both ways can be gone again and again: what is as it should be already is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from versioning.domain.access import Caller, Role, Via
from versioning.domain.errors import NotFound, VersioningError
from versioning.domain.overrides import APPLIED_FIELDS, CodeAgent
from versioning.domain.registry import Registry
from versioning.domain.snapshots import Snapshot
from versioning.editor.collection import agents_of
from versioning.sources.overrides import OverrideSource, file_content


class Outcome(StrEnum):
    """What became of one agent's override."""

    UNCHANGED = "unchanged"
    WRITTEN = "written"
    REMOVED = "removed"
    PUBLISHED = "published"
    UNPUBLISHED = "unpublished"
    REFUSED = "refused"
    """Nothing was done, for the reason given; somebody has to look."""


@dataclass(frozen=True, kw_only=True)
class Transferred:
    """One agent's override, and what became of it."""

    agent_id: str
    outcome: Outcome
    reason: str = ""


class Refused(VersioningError):
    """Somebody has to decide what is right."""

    code = "refused"


class Transfer:
    """The overrides of an installation on both sides: in rows, and in files."""

    def __init__(self, code: Registry, files: OverrideSource) -> None:
        self.code = code
        self.files = files
        self.rows = agents_of(code)

    def export(self, *, dry_run: bool = False, force: bool = False) -> Iterator[Transferred]:
        """Write what the database publishes into files.

        A file that says something else is refused, unless `force`: its text may be nowhere else.
        """
        write = partial(self._exported, dry_run=dry_run, force=force)
        return (_unless_refused(write, agent) for agent in self.code.agents.values())

    def take_in(self, *, dry_run: bool = False) -> Iterator[Transferred]:
        """Publish in the database what the files hold, as new versions; without a file, nothing.

        Nothing is lost by it: what was published before stays in the history. Whoever can write a file
        is no member of other workspaces by that, so a prompt block of another one is refused.
        """
        by = Caller(roles={self.code.workspace_id: Role.ADMIN}, via=Via.COMMAND)
        publish = partial(self._taken_in, dry_run=dry_run, by=by)
        return (_unless_refused(publish, agent) for agent in self.code.agents.values())

    def _exported(self, agent: CodeAgent, *, dry_run: bool, force: bool) -> Outcome:
        published, current = self._published(agent), self.files.current(agent)
        stored = self.files.files.read(agent.id)
        wanted = file_content(agent, published.config) if published else None
        if wanted == (stored.content if stored else None):
            return Outcome.UNCHANGED
        alike = current is not None and file_content(agent, current.config) == wanted
        if stored and not alike and not force:
            raise Refused("the file says something else than the database publishes")
        if not dry_run and published:
            self.files.write(agent, published.config)
        elif not dry_run:
            self.files.files.remove(agent.id)
        return Outcome.WRITTEN if published else Outcome.REMOVED

    def _taken_in(self, agent: CodeAgent, *, dry_run: bool, by: Caller) -> Outcome:
        published, current = self._published(agent), self.files.current(agent)
        if current is None and self.files.files.read(agent.id) is not None:
            raise Refused("the file does not hold an override; the log says why")
        held = file_content(agent, published.config) if published else None
        wanted = file_content(agent, current.config) if current else None
        if held == wanted:
            return Outcome.UNCHANGED
        if not dry_run and current:
            fields = {field: current.config.get(field) for field in APPLIED_FIELDS}
            message = f"Imported from {self.files.files.path(agent.id).name}"
            self.rows.update(agent.id, fields, message=message, publish=True, by=by)
        elif not dry_run:
            self.rows.unpublish(agent.id, by=by)
        return Outcome.PUBLISHED if current else Outcome.UNPUBLISHED

    def _published(self, agent: CodeAgent) -> Snapshot | None:
        try:
            row = self.rows.find(agent.id)
        except NotFound:
            return None
        return row.active if row.workspace_id == self.code.workspace_id else None


def _unless_refused(transfer: Callable[[CodeAgent], Outcome], agent: CodeAgent) -> Transferred:
    try:
        return Transferred(agent_id=agent.id, outcome=transfer(agent))
    except VersioningError as fault:
        return Transferred(agent_id=agent.id, outcome=Outcome.REFUSED, reason=fault.message)
