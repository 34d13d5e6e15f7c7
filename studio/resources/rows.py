"""Resources in a line: rows of lists, heads of pages, the prompt blocks that an agent refers to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from studio.kinds import KINDS_BY_SLUG, PROMPT_BLOCK, StudioKind
from studio.limits import shorten
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.config import Config
from versioning.domain.errors import Invalid, Message
from versioning.domain.kinds import ResourceKind
from versioning.editor import UsedBlock
from versioning.editor.bulk import MAX_CHOSEN, ChosenVersion
from versioning.editor.catalog import Entry, Origin, Overview, ResourceState

FIELD: Final = "chosen"
"""The checkbox of a list, with the shown version: `agent:team/writer:<version id>`."""


def value_of(kind: ResourceKind, resource_id: str, version_id: str) -> str:
    return f"{kind.slug}:{resource_id}:{version_id}"


def etag_field(kind: ResourceKind, resource_id: str) -> str:
    """Return the name of the field in which a confirmation page sends the entity tag of a resource."""
    return f"tag:{kind.slug}:{resource_id}"


def read_choices(form: QueryDict, field: str = FIELD) -> Sequence[ChosenVersion]:
    """Return the chosen resources in a field, without duplicates.

    Raises `Invalid`, which names the field, for more than `MAX_CHOSEN` resources and for other values.
    """
    values = form.getlist(field)
    if len(values) > MAX_CHOSEN:
        raise Invalid.field(field, Message("must not have more than {limit} items", limit=MAX_CHOSEN))
    choices = {}
    for place, value in enumerate(values):
        slug, _colon, rest = value.partition(":")
        resource_id, _colon, version_id = rest.rpartition(":")
        if slug not in KINDS_BY_SLUG or not resource_id or not version_id:
            raise Invalid.field(f"{field}.{place}", "must be a kind, an id and a version, joined by colons")
        kind = KINDS_BY_SLUG[slug]
        etag = form.get(etag_field(kind, resource_id))
        choices[slug, resource_id] = ChosenVersion(
            kind=kind, id=resource_id, version_id=version_id, etag=etag
        )
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


@dataclass(frozen=True)
class Summary:
    """A catalog entry in words."""

    entry: Entry

    @cached_property
    def name(self) -> str:
        return shorten(self.entry.name)

    @property
    def state(self) -> StateWords:
        return STATES[self.entry.state]

    @property
    def origin(self) -> Promise | None:
        """The origin of the live version, unless it was saved here."""
        return ORIGINS.get(self.entry.origin)

    @property
    def is_as_code_says(self) -> bool:
        """Whether an agent is live as defined in code, without an override."""
        return self.entry.origin is Origin.CODE

    @property
    def visibility_word(self) -> Promise | None:
        return VISIBILITIES.get(self.entry.visibility or "")

    @property
    def folder(self) -> str:
        """The part of the id up to and including the last `/`; empty without one."""
        return self.entry.id[: self.entry.id.rfind("/") + 1]

    @property
    def leaf(self) -> str:
        """The id without its folder."""
        return self.entry.id[len(self.folder) :]


@dataclass(frozen=True, kw_only=True)
class Star:
    """The star of a resource for one person, for the tag `star_button`. The API calls it favorite."""

    address: str
    is_set: bool


def find_stars(kind: StudioKind, resource_ids: Collection[str], caller: Caller) -> dict[str, Star]:
    """Return the stars of resources of one kind, by id, in one query."""
    favorites = kind.collection.favorites_about(resource_ids, by=caller) if resource_ids else {}
    return {
        resource_id: Star(address=kind.address("star", resource_id), is_set=favorite.by_caller)
        for resource_id, favorite in favorites.items()
    }


@dataclass(frozen=True, kw_only=True)
class ResourceRow:
    """A catalog entry in a list."""

    kind: StudioKind
    entry: Entry
    caller: Caller | None = None
    """The person who can choose it, in a list with checkboxes."""
    star: Star | None = None
    notes: Sequence[SafeString] = ()

    @cached_property
    def summary(self) -> Summary:
        return Summary(self.entry)

    @cached_property
    def address(self) -> str:
        return self.kind.address("change", self.entry.id)

    @property
    def live_address(self) -> str:
        """The address of the live version, if it is not the version of the entry."""
        live = self.entry.live_id if self.entry.state is ResourceState.CHANGED else None
        return self.kind.address("version", self.entry.id, live) if live else ""

    @cached_property
    def chosen(self) -> str:
        """The value of its checkbox; empty if the caller may not change the resource."""
        return chosen_value(self.kind, self.entry, self.caller) if self.caller is not None else ""


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
    def of(cls, overview: Overview) -> Columns:
        """Return the columns whose values differ among the readable resources, on any page."""
        return cls(
            visibility=len(overview.visibilities) > 1,
            labels=bool(overview.labels),
            tags=bool(overview.tags),
            workspace=len(overview.workspaces) > 1,
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
