"""Panels: parts of the studio's pages that other applications fill, and the data that they receive."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.http import HttpRequest
from django.utils.safestring import SafeString

from studio.kinds import StudioKind
from versioning.domain.access import Caller, Right
from versioning.domain.events import Target
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource


class Slot(StrEnum):
    ACTIONS = "actions"
    """Next to the buttons of the page, outside its form."""
    STATE = "state"
    """In the heading, next to the state of the resource: a chip, which may be a link."""
    FIELD = "field"
    """Below the field that the panel names; on the edit page inside the form, so it must not contain one."""
    TOP = "top"
    """Above everything else, on the pages about a resource."""
    NOTES = "notes"
    """Below the heading of the edit page; renewed with its buttons."""
    ASIDE = "aside"
    """At the side of the edit page, above the preview."""
    VERSION = "version"
    """For the version as a whole: at the side of the edit page, on other pages at the end."""
    BLOCKS = "blocks"
    """On the page for publishing, next to the notice about unpublished changes of prompt blocks."""


@dataclass(frozen=True, kw_only=True)
class VersionOnPage:
    page: str
    """Which page: `version`, `compare` (the later version), `edit`, `publish`, `history` (the newest version)
    or `since`, which renews the buttons of an open edit page; or one of an application."""
    request: HttpRequest
    caller: Caller
    """The caller, who can at least read the version."""
    rights: frozenset[Right]
    """The caller's rights on the resource."""
    kind: StudioKind
    resource: VersionedResource
    target: Target
    """The resource, in the form that rows about it use."""
    version: Snapshot
    unpublished_blocks: Sequence[str] = ()
    """The ids of the prompt blocks whose changes the page reports as unpublished."""
    fields: Collection[str] = ()
    """The names of the fields with a slot on the page: a panel below another field is not shown."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Words in a text of a version to which an object, such as a comment, refers."""

    path: str
    """The text: `content`, `instructions` or `instructions.2.content`."""
    words: str
    """The words as in the text, apart from white space."""
    line: int | None
    """The line of the text in which they begin, from 1; None if they are anywhere in it."""
    start: int
    """Their offset in the text in UTF-16 units, as scripts count."""
    by: str
    """The author of the remark about them."""
    says: str
    """The remark, in a sentence or two."""
    address: str
    """The address of the remark: on the same page (`#…`) or on another."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    slot: Slot
    html: SafeString
    field: str = ""
    """The field, such as `instructions`, below which the panel is shown."""
    marks: Sequence[Mark] = ()
    """The words in the field to which it refers, which the edit page marks in the text itself."""
    stylesheets: Sequence[str] = ()
    """The stylesheets to link, as names of static files."""
    scripts: Sequence[str] = ()
    """The script modules to load, as names of static files."""


@dataclass(frozen=True, kw_only=True)
class SubjectOnPage:
    """A subject other than a version, such as a release, on an application's page, for others' panels."""

    subject: str
    """The type of the subject: `release`."""
    id: str
    is_open: bool
    """Whether it is not published yet."""
    workspace_id: str
    request: HttpRequest
    caller: Caller
    """The caller, who can read the page."""
