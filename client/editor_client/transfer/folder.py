"""A folder of configurations: one canonical JSON file for each agent and prompt block.

    DIR/agents/<encoded id>.json
    DIR/prompt-blocks/<encoded id>.json
    DIR/.editor.json        the server's state when it last agreed with a file

The last file distinguishes a local edit from one on the server. Without it, as in a fresh checkout, the files
are assumed to be current.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote
from uuid import uuid4

from editor_client.errors import NotFound
from editor_client.manage.records import Record, Status
from editor_client.manage.stored import KINDS, Stored
from editor_client.shared import canonical, ids
from editor_client.shared.errors import Invalid
from editor_client.sync import Client

NOT_CONFIGURATION = frozenset({"id", "workspaceId", "visibility", "metadata", "autoPublish", "changeMessage"})
"""Arguments of a save besides the configuration, which a file must not contain."""

STATE = ".editor.json"
Config = dict[str, Any]


class FolderError(Exception):
    """A file does not belong in the folder; the message names it."""


class Place(NamedTuple):
    """The resource of a file."""

    kind: str
    id: str

    @property
    def name(self) -> str:
        """The path of the file in the folder."""
        return f"{self.kind}/{ids.encode(self.id)}.json"


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """The last state in which file and server were equal: the content, and the server's pointers."""

    digest: str
    active: str | None
    latest: str | None


@dataclass
class Folder:
    """The files, and the agreements with one server."""

    root: Path
    server: str
    agreed: dict[Place, Agreement] = field(default_factory=dict)

    @classmethod
    def open(cls, root: Path, server: str) -> Folder:
        """Return the folder, which need not exist; agreements with another server are ignored."""
        folder = cls(root, server)
        try:
            state = json.loads((root / STATE).read_text(encoding="utf-8-sig"))
            if state["server"] == server:
                folder.agreed = {_place(name): Agreement(**file) for name, file in state["files"].items()}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise FolderError(f"{root / STATE} cannot be read ({error}); remove it to start over") from None
        return folder

    def places(self) -> Iterator[Place]:
        """Yield the resources that have files; raises `FolderError` for a name that is not an encoded id."""
        if not self.root.is_dir():
            raise FolderError(f"{self.root} is not a folder")
        for kind in KINDS:
            for path in sorted((self.root / kind).glob("*.json")):
                yield _place(f"{kind}/{path.name}")

    def read(self, place: Place) -> Config:
        """Return the configuration in a file, without fields that are null.

        Raises `FolderError` for a file without a configuration, `FileNotFoundError` if there is no file.
        """
        path = self.root / place.name
        try:
            config = canonical.parse_file(path.read_bytes(), field="it")
        except Invalid as error:
            raise FolderError(f"{path}: {error.message}") from None
        if not isinstance(config, dict):
            raise FolderError(f"{path}: it is not a JSON object")
        foreign = NOT_CONFIGURATION.intersection(config)
        if foreign:
            raise FolderError(f"{path}: {min(foreign)!r} is not part of a configuration")
        return {name: value for name, value in config.items() if value is not None}

    def write(self, place: Place, content: str) -> None:
        """Write a file atomically."""
        _write(self.root / place.name, content)

    def remove(self, place: Place) -> None:
        """Remove a file."""
        (self.root / place.name).unlink()

    def is_edited(self, place: Place, config: Config) -> bool:
        """Return whether the file has changed since the last agreement, or there never was one."""
        agreement = self.agreed.get(place)
        return agreement is None or agreement.digest != canonical.digest(config)

    def save(self) -> None:
        """Save the agreements."""
        files = {place.name: vars(agreement) for place, agreement in self.agreed.items()}
        _write(self.root / STATE, canonical.file_text({"server": self.server, "files": files}))


def _place(name: str) -> Place:
    kind, _, file = name.partition("/")
    resource_id = unquote(file.removesuffix(".json"))
    place = Place(kind, resource_id)
    if kind not in KINDS or ids.problem(resource_id) is not None or place.name != name:
        hint = "" if ids.problem(resource_id) else f"; the file of {resource_id!r} is {place.name}"
        raise FolderError(f"{name} is not the name of an id, percent-encoded{hint}")
    return place


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{uuid4().hex}.tmp")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


class FileState(Enum):
    """The state of a file compared with the server."""

    SAME = "same"
    DRAFT = "the latest draft"
    """The file is the newest version, and another one, or none, is published."""
    EDITED = "edited here"
    NEW = "new here"
    BEHIND = "changed on the server"
    CONFLICT = "changed here and on the server"
    ONLY_THERE = "only on the server"
    GONE = "gone from the server"


@dataclass(frozen=True, kw_only=True)
class Remote:
    """The state of a resource on the server."""

    record: Record
    published: Config | None
    draft: Config | None
    """The latest version, if it is not the published one and the key may read it."""

    @property
    def pointers(self) -> tuple[str | None, str | None]:
        """The ids of the published and the latest version."""
        return self.record.active_version_id, self.record.latest_version_id

    @property
    def newest(self) -> Config:
        """The version from which an edit starts."""
        return self.draft or self.published or {}

    def has_other_draft(self, agreement: Agreement | None) -> bool:
        """Return whether there is a draft that the file never contained."""
        if self.draft is None or _same(self.draft, self.published):
            return False
        return agreement is None or agreement.digest != canonical.digest(self.draft)

    def agreement(self, config: Config) -> Agreement:
        """Return the agreement that this content of the file equals the server's current state."""
        active, latest = self.pointers
        return Agreement(digest=canonical.digest(config), active=active, latest=latest)


def handle(client: Client, place: Place) -> Stored[Client, Any, Any, Any, Any]:
    """Return the resource of a file."""
    return Stored(client, KINDS[place.kind], place.id)


def fetch(client: Client, place: Place) -> Remote | None:
    """Return the state of a resource; None if there is none that the key may read."""
    resource = handle(client, place)
    try:
        record: Record = resource.details()
    except NotFound:
        return None

    def export(status: Status) -> Config:
        return dict(resource.export(status=status).config)

    active, latest = record.active_version_id, record.latest_version_id
    return Remote(
        record=record,
        published=export("published") if active else None,
        draft=export("draft") if latest and latest != active else None,
    )


def compare(folder: Folder, place: Place, local: Config | None, remote: Remote | None) -> FileState:
    """Return the state of the file compared with the server."""
    if local is None:
        return FileState.ONLY_THERE
    agreement = folder.agreed.get(place)
    edited = folder.is_edited(place, local)
    if remote is None:
        untouched = FileState.CONFLICT if edited else FileState.GONE
        return FileState.NEW if agreement is None else untouched
    if _same(local, remote.published):
        return FileState.SAME
    if _same(local, remote.draft):
        return FileState.DRAFT
    moved = agreement is not None and (agreement.active, agreement.latest) != remote.pointers
    if edited:
        return FileState.CONFLICT if moved else FileState.EDITED
    return FileState.BEHIND


def changes(local: Config, remote: Config) -> Config:
    """Return the edit that turns the server's configuration into that of the file; None clears a field."""
    edit: Config = {name: None for name in remote if name not in local}
    edit.update(
        (name, value)
        for name, value in local.items()
        if name not in remote or not canonical.same(value, remote[name])
    )
    return edit


def difference(place: Place, local: Config | None, remote: Config | None) -> Iterator[str]:
    """Yield the lines of a unified diff from the server's text to that of the file."""
    before, after = (
        [] if config is None else canonical.file_text(config).splitlines() for config in (remote, local)
    )
    yield from difflib.unified_diff(
        before, after, f"server/{place.name}", f"folder/{place.name}", lineterm=""
    )


def _same(local: Config, remote: Config | None) -> bool:
    return remote is not None and canonical.same(local, remote)
