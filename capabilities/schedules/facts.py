"""The stored facts about schedules: their subjects and authors, for many in a few statements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import get_user_model

from capabilities.releases.items import ItemNow, now, rows_of, versions_of
from capabilities.releases.models import Release, ReleaseItem
from capabilities.releases.models.releases import State as ReleaseState
from capabilities.releases.rules import in_order
from capabilities.schedules.models import Action, Schedule
from capabilities.schedules.refusals import Refusal, key_unusable, no_right
from versioning.domain.access import APPLICATION, Caller, Role, Via
from versioning.domain.errors import Forbidden, NotFound
from versioning.domain.events import Target
from versioning.domain.kinds import KINDS, KINDS_BY_SLUG, ResourceKind
from versioning.domain.snapshots import Snapshot
from versioning.editor import Editor
from versioning.models import ApiKey, Membership, VersionedResource, caller_of_author
from versioning.models.workspaces import caller_with
from versioning.serving.grants import target_of

_BY_ITSELF: Final = replace(APPLICATION, via=Via.SCHEDULE)
"""The caller of schedules made by the application itself."""


def person(schedule: Schedule) -> Caller:
    """Return the author of a schedule, with current rights, within the limits of the key that made it.

    Raises `Forbidden` if the account is gone, or the key cannot be used any more.
    """
    if not schedule.author_name:
        return _BY_ITSELF
    author = caller_of_author(schedule.author, schedule.author_name, Via.SCHEDULE)
    if schedule.key_prefix:
        key = ApiKey.objects.filter(prefix=schedule.key_prefix).select_related("owner").first()
        if key is None or not key.usable:
            raise Forbidden(key_unusable(schedule.key_prefix))
        return key.caller(Via.SCHEDULE)
    return author


def people(schedules: Sequence[Schedule]) -> Mapping[UUID, Caller | Refusal]:
    """Return the authors of schedules by id, like `person`, or why there is none. Takes three statements.

    A key takes one more where keys need sign-ins of their owners.
    """
    authors = {one.author_id for one in schedules if one.author_name}
    users = get_user_model()._default_manager.in_bulk(authors - {None})
    roles: defaultdict[Any, dict[str, Role]] = defaultdict(dict)
    if users:
        rows = Membership.objects.filter(user__in=users).order_by()
        for user_id, workspace_id, role in rows.values_list("user_id", "workspace_id", "role"):
            roles[user_id][workspace_id] = Role(role)
    callers = {
        pk: caller_with(
            roles[pk],
            is_superuser=user.is_superuser,
            username=user.get_username(),
            user_id=pk,
            via=Via.SCHEDULE,
        )
        for pk, user in users.items()
        if user.is_active
    }
    prefixes = {one.key_prefix for one in schedules if one.key_prefix}
    found = ApiKey.objects.filter(prefix__in=prefixes, owner__in=callers).select_related("owner")
    keys = {key.prefix: key.caller(Via.SCHEDULE, owner=callers[key.owner_id]) for key in found if key.usable}

    def caller_of(schedule: Schedule) -> Caller | Refusal:
        if not schedule.author_name:
            return _BY_ITSELF
        owner = callers.get(schedule.author_id)
        if owner is None:
            return no_right(schedule.author_name)
        if schedule.key_prefix:
            return keys.get(schedule.key_prefix, key_unusable(schedule.key_prefix))
        return owner

    return {one.pk: caller_of(one) for one in schedules}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The stored state of what schedules are about."""

    people: Mapping[UUID, Caller | Refusal]
    """The authors, by the ids of the schedules, or why there is none any more."""
    releases: Mapping[UUID, Release]
    items: Mapping[UUID, Sequence[ItemNow]]
    """The items of the releases, in publishing order."""
    resources: Mapping[str, VersionedResource]
    """By their references in `Schedule.expects`."""
    versions: Mapping[str, Any]
    """Versions in rows, by their ids."""
    live: Mapping[str, tuple[Target, str | None]]
    """The resources, including those in releases, each with its live version."""

    def references(self, schedule: Schedule) -> Sequence[str]:
        """Return the references of the resources that a schedule moves."""
        if schedule.release_id is None:
            return [schedule.reference]
        return [f"{one.kind}/{one.resource_id}" for one in self.items[schedule.release_id]]

    def resource(self, schedule: Schedule) -> VersionedResource:
        """Return the resource of a schedule about one; it must exist."""
        return self.resources[schedule.reference]

    def is_gone(self, schedule: Schedule) -> bool:
        """Return whether the subject of a schedule was deleted, or its release was published otherwise."""
        if schedule.release_id is not None:
            release = self.releases.get(schedule.release_id)
            return release is None or release.state != ReleaseState.DRAFT
        found = self.live.get(schedule.reference)
        if found is None or found[0].identity != schedule.identity:
            return True
        return schedule.action == Action.PUBLISH and self.version(schedule, schedule.version_id) is None

    def version(self, schedule: Schedule, version_id: str | None) -> Snapshot | None:
        """Return a version of a schedule's resource; None if it does not exist."""
        resource = self.resource(schedule)
        unstored = resource.pointers.find(version_id) if resource.pointers and version_id else None
        row = self.versions.get(version_id or "")
        found: Snapshot | None = row if row is not None and row.resource_id == resource.pk else None
        return unstored or found


def facts_of(editor: Editor, schedules: Sequence[Schedule]) -> Facts:
    """Return the facts about schedules; the number of statements is constant."""
    releases = Release.objects.in_bulk(
        {schedule.release_id for schedule in schedules if schedule.release_id is not None}
    )
    items: defaultdict[UUID, list[ItemNow]] = defaultdict(list)
    rows = ReleaseItem.objects.filter(release__in=releases).select_related("release")
    for item in in_order(now(editor, rows, with_texts=True)) if releases else ():
        items[item.item.release_id].append(item)
    own = [schedule for schedule in schedules if schedule.release_id is None]
    resources: dict[str, VersionedResource] = {}
    versions: dict[str, Any] = {}
    for kind in KINDS:
        of_kind = [one for one in own if one.kind == kind.slug]
        if of_kind:
            resources |= _resources(editor, kind, {one.resource_id for one in of_kind})
            versions |= _versions(editor, kind, of_kind)
    live = {
        name: (target_of(resource, editor.code), resource.active_id) for name, resource in resources.items()
    }
    for one in (one for of_one in items.values() for one in of_one if one.resource is not None):
        about = target_of(one.resource, editor.code)
        live.setdefault(f"{one.kind}/{one.resource_id}", (about, one.resource.active_id))
    return Facts(
        people=people(schedules),
        releases=releases,
        items=items,
        resources=resources,
        versions=versions,
        live=live,
    )


def _resources(editor: Editor, kind: ResourceKind, ids: set[str]) -> dict[str, VersionedResource]:
    """Return resources by their names in `Schedule.expects`; each override file takes a statement."""
    collection: Any = editor.collection(kind)
    found = rows_of(collection, ids)
    if editor.source == "code" and kind.in_code:
        for resource_id in ids & editor.code.agents.keys():
            found.pop(resource_id, None)
            with suppress(NotFound):
                found[resource_id] = collection.backend.find(resource_id, APPLICATION)
    return {f"{kind.slug}/{pk}": value for pk, value in found.items()}


def _versions(editor: Editor, kind: ResourceKind, schedules: Sequence[Schedule]) -> dict[str, Any]:
    """Return the versions in rows that schedules publish, or expect to be live."""
    named = {schedule.version_id for schedule in schedules} | {
        schedule.expected_version_id or "" for schedule in schedules
    }
    keys = []
    for version_id in named:
        with suppress(ValueError):  # versions in Git have ids of another kind, and no rows
            keys.append(UUID(version_id))
    collection = editor.collection(KINDS_BY_SLUG[kind.slug])
    return {str(pk): version for pk, version in versions_of(collection, keys, with_texts=True).items()}
