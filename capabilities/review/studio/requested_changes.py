"""The words with which reviewers requested changes, on the edit page: below the field that they are about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.template.loader import render_to_string

from capabilities.review.models import VerdictValue
from capabilities.review.reviews.records import ReviewRecord, VerdictRecord
from capabilities.review.studio.links import of_review
from capabilities.review.studio.presenters import people_of
from studio.panels import Panel, Slot, VersionOnPage
from versioning.domain.errors import NotFound
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource
from versioning.serving.resolution import find_version


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request for changes as the edit page shows it."""

    verdict: VerdictRecord
    version: Snapshot | None
    """The version that it is about; None if it was deleted."""


def panels(shown: VersionOnPage, record: ReviewRecord) -> Iterator[Panel]:
    """Yield the latest requests for changes in the open review, unless they have no effect.

    A request stands below the field that the version under review changed. If it changed several, the
    request stands at the side of the page.
    """
    found: dict[str, list[Request]] = {}
    for person in people_of(record, shown.caller):
        verdict = person.verdict
        if verdict is None or verdict.verdict != VerdictValue.REQUEST_CHANGES or verdict.ignored is not None:
            continue
        version = _find(shown.resource, verdict.version_id)
        field = _only_changed_field(shown, record, version)
        found.setdefault(field, []).append(Request(verdict=verdict, version=version))
    address = of_review(record.resource_kind, record.resource_id, record.id)
    for field, requests in found.items():
        html = render_to_string("review/requested.html", {"requests": requests, "address": address})
        slot = Slot.FIELD if field else Slot.ASIDE
        yield Panel(slot=slot, field=field, html=html, stylesheets=["review/review.css"])


def _find(resource: VersionedResource, version_id: str | None) -> Snapshot | None:
    if not version_id:
        return None
    try:
        found: Snapshot = find_version(resource, version_id)
    except NotFound:
        return None
    return found


def _only_changed_field(shown: VersionOnPage, record: ReviewRecord, version: Snapshot | None) -> str:
    """Return the field that a version changed; empty if that is none or several, or not on the page."""
    before = _find(shown.resource, record.base_version_id)
    if version is None or before is None:
        return ""
    changed = list(shown.kind.schema.changed(before.config, version.config))
    return changed[0] if len(changed) == 1 and changed[0] in shown.fields else ""
