"""Resources in a line: rows of lists, heads of pages, the prompt blocks that an agent refers to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studio.kinds import KINDS_BY_SLUG, PROMPT_BLOCK, StudioKind
from studio.limits import shortened
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.errors import Invalid, Message
from versioning.domain.kinds import ResourceKind
from versioning.domain.snapshots import Snapshot
from versioning.editor import UsedBlock
from versioning.editor.bulk import MAX_CHOSEN, Choice
from versioning.editor.catalog import Entry, Origin, Overview, ResourceState

FIELD: Final = "chosen"
"""The checkbox of a list, with the shown version: `agent:team/writer:<version id>`."""


def value_of(kind: ResourceKind, resource_id: str, version_id: str) -> str:
    return f"{kind.slug}:{resource_id}:{version_id}"


def etag_field(kind: ResourceKind, resource_id: str) -> str:
    """Return the name of the field in which a confirmation page sends the entity tag of a resource."""
    return f"tag:{kind.slug}:{resource_id}"


def chosen(given: QueryDict, field: str = FIELD) -> Sequence[Choice]:
    """Return the chosen resources in a field, without duplicates.

    Raises `Invalid`, which names the field, for more than `MAX_CHOSEN` resources and for other values.
    """
    values = given.getlist(field)
    if len(values) > MAX_CHOSEN:
        raise Invalid.field(field, Message("must not have more than {limit} items", limit=MAX_CHOSEN))
    choices = {}
    for place, value in enumerate(values):
        slug, _colon, rest = value.partition(":")
        resource_id, _colon, version_id = rest.rpartition(":")
        if slug not in KINDS_BY_SLUG or not resource_id or not version_id:
            raise Invalid.field(f"{field}.{place}", "must be a kind, an id and a version, joined by colons")
        kind = KINDS_BY_SLUG[slug]
        etag = given.get(etag_field(kind, resource_id))
        choices[slug, resource_id] = Choice(kind=kind, id=resource_id, version_id=version_id, etag=etag)
    return list(choices.values())


@dataclass(frozen=True, kw_only=True)
class StateWords:
    word: Promise
    meaning: Promise
    chip: str
    """The class of its chip: `chip-published`."""


STATES: Final[Mapping[ResourceState, StateWords]] = {
    ResourceState.PUBLISHED: StateWords(
        word=gettext_lazy("Published"),
        meaning=gettext_lazy("Live, without unpublished changes"),
        chip="chip-published",
    ),
    ResourceState.CHANGED: StateWords(
        word=gettext_lazy("Unpublished changes"),
        meaning=gettext_lazy("Live, with newer edits that are not published"),
        chip="chip-changed",
    ),
    ResourceState.NEVER_PUBLISHED: StateWords(
        word=gettext_lazy("Never published"), meaning=gettext_lazy("Nothing was ever live"), chip="chip-draft"
    ),
    ResourceState.UNPUBLISHED: StateWords(
        word=gettext_lazy("Unpublished"),
        meaning=gettext_lazy("It was live, and no longer is"),
        chip="chip-unpublished",
    ),
}
ORIGINS: Final[Mapping[Origin, Promise]] = {
    Origin.CODE: gettext_lazy("code"),
    Origin.OVERRIDE: gettext_lazy("code + override"),
    Origin.GIT: gettext_lazy("Git"),
}
"""The origin of the live version, unless it is the usual one: saved here."""
VISIBILITIES: Final[Mapping[str, Promise]] = {
    "private": gettext_lazy("private"),
    "public": gettext_lazy("public"),
}


@dataclass(frozen=True, kw_only=True)
class Summary:
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
        return VISIBILITIES.get(self.visibility or "")

    @property
    def folder(self) -> str:
        """The part of the id up to and including the last `/`; empty without one."""
        return self.resource_id[: self.resource_id.rfind("/") + 1]

    @property
    def leaf(self) -> str:
        """The id without its folder."""
        return self.resource_id[len(self.folder) :]


@dataclass(frozen=True, kw_only=True)
class Star:
    """The star of a resource for one person, for the tag `star_button`. The API calls it favorite."""

    address: str
    is_set: bool


def find_stars(kind: StudioKind, resource_ids: Collection[str], caller: Caller) -> dict[str, Star]:
    """Return the stars of resources of one kind, by id, in one query."""
    found = kind.collection.favorites_about(resource_ids, by=caller) if resource_ids else {}
    return {
        resource_id: Star(address=kind.address("star", resource_id), is_set=favorited.by_caller)
        for resource_id, favorited in found.items()
    }


@dataclass(frozen=True, kw_only=True)
class Row:
    summary: Summary
    address: str
    excerpt: str = ""
    labels: Sequence[str] = ()
    tags: Sequence[str] = ()
    shown: Snapshot | None = None
    """The newest version that the caller may read; None for an agent that only code defines."""
    live_address: str = ""
    """The address of the live version, if it is not the version shown."""
    chosen: str = ""
    """The value of its checkbox; empty if the caller may not change the resource."""
    star: Star | None = None
    notes: Sequence[SafeString] = ()

    @classmethod
    def of(
        cls,
        kind: StudioKind,
        entry: Entry,
        caller: Caller | None = None,
        star: Star | None = None,
        notes: Sequence[SafeString] = (),
    ) -> Row:
        """Return the row of a catalog entry; it can be chosen if the caller may change it."""
        live = entry.live_id if entry.state is ResourceState.CHANGED else None
        return cls(
            summary=Summary.of(entry),
            address=kind.address("change", entry.id),
            excerpt=entry.excerpt,
            labels=entry.labels,
            tags=entry.tags,
            shown=entry.version,
            live_address=kind.address("version", entry.id, live) if live else "",
            chosen=chosen_value(kind, entry, caller) if caller is not None else "",
            star=star,
            notes=notes,
        )


def chosen_value(kind: StudioKind, entry: Entry, caller: Caller) -> str:
    """Return the value of the checkbox of an entry; empty if the caller may not change it."""
    if entry.version is None or not caller.may(Right.SAVE, entry.workspace_id):
        return ""
    return value_of(kind, entry.id, entry.version.version_id)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a list that differ between rows: equal values need no column."""

    visibility: bool
    labels: bool
    tags: bool
    workspace: bool

    @classmethod
    def of(cls, known: Overview) -> Columns:
        """Return the columns whose values differ among the readable resources, on any page."""
        return cls(
            visibility=len(known.visibilities) > 1,
            labels=bool(known.labels),
            tags=bool(known.tags),
            workspace=len(known.workspaces) > 1,
        )


@dataclass(frozen=True, kw_only=True)
class BlockOnPage:
    """A prompt block with a link to it, and the numbers of its live version and draft."""

    id: str
    name: str
    address: str
    live: int | None
    draft: int | None

    @classmethod
    def of(cls, block: UsedBlock) -> BlockOnPage:
        address = PROMPT_BLOCK.address("change", block.id)
        return cls(id=block.id, name=block.name, address=address, live=block.live, draft=block.draft)

    @property
    def numbers(self) -> str:
        """The numbers of its draft and its live version: `draft 3, live 1`."""
        if self.live is None:
            words = _("not live") if self.draft is None else _("draft %(draft)s, not live")
        else:
            words = _("live %(live)s") if self.draft is None else _("draft %(draft)s, live %(live)s")
        return words % {"draft": self.draft, "live": self.live}


def blocks_on_page(config: Config, caller: Caller) -> list[BlockOnPage]:
    return [BlockOnPage.of(block) for block in get_editor().prompt.used_in(config, by=caller)]
