"""Export overrides from the database to files, and import them from files into the database.

Both can be repeated safely: an override that is the same on both sides is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from versioning.domain.access import Caller, Role, Via
from versioning.domain.agents import Registry
from versioning.domain.errors import NotFound, VersioningError
from versioning.domain.overrides import APPLIED_FIELDS, CodeAgent
from versioning.domain.snapshots import Snapshot
from versioning.editor.collection import make_agents
from versioning.editor.gate import Options
from versioning.sources.overrides import OverrideSource, file_content


class ImportOutcome(StrEnum):
    """The outcome for the override of one agent."""

    UNCHANGED = "unchanged"
    WRITTEN = "written"
    REMOVED = "removed"
    PUBLISHED = "published"
    UNPUBLISHED = "unpublished"
    REFUSED = "refused"
    """Nothing was done, for the reason given; a person has to decide."""


@dataclass(frozen=True, kw_only=True)
class OverrideResult:
    """The result for the override of one agent."""

    agent_id: str
    outcome: ImportOutcome
    reason: str = ""


class Refused(VersioningError):
    """The two sides differ, and a person has to decide which one is right."""

    code = "refused"


class ExportImport:
    """Export and import of the overrides of all code-defined agents."""

    def __init__(self, code: Registry, files: OverrideSource) -> None:
        self.code = code
        self.files = files
        self.rows = make_agents(code)

    def export_files(self, *, dry_run: bool = False, force: bool = False) -> Iterator[OverrideResult]:
        """Write the published overrides of the database to files.

        A file with other content is refused unless `force` is set: the content may exist nowhere else.
        """
        write = partial(self._export_one, dry_run=dry_run, force=force)
        return (_unless_refused(write, agent) for agent in self.code.agents.values())

    def import_files(self, *, dry_run: bool = False, **options: Any) -> Iterator[OverrideResult]:
        """Publish the overrides in the files as new versions in the database; unpublish those without a file.

        The previously published versions stay in the history. Write access to a file implies no membership,
        so a file that refers to a prompt block of another workspace is refused. So is one that a check of the
        gate refuses; `options` are the options of these checks (`gate.options`).
        """
        by = Caller(roles={self.code.workspace_id: Role.ADMIN}, via=Via.COMMAND)
        publish = partial(self._import_one, dry_run=dry_run, options=options, by=by)
        return (_unless_refused(publish, agent) for agent in self.code.agents.values())

    def _export_one(self, agent: CodeAgent, *, dry_run: bool, force: bool) -> ImportOutcome:
        published, current = self._find_published(agent), self.files.current(agent)
        stored = self.files.files.read(agent.id)
        published_content = file_content(agent, published.config) if published else None
        if published_content == (stored.content if stored else None):
            return ImportOutcome.UNCHANGED
        alike = current is not None and file_content(agent, current.config) == published_content
        if stored and not alike and not force:
            raise Refused("the file differs from the published version in the database")
        if not dry_run and published:
            self.files.write(agent, published.config)
        elif not dry_run:
            self.files.files.remove(agent.id)
        return ImportOutcome.WRITTEN if published else ImportOutcome.REMOVED

    def _import_one(self, agent: CodeAgent, *, dry_run: bool, options: Options, by: Caller) -> ImportOutcome:
        published, current = self._find_published(agent), self.files.current(agent)
        if current is None and self.files.files.read(agent.id) is not None:
            raise Refused("the file does not contain a valid override; see the log")
        published_content = file_content(agent, published.config) if published else None
        current_content = file_content(agent, current.config) if current else None
        if published_content == current_content:
            return ImportOutcome.UNCHANGED
        if not dry_run and current:
            fields = {field: current.config.get(field) for field in APPLIED_FIELDS}
            message = f"Imported from {self.files.files.path(agent.id).name}"
            self.rows.update(agent.id, fields, message=message, by=by, **{"publish": True, **options})
        elif not dry_run:
            self.rows.unpublish(agent.id, by=by)
        return ImportOutcome.PUBLISHED if current else ImportOutcome.UNPUBLISHED

    def _find_published(self, agent: CodeAgent) -> Snapshot | None:
        try:
            row = self.rows.find(agent.id)
        except NotFound:
            return None
        return row.active if row.workspace_id == self.code.workspace_id else None


def _unless_refused(work: Callable[[CodeAgent], ImportOutcome], agent: CodeAgent) -> OverrideResult:
    try:
        return OverrideResult(agent_id=agent.id, outcome=work(agent))
    except VersioningError as error:
        return OverrideResult(agent_id=agent.id, outcome=ImportOutcome.REFUSED, reason=error.message)
