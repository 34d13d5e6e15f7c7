"""The verbs of releases: find, create, change, delete, check, publish and revert.

Every function takes the caller as `by`, and raises `NotFound` if the caller may not read the workspace,
`Forbidden` if they may read the workspace but not its drafts, or lack the right.

Members who can save can change a release. But a release that is published automatically, with the rights of
its scheduler, can be changed or deleted only by people who could also publish it. A person who changes its
items becomes responsible for it: otherwise the change would borrow the rights of another person.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

from django.db.models import F, QuerySet
from django.utils import timezone

from capabilities.releases.items import (
    ItemNow,
    Items,
    Versions,
    find_collection,
    lock_items,
    now,
    pin_items,
    planned_versions,
    read_ahead,
    refuse_too_many,
)
from capabilities.releases.models import (
    MAX_TITLE,
    Action,
    Release,
    ReleaseItem,
    ReleaseQuerySet,
    ReleaseState,
)
from capabilities.releases.rules import (
    Problem,
    ReleaseBlocked,
    ReleaseChanged,
    gate_problem,
    in_order,
    item_problem,
)
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.access import Action as KeyAction
from versioning.domain.errors import Conflict, Forbidden, Invalid, Message, NotFound, VersioningError
from versioning.domain.registering import require_instance
from versioning.domain.texts import clip
from versioning.domain.uuids import parse_uuid
from versioning.editor import Editor, gate
from versioning.editor.gate import (
    NO_OPTIONS,
    GateRequest,
    Options,
    PublishRequest,
    TakeDownRequest,
)
from versioning.editor.locking import ANY_ETAG, Change, retry_on_conflict
from versioning.editor.pins import KeptVersions
from versioning.editor.resources import Who, caller_of
from versioning.models import VersionedResource, events
from versioning.models.rules import validate
from versioning.models.statements import update
from versioning.serving import overlays
from versioning.serving.overlays import OverlaidVersion, Overlay, OverlaySelector
from versioning.verbs import Verbs


@dataclass(frozen=True, kw_only=True)
class AutomaticReleases:
    """The functions of an application that publishes releases automatically."""

    among: Callable[[Collection[UUID]], Iterable[UUID | None]]
    """Returns which of the releases with these ids will be published automatically."""
    take_over: Callable[[Release, Caller], object]
    """Makes a release run with the rights of the caller, who has changed its items."""
    published: Callable[[Release, Caller], object]
    """Cancels the scheduled publication of a release that the caller has just published."""


_registered: Final[list[AutomaticReleases]] = []


def register_automatic(automatic: AutomaticReleases) -> None:
    """Register an application's functions, which it declares with `EditorApp.adds`."""
    require_instance(automatic, AutomaticReleases, by="automatic.register()")
    _registered.append(automatic)


def changeable(releases: Collection[Release], by: Caller) -> list[Release]:
    """Return the draft releases among these that the caller may change and delete now."""
    saveable = [release for release in releases if by.may(Right.SAVE, release.workspace_id)]
    publishes = by.may_act(KeyAction.PUBLISH)
    unpublishable = {
        release.pk for release in saveable if not (publishes and by.may(Right.PUBLISH, release.workspace_id))
    }
    refused = _find_automatic(unpublishable)
    return [release for release in saveable if release.pk not in refused]


def automatic_among(releases: Collection[Release]) -> set[UUID | None]:
    """Return the ids of the draft releases among these that will be published automatically."""
    return _find_automatic([release.pk for release in releases if release.state == ReleaseState.DRAFT])


def _find_automatic(ids: Collection[UUID]) -> set[UUID | None]:
    return {pk for automatic in _registered for pk in automatic.among(ids)} if ids else set()


def require_right_to_change(release: Release, by: Caller) -> None:
    """Raise `Forbidden` unless the caller may change and delete a locked release."""
    by.require(Right.SAVE, release.workspace_id)
    if not changeable([release], by):
        by.require_action(KeyAction.PUBLISH)
        raise Forbidden(
            "This release is scheduled to go live as it is: only people who may publish can change or "
            "delete it."
        )


NOT_CHANGED_ANY_MORE: Final = Message("It is published, and a published release cannot be changed.")


def list_readable(
    *, workspace: str | None = None, state: str | None = None, by: Who = APPLICATION
) -> QuerySet[Release]:
    """Return the releases that the caller may read, newest first, of one workspace or in one state."""
    releases = Release.objects.readable_by(caller_of(by)).with_people()
    if workspace is not None:
        releases = releases.filter(workspace=workspace)
    return releases if state is None else releases.filter(state=state)


def find(release_id: str, *, by: Who = APPLICATION, right: Right = Right.READ_DRAFTS) -> Release:
    """Return a release to a caller who has the right in its workspace."""
    return _find(Release.objects.with_people(), release_id, caller_of(by), right)


@retry_on_conflict
def create(
    releases: Verbs,
    workspace: str,
    *,
    title: str,
    description: str = "",
    items: Items = (),
    by: Who = APPLICATION,
) -> Release:
    """Create a release; an item without a version pins the latest one of its resource."""
    caller = caller_of(by)
    releases.editor.workspace.find(workspace, right=Right.SAVE, by=caller)
    release = Release(
        workspace_id=workspace,
        title=_check_title(title),
        description=description,
        created_by_id=caller.user_id,
    )
    validate(release, ["description"])
    new_items = pin_items(releases.editor, release, items, caller)
    with events.transaction():
        store_new(release, new_items, caller)
    return find(str(release.pk), by=caller)


@retry_on_conflict
def change(
    releases: Verbs,
    release_id: str,
    *,
    title: str | None = None,
    description: str | None = None,
    items: Items | None = None,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
) -> Release:
    """Change a draft release; None leaves a value unchanged, `items` replaces all items.

    Raises `ReleaseChanged` if none of the ETags in `expect` matches, `Conflict` once it is published, and
    `Forbidden` without the right to publish if it will be published automatically.
    """
    caller = caller_of(by)
    with _editing(release_id, caller, expect) as (release, changed_fields):
        before = release.title, release.description
        if title is not None:
            release.title = _check_title(title)
        if description is not None:
            release.description = description
            validate(release, ["description"])
        after = release.title, release.description
        names = zip(("title", "description"), before, after, strict=True)
        changed_fields.extend(name for name, old, new in names if old != new)
        if items is not None:
            changed_fields.extend(_replace_items(release, pin_items(releases.editor, release, items, caller)))
    return find(release_id, by=caller)


@retry_on_conflict
def add_items(
    releases: Verbs,
    release_id: str,
    items: Items,
    *,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
) -> Release:
    """Add items to a draft release; each replaces an earlier item with the same resource.

    Other items stay, even if their resource was deleted. Raises as `change` does.
    """
    caller = caller_of(by)
    with _editing(release_id, caller, expect) as (release, changed_fields):
        items_by_resource = {(item.kind, item.resource_id): item for item in release.items.all()}
        new = pin_items(releases.editor, release, items, caller)
        items_by_resource |= {(item.kind, item.resource_id): item for item in new}
        refuse_too_many(len(items_by_resource))
        changed_fields.extend(_replace_items(release, list(items_by_resource.values())))
    return find(release_id, by=caller)


@retry_on_conflict
def remove_item(
    release_id: str,
    kind: str,
    resource_id: str,
    *,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
) -> Release:
    """Remove a resource, even a deleted one, from a draft release; raises as `change` does.

    Raises `NotFound` if it is not in the release.
    """
    caller = caller_of(by)
    with _editing(release_id, caller, expect) as (release, changed_fields):
        removed, _ = release.items.filter(kind=kind, resource_id=resource_id).delete()
        if not removed:
            raise NotFound
        changed_fields.append("items")
    return find(release_id, by=caller)


@retry_on_conflict
def delete(release_id: str, *, by: Who = APPLICATION, expect: Collection[str] | None = None) -> None:
    """Delete a draft release; raises as `change` does."""
    caller = caller_of(by)
    with _editing(release_id, caller, expect) as (release, _changed):
        release.deleted_by = caller
        release.delete()


@contextmanager
def changing(
    release_id: str, right: Right, by: Caller, expect: Collection[str] | None = None
) -> Iterator[Release]:
    """Lock a draft release for a transaction, and save it at the end if its revision changed.

    Raises `NotFound`, `Forbidden` without the right, `ReleaseChanged` and `Conflict` as `change` does.
    """
    with events.transaction():
        release = _find(Release.objects.with_lock(), release_id, by, right)
        if expect is not None and ANY_ETAG not in expect and release_etag(release) not in expect:
            raise ReleaseChanged
        refuse_published(release)
        revision = release.revision
        yield release
        if release.revision != revision:
            release.save()


@contextmanager
def _editing(
    release_id: str, by: Caller, expect: Collection[str] | None
) -> Iterator[tuple[Release, list[str]]]:
    """Lock a release that the caller may change, and record the change of the fields added to the list."""
    with changing(release_id, Right.SAVE, by, expect) as release:
        require_right_to_change(release, by)
        changed_fields: list[str] = []
        yield release, changed_fields
        if changed_fields:
            release.revision += 1
            release.record("changed", by, fields=changed_fields)
        if "items" in changed_fields:
            for automatic in _registered:
                automatic.take_over(release, by)


def _replace_items(release: Release, items: Sequence[ReleaseItem]) -> list[str]:
    """Replace the items of a release, in this order; return the field name if that changes them."""
    content = attrgetter("kind", "resource_id", "identity", "action", "version_id")
    if list(map(content, items)) == list(map(content, release.items.all())):
        return []
    release.items.all().delete()
    for place, item in enumerate(items):
        item.pk, item.place = None, place
    ReleaseItem.objects.bulk_create(items)
    return ["items"]


def release_etag(release: Release) -> str:
    """Return a text that changes with the release itself, for `If-Match`."""
    return f"{release.pk.hex}{release.revision:08x}"


def refuse_published(release: Release) -> None:
    """Raise `Conflict` for a release that is not a draft."""
    if release.state != ReleaseState.DRAFT:
        raise Conflict(NOT_CHANGED_ANY_MORE, code="release_published")


def store_new(release: Release, items: Sequence[ReleaseItem], by: Caller) -> None:
    """Insert a release with its items, within a transaction, and record it."""
    release.save(force_insert=True)
    ReleaseItem.objects.bulk_create(items)
    more = {} if release.reverts_id is None else {"reverts": str(release.reverts_id)}
    release.record("created", by, **more)


def _find(rows: ReleaseQuerySet, release_id: str, by: Caller, right: Right) -> Release:
    release = rows.covered_by(by).filter(pk=parse_uuid(release_id)).first()
    if release is None or not by.may(Right.READ, release.workspace_id):
        raise NotFound
    by.require(Right.READ_DRAFTS, release.workspace_id)
    by.require(right, release.workspace_id)
    return release


def _check_title(text: str) -> str:
    title = text.strip()
    if not title or len(title) > MAX_TITLE:
        raise Invalid.field("title", Message("must have 1 to {limit} characters", limit=MAX_TITLE))
    return title


@dataclass(frozen=True, kw_only=True)
class Reverting:
    """A draft release that reverts another one, and the omitted items."""

    release: Release
    conflicts: Sequence[ItemNow]
    """The items of the other release whose live version has changed since."""


@retry_on_conflict
def revert(releases: Verbs, release_id: str, *, title: str = "", by: Who = APPLICATION) -> Reverting:
    """Create a draft release that restores the versions live before a published one; moves nothing.

    By default, its `title` is that of the other one after “Revert”.

    An item is omitted if another version has gone live since, such as a hotfix, or if the release did not
    change it. Raises `Conflict` for a release that is not published.
    """
    caller, editor = caller_of(by), releases.editor
    with events.transaction():
        published = find(release_id, by=caller, right=Right.SAVE)
        if published.state != ReleaseState.PUBLISHED:
            raise Conflict("Only a release that is published can be reverted.", code="not_published")
        items = now(editor, published.items.select_related("release"))
        conflicts = [item for item in items if not item.is_unchanged]
        moved = [
            item for item in items if item.is_unchanged and item.item.active_before != item.item.version_id
        ]
        release = Release(
            workspace_id=published.workspace_id,
            title=clip(title or f"Revert: {published.title}", MAX_TITLE),
            created_by_id=caller.user_id,
            reverts=published,
        )
        numbers: dict[UUID, int] = {}
        for slug in dict.fromkeys(item.kind for item in moved):
            before = {item.item.active_before for item in moved if item.kind == slug} - {None}
            versions = find_collection(editor, slug).model.version_model.objects.filter(pk__in=before)
            numbers |= dict(versions.order_by().values_list("pk", "number"))  # a deleted one has none
        new_items = [
            ReleaseItem(
                release=release,
                place=place,
                kind=item.kind,
                resource_id=item.resource_id,
                identity=item.item.identity,
                action=Action.UNPUBLISH if item.item.active_before is None else Action.PUBLISH,
                version_id=item.item.active_before,
                version_number=numbers.get(item.item.active_before) if item.item.active_before else None,
            )
            for place, item in enumerate(moved)
        ]
        store_new(release, new_items, caller)
    return Reverting(release=find(str(release.pk), by=caller), conflicts=conflicts)


@dataclass(frozen=True, kw_only=True)
class Check:
    """The result of a check whether a release could be published now."""

    problems: Sequence[Problem]
    """The reasons that prevent publishing."""
    warnings: Sequence[Problem]
    """Warnings, which do not prevent it."""

    @property
    def ok(self) -> bool:
        """Whether it could be published."""
        return not self.problems


def check(releases: Verbs, release_id: str, *, by: Who = APPLICATION) -> Check:
    """Return the problems and warnings if the caller published the release now; stores and locks nothing.

    Blocks that the release itself publishes count as published, and those that it unpublishes do not.
    """
    caller, editor = caller_of(by), releases.editor
    release = find(release_id, by=caller)
    items = in_order(now(editor, release.items.all(), with_texts=True))
    warnings = []
    for item in items:
        if item.newer:
            sentence = "A newer version was saved, which the release does not publish."
            warnings.append(item_problem(item, "newer_version", sentence))
        if item.is_unchanged:
            warnings.append(item_problem(item, "unchanged", "It is already in this state."))
    return Check(problems=find_problems(editor, release, items, caller), warnings=warnings)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """An attempt to publish a release, with its items as they are stored now."""

    release: Release
    items: Sequence[ItemNow]
    by: Caller
    options: Options = field(default_factory=lambda: NO_OPTIONS)
    at: datetime.datetime = field(default_factory=timezone.now)
    """When it is published: now, or the time of its schedule."""

    @cached_property
    def together(self) -> overlays.Versions:
        """The resources that go live or are taken down together."""
        return planned_versions(item.item for item in self.items)


def find_problems(
    editor: Editor,
    release: Release,
    items: Sequence[ItemNow],
    by: Caller,
    *,
    options: Options = NO_OPTIONS,
    at: datetime.datetime | None = None,
) -> list[Problem]:
    """Return the problems that prevent the caller from publishing a release with these items now.

    `at` is the time of publication, by default now.

    Raises `OptionRefused` if the caller may not use an option, and `Invalid` for an invalid value.
    """
    attempt = Attempt(release=release, items=items, by=by, options=options, at=at or timezone.now())
    [problems] = find_problems_of_several(editor, [attempt])
    return problems


def find_problems_of_several(editor: Editor, attempts: Sequence[Attempt]) -> list[list[Problem]]:
    """Return `find_problems` for several releases, in as many statements as `gate.refusals` takes."""
    requests: dict[tuple[int, int], GateRequest] = {}
    for number, attempt in enumerate(attempts):
        for item in attempt.items:
            move: Any = {
                "resource": item.resource,
                "caller": attempt.by,
                "options": attempt.options,
                "together": attempt.together,
                "at": attempt.at,
            }
            if item.resource is None or item.is_file:
                continue
            if item.version is not None:
                requests[number, item.item.pk] = PublishRequest(version=item.version, **move)
            elif item.item.action != Action.PUBLISH and item.active_version_id is not None:
                requests[number, item.item.pk] = TakeDownRequest(**move)
    refusals = dict(zip(requests, gate.refusals(list(requests.values()), editor.code), strict=True))
    problems: list[list[Problem]] = []
    for number, attempt in enumerate(attempts):
        own_problems: list[Problem] = []
        for item in attempt.items:
            own_problems += _item_problems(attempt, item, refusals.get((number, item.item.pk)))
        if not attempt.items:
            own_problems = [Problem(resource=None, code="empty", message=Message("The release is empty."))]
        problems.append(own_problems)
    return problems


def _item_problems(attempt: Attempt, item: ItemNow, refusal: VersioningError | None) -> Iterator[Problem]:
    if item.resource is None:
        yield item_problem(item, "gone", "It was deleted.")
    elif item.is_file:
        sentence = "Its override is stored as a file, which no transaction can move."
        yield item_problem(item, "code_source", sentence)
    elif item.item.action == Action.PUBLISH and item.version is None:
        yield item_problem(item, "gone", "The version to publish was deleted.")
    else:
        if isinstance(refusal, gate.OptionRefused) or (refusal is not None and refusal.code == Invalid.code):
            raise refusal  # the request is at fault, not the release
        if refusal is not None:
            yield gate_problem(item, refusal)
        if refusal is None or item.item.action != Action.PUBLISH:
            try:
                attempt.by.require(Right.PUBLISH, attempt.release.workspace_id)
            except Forbidden as error:
                yield gate_problem(item, error)


_FIXED: Final = frozenset(field.name for field in ReleaseItem._meta.fields if field.name != "active_before")
"""The columns of an item that publishing does not change."""


@retry_on_conflict
def publish(
    releases: Verbs,
    release_id: str,
    *,
    by: Who = APPLICATION,
    expect: Collection[str] | None = None,
    versions: Versions | None = None,
    at: datetime.datetime | None = None,
    **options: Any,
) -> Release:
    """Publish or unpublish every item; readers see either all changes or none.

    Locks the release, then its resources, blocks first and each kind by id, then moves them in that order.
    Everything is recorded at one position of the log, with the end of its schedules. The configurations,
    which take longest, are read before anything is locked, because a transaction on SQLite blocks other
    saves. `versions` are the result of `read_ahead` for a caller who has already begun a transaction. The
    gate decides for the time `at`, by default now. Raises `ReleaseBlocked` if the gate refuses any item,
    `Conflict` if the release is already published, and `ReleaseChanged` as `change` does.
    """
    caller, editor, gate_options = caller_of(by), releases.editor, gate.only_options(options)
    if versions is None:
        versions = read_ahead(editor, find(release_id, by=caller, right=Right.PUBLISH).items.all())
    with changing(release_id, Right.PUBLISH, caller, expect) as release, events.together():
        items = lock_items(editor, release.items.all(), versions)
        problems = find_problems(editor, release, items, caller, options=gate_options, at=at)
        if problems:
            raise ReleaseBlocked(problems)
        release.record("published", caller)
        _publish_items(editor, release, items, caller, options=gate_options, at=at)
        release.state, release.published_at = ReleaseState.PUBLISHED, timezone.now()
        release.published_by_id, release.revision = caller.user_id, release.revision + 1
        if release.reverts is not None:
            still = Release.objects.filter(pk=release.reverts.pk, state=ReleaseState.PUBLISHED)
            if still.update(state=ReleaseState.REVERTED, revision=F("revision") + 1):
                release.reverts.record("reverted", caller, revertedBy=str(release.pk))
        for automatic in _registered:
            automatic.published(release, caller)
    return find(release_id, by=caller)


def _publish_items(
    editor: Editor,
    release: Release,
    items: list[ItemNow],
    by: Caller,
    *,
    options: Options,
    at: datetime.datetime | None,
) -> None:
    together, before = planned_versions(item.item for item in items), _live_now(items)
    about = {"releaseId": str(release.pk)}
    for item in items:
        collection = find_collection(editor, item.kind)
        change = Change(collection, item.resource, by, options)  # the release has locked it
        change.require(Right.PUBLISH, None)
        item.item.active_before = item.resource.active_version_id
        if item.item.action == Action.PUBLISH:
            change.activate(item.version, together=together, before=before, at=at, **about)
        else:
            change.deactivate(together=together, before=before, at=at, **about)
        change.store()
    for item in items:
        update(item.item, _FIXED)


def _live_now(items: list[ItemNow]) -> Mapping[tuple[str, str], OverlaidVersion]:
    """Return the live versions of the items before they change."""
    return {
        (item.kind, item.resource_id): OverlaidVersion(
            identity=item.resource.uuid,
            version_id=None if item.active_version_id is None else str(item.active_version_id),
        )
        for item in items
    }


class Releases(Verbs):
    """The verbs of releases.

        release = editor.releases.create(
            "acme", title="Autumn", items=[{"resource": {"kind": "agent", "id": "writer"}}], by=user
        )
        editor.releases.publish(str(release.pk), by=user)

    `by` is the caller, with their rights; the default is the application.
    """

    list = staticmethod(list_readable)
    find = staticmethod(find)
    create = create
    change = change
    add_items = add_items
    remove_item = staticmethod(remove_item)
    delete = staticmethod(delete)
    check = check
    publish = publish
    revert = revert


def open_release(release_id: str, caller: Caller) -> Overlay:
    """Return the versions of a draft release; raises `NotFound` for one that is published."""
    release = find(release_id, by=caller)
    if release.state != ReleaseState.DRAFT:
        raise NotFound("The release is published: only a draft can be selected.")
    return Overlay(selector=SELECTOR.name, versions=planned_versions(release.items.all()))


SELECTOR: Final = OverlaySelector(
    name="release",
    description="The versions that would be served if this release were published now.",
    read=open_release,
)


def versions_to_publish(resource: VersionedResource) -> Iterable[UUID]:
    """Return the versions of a resource in draft releases."""
    items = ReleaseItem.objects.filter(
        resource_id=resource.pk,
        kind=resource.kind.slug,
        identity=resource.uuid,
        version_id__isnull=False,
        release__state=ReleaseState.DRAFT,
    )
    return [version_id for version_id in items.values_list("version_id", flat=True) if version_id]


DRAFT_RELEASES: Final = KeptVersions(pinned=versions_to_publish)
