"""Compare a file with the server. `diff` shows the result; `push` and `pull` act on it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from editor_client.errors import NotFound
from editor_client.manage.kinds import KINDS
from editor_client.manage.records import Record, Status
from editor_client.manage.stored import Stored
from editor_client.shared import canonical
from editor_client.sync import Client
from editor_client.transfer.folder import Agreement, Config, Folder, Place


class State(Enum):
    """How a file and the server differ."""

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
    """A resource as it is on the server."""

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
        """The version that an edit starts from."""
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

    def exported(status: Status) -> Config:
        return dict(resource.export(status=status).config)

    active, latest = record.active_version_id, record.latest_version_id
    return Remote(
        record=record,
        published=exported("published") if active else None,
        draft=exported("draft") if latest and latest != active else None,
    )


def compare(folder: Folder, place: Place, here: Config | None, there: Remote | None) -> State:
    """Return how the file and the server differ."""
    if here is None:
        return State.ONLY_THERE
    agreement = folder.agreed.get(place)
    edited = folder.is_edited(place, here)
    if there is None:
        untouched = State.CONFLICT if edited else State.GONE
        return State.NEW if agreement is None else untouched
    if _same(here, there.published):
        return State.SAME
    if _same(here, there.draft):
        return State.DRAFT
    moved = agreement is not None and (agreement.active, agreement.latest) != there.pointers
    if edited:
        return State.CONFLICT if moved else State.EDITED
    return State.BEHIND


def changes(here: Config, there: Config) -> Config:
    """Return the edit that turns the server's configuration into that of the file; None clears a field."""
    edit: Config = {name: None for name in there if name not in here}
    edit.update(
        (name, value)
        for name, value in here.items()
        if name not in there or not canonical.same(value, there[name])
    )
    return edit


def difference(place: Place, here: Config | None, there: Config | None) -> Iterator[str]:
    """Yield the lines of a unified diff from the server's text to that of the file."""
    before, after = (
        [] if config is None else canonical.file_text(config).splitlines() for config in (there, here)
    )
    yield from difflib.unified_diff(
        before, after, f"server/{place.name}", f"folder/{place.name}", lineterm=""
    )


def _same(here: Config, there: Config | None) -> bool:
    return there is not None and canonical.same(here, there)
