"""`pull`, `push` and `diff` for a folder, file by file.

Changes are not overwritten: neither a locally edited file, nor versions saved on the server since the file
was pulled. Such a file is a conflict, unless `force` is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from editor_client.errors import EditorError, Unauthorized, Unreachable
from editor_client.manage.records import Record
from editor_client.manage.stored import KINDS, creation, edit
from editor_client.methods import Pages
from editor_client.shared import canonical
from editor_client.sync import Client
from editor_client.transfer.folder import (
    Agreement,
    Config,
    FileState,
    Folder,
    FolderError,
    Place,
    Remote,
    changes,
    compare,
    difference,
    fetch,
    handle,
)

LEFT = {FileState.BEHIND, FileState.GONE}
"""Not edited locally, so there is nothing to push: the change is on the server."""


@dataclass
class Report:
    """The results and problems, in lines for people."""

    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def say(self, action: str, place: Place, reason: str = "") -> None:
        """Add a line about a file."""
        self.lines.append(f"{action}: {place.name}" + (f" ({reason})" if reason else ""))

    def complain(self, place: Place, reason: object) -> None:
        """Add a problem."""
        self.problems.append(f"{place.name}: {reason}")


@dataclass(kw_only=True)
class PullPush:
    """A folder, a server, and whether conflicts are overwritten."""

    client: Client
    folder: Folder
    workspace: str | None = None
    force: bool = False
    report: Report = field(default_factory=Report)

    def pull(self) -> None:
        """Write the published resources to files; remove the files of those no longer published."""
        published = self._list_published()
        with self._saving_agreements():
            self._each(published, self._pull_one)
            self._each(sorted(set(self.folder.agreed) - set(published)), self._drop_one)

    def push(self, *, message: str | None = None, publish: bool = False) -> None:
        """Save the files that differ, as drafts or, if requested, published; nothing is deleted.

        Raises `FolderError` before anything is saved if a file has no configuration.
        """
        files = self._files()
        with self._saving_agreements():
            self._each(files, lambda place: self._push_one(place, files[place], message, publish=publish))

    def diff(self) -> bool:
        """Show the differences between files and server, without changes; return whether there are any."""
        files = self._files()
        differ = [self._diff_one(place, local) for place, local in files.items()]
        absent = [place for place in self._list_published() if place not in files]
        for place in absent:
            self.report.say(FileState.ONLY_THERE.value, place)
        return any(differ) or bool(absent)

    # One file

    def _pull_one(self, place: Place) -> None:
        remote = fetch(self.client, place)
        if remote is None or remote.published is None:
            return  # it was published when the list was made
        local = self._here(place)
        state = compare(self.folder, place, local, remote)
        is_mine = state in {FileState.EDITED, FileState.CONFLICT, FileState.DRAFT}
        if is_mine and not self.force:
            if state is not FileState.DRAFT and (
                state is FileState.CONFLICT or place not in self.folder.agreed
            ):
                self.report.complain(place, "changed here and on the server; --force takes the server's")
            else:
                self.report.say("kept", place, state.value)
            return
        if state is not FileState.SAME:
            self.folder.write(place, canonical.file_text(remote.published))
            self.report.say("new" if local is None else "updated", place)
        self.folder.agreed[place] = remote.agreement(remote.published)

    def _drop_one(self, place: Place) -> None:
        local, remote = self._here(place), fetch(self.client, place)
        if remote is not None and remote.published is not None:
            return  # of another workspace, or published since the list was made
        if local is not None:
            state = compare(self.folder, place, local, remote)
            if state not in LEFT:
                self.report.say("kept", place, state.value)
                return
            self.folder.remove(place)
            self.report.say("removed", place, "no longer published")
        del self.folder.agreed[place]

    def _push_one(self, place: Place, local: Config, message: str | None, *, publish: bool) -> None:
        remote = fetch(self.client, place)
        state = compare(self.folder, place, local, remote)
        if state is FileState.CONFLICT and not self.force:
            server_state = "gone from the server" if remote is None else state.value
            self.report.complain(place, f"edited here, {server_state}; --force saves it anyway")
        elif state in LEFT and not self.force:
            self.report.say("left", place, state.value)
        elif remote is None:
            about = {"workspaceId": self.workspace, "changeMessage": message}
            members = {name: value for name, value in about.items() if value is not None}
            fields = {**local, **members, "autoPublish": publish, "id": place.id}
            record: Record = self.client.perform(creation(KINDS[place.kind], fields))
            self._agree("created", place, local, record, publish=publish)
        elif state is FileState.SAME or (state is FileState.DRAFT and not publish):
            self.folder.agreed[place] = remote.agreement(local)
        else:
            record = self._save(place, local, remote, message, publish=publish)
            self._agree("saved", place, local, record, publish=publish)

    def _diff_one(self, place: Place, local: Config) -> bool:
        remote = fetch(self.client, place)
        state = compare(self.folder, place, local, remote)
        if state is FileState.SAME:
            return False
        self.report.say(state.value, place)
        if state is not FileState.DRAFT:
            self.report.lines += difference(place, local, remote.newest if remote else None)
        return state is not FileState.DRAFT

    # Helpers

    def _files(self) -> dict[Place, Config]:
        return {place: self.folder.read(place) for place in self.folder.places()}

    @contextmanager
    def _saving_agreements(self) -> Iterator[None]:
        """Save the agreements, even if the work was interrupted."""
        try:
            yield
        finally:
            self.folder.save()

    def _each(self, places: Iterable[Place], work: Callable[[Place], None]) -> None:
        """Do the work for each file; an error with one does not prevent the others."""
        for place in places:
            try:
                work(place)
            except (Unauthorized, Unreachable):
                raise
            except (EditorError, FolderError) as error:
                self.report.complain(place, error)

    def _list_published(self) -> list[Place]:
        filters = {"status": "published", "per_page": 1000}
        if self.workspace is not None:
            filters["workspace_id"] = self.workspace
        published = []
        for segment, kind in KINDS.items():
            records = self.client.iterate(Pages.of(f"/stored/{segment}", kind.page, filters))
            published += [Place(segment, record_id) for record_id in sorted(record.id for record in records)]
        return published

    def _here(self, place: Place) -> Config | None:
        try:
            return self.folder.read(place)
        except FileNotFoundError:
            return None

    def _save(
        self, place: Place, local: Config, remote: Remote, message: str | None, *, publish: bool
    ) -> Record:
        fields = {**changes(local, remote.newest), "autoPublish": publish}
        if message is not None:
            fields["changeMessage"] = message
        if remote.has_other_draft(self.folder.agreed.get(place)):
            self.report.say("replaced", place, "the draft of others stays in the history")
        base = None if self.force else remote.record
        saved: Record = self.client.perform(edit(handle(self.client, place), fields, base))
        return saved

    def _agree(self, action: str, place: Place, local: Config, record: Record, *, publish: bool) -> None:
        self.folder.agreed[place] = Agreement(
            digest=canonical.digest(local),
            active=record.active_version_id,
            latest=record.latest_version_id,
        )
        self.report.say(action, place, "published" if publish else "a draft")
        self.report.lines += [f"  {notice.message}" for notice in record.warnings]
