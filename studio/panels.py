"""Panels: parts of the studio's pages that other applications fill, and what they are told of the page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.http import HttpRequest
from django.utils.safestring import SafeString

from studio.kinds import StudioKind
from versioning.domain.access import Caller
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource


class Slot(StrEnum):
    """Where on a page about a version a panel stands."""

    ACTIONS = "actions"
    """Beside the buttons of the page, outside of its form."""
    FIELD = "field"
    """Below the field that the panel names; on the edit page within the form, so without one of its own."""
    TOP = "top"
    """Above everything else, on the pages about a resource."""
    VERSION = "version"
    """With what is about the version as a whole: at the side of the edit page, elsewhere at the end."""
    BLOCKS = "blocks"
    """On the page for publishing, where it says that prompt blocks have changes that are not published."""


@dataclass(frozen=True, kw_only=True)
class VersionOnPage:
    """A version that a page is about, for the panels on the page."""

    page: str
    """Which page: `version`, `compare` (the later version), `edit`, `publish`, `history` (the newest version)
    or `since`, which renews the buttons of an open edit page; or one of an application."""
    request: HttpRequest
    caller: Caller
    """Who may at least read the version."""
    kind: StudioKind
    resource: VersionedResource
    version: Snapshot
    unpublished_blocks: Sequence[str] = ()
    """The ids of the prompt blocks of which the page says that their changes are not published."""
    fields: Collection[str] = ()
    """The names of the fields that the page has a slot for: a panel below another one is not seen."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A part of a page about a version."""

    slot: Slot
    html: SafeString
    field: str = ""
    """The name of the field, such as `instructions`, of a panel that stands below one."""
    stylesheets: Sequence[str] = ()
    """What the page links, as names of static files."""
    scripts: Sequence[str] = ()
    """The modules that the page loads, as names of static files."""


@dataclass(frozen=True, kw_only=True)
class SubjectOnPage:
    """What a page of an application is about that is no version, such as a release, for others' panels."""

    subject: str
    """What it is: `release`."""
    id: str
    is_open: bool
    """Whether it is still to be published."""
    workspace_id: str
    request: HttpRequest
    caller: Caller
    """Who may read the page."""
