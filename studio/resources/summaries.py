"""A resource in one line, for lists, the home page and the head of every page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from studio.limits import shortened
from versioning.editor.catalog import Entry, Origin, ResourceState


@dataclass(frozen=True, kw_only=True)
class StateWords:
    """A state in the words of the studio."""

    word: Promise
    meaning: Promise
    chip: str
    """The class of its chip: `chip-published`."""


STATES: Final[Mapping[ResourceState, StateWords]] = {
    ResourceState.PUBLISHED: StateWords(
        word=_("Published"), meaning=_("Live, without unpublished changes"), chip="chip-published"
    ),
    ResourceState.CHANGED: StateWords(
        word=_("Unpublished changes"),
        meaning=_("Live, with newer edits that are not published"),
        chip="chip-changed",
    ),
    ResourceState.NEVER_PUBLISHED: StateWords(
        word=_("Never published"), meaning=_("Nothing was ever live"), chip="chip-draft"
    ),
    ResourceState.UNPUBLISHED: StateWords(
        word=_("Unpublished"), meaning=_("It was live, and no longer is"), chip="chip-unpublished"
    ),
}
ORIGINS: Final[Mapping[Origin, Promise]] = {
    Origin.CODE: _("code"),
    Origin.OVERRIDE: _("code + override"),
    Origin.GIT: _("Git"),
}
"""The origin of the live version, unless it is the usual one: saved here."""
VISIBILITIES: Final[Mapping[str, Promise]] = {"private": _("private"), "public": _("public")}


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What a page says about a resource in one line."""

    resource_id: str
    name: str
    state: StateWords
    origin: Promise | None
    """The origin of the live version, unless it was saved here."""
    is_as_code_says: bool
    """Whether an agent is live as defined in code, without an override."""
    workspace_id: str
    visibility: str | None
    """`private` or `public`; None for a kind without visibility. `visibility_word` is for people."""

    @classmethod
    def of(cls, entry: Entry) -> Summary:
        """Return a catalog entry in the words of a page."""
        return cls(
            resource_id=entry.id,
            name=shortened(entry.name),
            state=STATES[entry.state],
            origin=ORIGINS.get(entry.origin),
            is_as_code_says=entry.origin is Origin.CODE,
            workspace_id=entry.workspace_id,
            visibility=entry.visibility,
        )

    @property
    def visibility_word(self) -> Promise | None:
        """Who may use the published version, in the language of the page."""
        return VISIBILITIES.get(self.visibility or "")

    @property
    def folder(self) -> str:
        """The part of the id up to and including the last `/`; empty without one."""
        return self.resource_id[: self.resource_id.rfind("/") + 1]

    @property
    def leaf(self) -> str:
        """The id without its folder."""
        return self.resource_id[len(self.folder) :]
