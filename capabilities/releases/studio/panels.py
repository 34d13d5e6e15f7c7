"""Panels on pages about versions: publishing an agent together with its blocks, and adding to a release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlencode

from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from capabilities.releases.items import is_file
from capabilities.releases.studio.links import of_publishing_together
from studio.extensions import Action, ChosenOn
from studio.kinds import PROMPT_BLOCK, StudioKind
from studio.panels import Panel, Slot, VersionOnPage
from studio.resources.rows import FIELD, Summary, etag_field, value_of
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource

EDITING: Final = frozenset({"edit", "since"})
"""The pages with the buttons of the edit page."""


def panels(shown: VersionOnPage) -> Iterator[Panel]:
    """Yield the button that publishes a version together with the changes of its blocks.

    Blocks of other workspaces cannot be in the release; without any others there is no button.
    """
    resource = shown.resource
    if not shown.unpublished_blocks or is_file(get_editor(), resource):
        return
    found = [
        (block, entry)
        for block, entry in PROMPT_BLOCK.catalog(shown.caller).some(shown.unpublished_blocks)
        if block.workspace_id == resource.workspace_id
    ]
    if not found:
        return
    blocks = [block for block, _entry in found]
    chosen = [(shown.kind, resource, shown.version.version_id)]
    chosen += [(PROMPT_BLOCK, block, block.latest_id) for block in blocks]
    context = {
        "address": of_publishing_together(),
        "chosen": [
            (value_of(kind, one.pk, version_id), etag_field(kind, one.pk), one.etag)
            for kind, one, version_id in chosen
        ],
        "count": len(blocks),
        "name": Summary.of(found[0][1]).name,
        "is_short": shown.page in EDITING,
        "is_all": len(blocks) == len(shown.unpublished_blocks),
        "next": shown.request.get_full_path(),
        "csrf_token": get_token(shown.request),
    }
    html = render_to_string("releases/together.html", context)
    yield Panel(slot=Slot.BLOCKS, html=html, stylesheets=["releases/releases.css"])


def actions(
    caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot
) -> Iterator[Action]:
    """Yield the menu entries on a resource and its versions for people who may create releases."""
    if caller.may(Right.SAVE, resource.workspace_id) and not is_file(get_editor(), resource):
        query = urlencode({FIELD: value_of(kind, resource.pk, version.version_id)})
        yield Action(title=_("Add to release…"), address=f"{reverse('studio:add_to_release')}?{query}")


def chosen(caller: Caller, page: ChosenOn) -> Iterator[Action]:
    """Yield the actions on resources chosen in a list."""
    if page is ChosenOn.WAITING and caller.scope(Right.PUBLISH) != frozenset():
        yield Action(title=_("Publish as one release…"), address=of_publishing_together())
    if caller.scope(Right.SAVE) != frozenset():
        yield Action(title=_("Add to release…"), address=reverse("studio:add_to_release"))
