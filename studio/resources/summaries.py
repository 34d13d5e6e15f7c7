"""A resource in one line, for lists, the home page and the head of every page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from studio.limits import shortened
from versioning.editor.catalog import Entry, ResourceState


@dataclass(frozen=True, kw_only=True)
class StateWords:
    """A state in the word that editors know."""

    word: str
    meaning: str


STATES: Final[Mapping[ResourceState, StateWords]] = {
    ResourceState.PUBLISHED: StateWords(word="Published", meaning="What was saved last is live"),
    ResourceState.DRAFT: StateWords(word="Draft", meaning="Nothing is live yet"),
    ResourceState.CHANGED: StateWords(
        word="Changed", meaning="Live, with newer edits that are not published"
    ),
}


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a page says about a resource in one line."""

    resource_id: str
    name: str
    state: StateWords
    origin: str
    """Where what is live comes from: `stored`, `code`, `code + override` or `Git`."""
    workspace_id: str
    visibility: str | None
    """`private` or `public`; None where the kind has none."""

    @classmethod
    def of(cls, entry: Entry) -> Summary:
        """Return an entry of the catalog in the words of a page."""
        return cls(
            resource_id=entry.id,
            name=shortened(entry.name),
            state=STATES[entry.state],
            origin=entry.origin.value,
            workspace_id=entry.workspace_id,
            visibility=entry.visibility,
        )

    @property
    def folder(self) -> str:
        """The part of the id before the last `/`, with it; empty without one."""
        return self.resource_id[: self.resource_id.rfind("/") + 1]

    @property
    def leaf(self) -> str:
        """The id without its folder."""
        return self.resource_id[len(self.folder) :]
