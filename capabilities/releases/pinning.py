"""The items of a release: from the caller's form to the exact versions that are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from editor_client.shared import ids

from capabilities.releases.items import collection_of, is_file
from capabilities.releases.models import Release, ReleaseItem
from capabilities.releases.models.releases import MAX_ITEMS, Action
from capabilities.releases.rules import refuse_twice
from versioning.domain.access import Caller
from versioning.domain.errors import Invalid, Issue, Message, NotFound
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.uuids import parse_uuid
from versioning.editor import Editor
from versioning.models import VersionedResource
from versioning.models.querysets import covered_by

Items = Sequence[Mapping[str, Any]]
"""`{"resource": {"kind", "id"}, "action"?, "versionId"?}`, as in JSON."""

_Resources = Mapping[tuple[str, str], VersionedResource]
"""Resources by the slug of their kind and their id."""
_Versions = Mapping[tuple[str, str, UUID], int]
"""The numbers of versions by kind, resource and id."""


def pinned(editor: Editor, release: Release, items: Items, by: Caller) -> list[ReleaseItem]:
    """Return the items to store; an item without a version gets the latest one of its resource.

    Takes two statements for each kind. Raises `Invalid` naming each item that has a problem.
    """
    refuse_too_many(len(items))
    named = [
        ReleaseItem(
            release=release,
            place=place,
            kind=item["resource"]["kind"],
            resource_id=item["resource"]["id"],
            action=item.get("action", Action.PUBLISH),
        )
        for place, item in enumerate(items)
    ]
    refuse_twice(named)
    resources = _resources(editor, release, named, by)
    versions = _versions(editor, resources, items)
    issues: list[Issue] = []
    for item, given in zip(named, items, strict=True):
        resource = resources.get((item.kind, item.resource_id))
        if resource is None:
            kind = KINDS_BY_SLUG[item.kind].singular
            message = Message("is not stored in this workspace ({kind})", kind=kind)
            issues.append(Issue(f"items.{item.place}.resource", message))
        elif is_file(editor, resource):
            message = Message("is an override that is kept as a file, which no release can publish")
            raise Invalid.field(f"items.{item.place}.resource", message, code="code_source")
        else:
            item.identity = resource.uuid
            issues += _pin(item, resource, given.get("versionId"), versions)
    if issues:
        raise Invalid(issues)
    return named


def _resources(editor: Editor, release: Release, items: Sequence[ReleaseItem], by: Caller) -> _Resources:
    """Return the resources of the items, in the workspace of the release and within the limits of a key."""
    found: dict[tuple[str, str], VersionedResource] = {}
    for slug in KINDS_BY_SLUG:
        named = [item.resource_id for item in items if item.kind == slug]
        wanted = [one for one in named if not ids.problem(one)]
        if wanted:
            rows = collection_of(editor, slug).all.filter(covered_by(by), pk__in=wanted)
            rows = rows.filter(workspace_id=release.workspace_id)
            found |= {(slug, row.pk): row for row in rows}
    return found


def _versions(editor: Editor, resources: _Resources, items: Items) -> _Versions:
    """Return the versions that items may pin: those that they name, and the latest of each resource."""
    named = {version_id for item in items if (version_id := _uuid(item.get("versionId"))) is not None}
    found: dict[tuple[str, str, UUID], int] = {}
    for slug in dict.fromkeys(slug for slug, _id in resources):
        latest = {row.latest_version_id for (kind, _id), row in resources.items() if kind == slug}
        rows = collection_of(editor, slug).model.version_model.objects.filter(pk__in=named | latest)
        columns = rows.order_by().values_list("resource_id", "pk", "number")
        found |= {(slug, resource_id, pk): number for resource_id, pk, number in columns}
    return found


def _pin(
    item: ReleaseItem, resource: VersionedResource, version_id: str | None, versions: _Versions
) -> Iterator[Issue]:
    """Set the version of an item; yield its problem, if any."""
    field = f"items.{item.place}.versionId"
    if item.action == Action.UNPUBLISH:
        if version_id is not None:
            yield Issue(field, "must be absent where the action is 'unpublish'")
        return
    wanted = resource.latest_version_id if version_id is None else _uuid(version_id)
    number = None if wanted is None else versions.get((item.kind, item.resource_id, wanted))
    if number is None:
        yield Issue(field, "is not a version of this resource")
        return
    item.version_id, item.version_number = wanted, number


def _uuid(text: str | None) -> UUID | None:
    """Return the UUID of a version; None for any other text."""
    with suppress(NotFound):
        return parse_uuid(text or "")
    return None


def refuse_too_many(number: int) -> None:
    """Raise `Invalid` if there are more items than a release may have."""
    if number > MAX_ITEMS:
        raise Invalid.field("items", Message("must not be more than {limit}", limit=MAX_ITEMS))
