"""The resources of reviews: found, locked while a review changes, and deleted; and who can be a reviewer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from capabilities.review.models import Review
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Conflict, Invalid, Issue, Message, NotFound
from versioning.domain.events import Target, VersionName
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.overrides import IN_CODE
from versioning.domain.snapshots import Snapshot
from versioning.domain.uuids import parse_uuid
from versioning.editor.locking import changing
from versioning.models import Membership, VersionedResource
from versioning.models.accounts import normalize_username, username_lookup
from versioning.models.followers import RESOURCES, Follower
from versioning.models.versioned import MODELS_BY_SLUG
from versioning.serving.grants import target_of
from versioning.serving.resolution import find_version
from versioning.verbs import Verbs


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A review with its resource, both locked until the end of the transaction."""

    review: Review
    resource: VersionedResource
    target: Target


def readable(reviews: Verbs, review_id: str, by: Caller) -> Review:
    """Return a review.

    Raises `NotFound` if there is none or the caller may not read its resource, and `Forbidden` if the caller
    may read the resource but not its drafts.
    """
    review = Review.objects.filter(pk=parse_uuid(review_id)).first()
    if review is None or not by.covers(review.resource_id):
        raise NotFound
    if not by.may(Right.READ_DRAFTS, review.workspace_id):
        collection = reviews.editor.collection(KINDS_BY_SLUG[review.kind])
        collection.versions(review.resource_id, by=by)  # raises in either case
        raise NotFound
    return review


@contextmanager
def changing_review(reviews: Verbs, review_id: str, right: Right, by: Caller) -> Iterator[Subject]:
    """Lock the resource of a review, so that the review cannot change while a version is published.

    Raises what `readable` does, and `Forbidden` without the right.
    """
    found = readable(reviews, review_id, by)
    by.require(right, found.workspace_id)
    collection = reviews.editor.collection(KINDS_BY_SLUG[found.kind])
    with changing(collection, found.resource_id, right, by, include_deleted=True) as change:
        resource = change.resource
        target = target_of(resource, reviews.editor.code)
        review = Review.objects.about(target).filter(pk=found.pk).first()
        if review is None:
            raise NotFound
        yield Subject(review=review, resource=resource, target=target)


def refuse_ended(review: Review) -> None:
    """Raise `Conflict` for a review that is closed or published."""
    if review.closed_at is not None:
        raise Conflict("This review is closed; ask for a new one.", code="review_closed")
    if review.published_at is not None:
        raise Conflict("What this review was about is published; ask for a new one.", code="review_closed")


def version_under_review(subject: Subject) -> Snapshot | None:
    """Return the version under review; None if it was deleted."""
    try:
        return find_version(subject.resource, subject.review.version_id)
    except NotFound:
        return None


MAX_TEXT: Final = 10_000
"""The maximum length of a message to reviewers, and of a verdict's text."""
MAX_REVIEWERS: Final = 50


def members_named(workspace_id: str, names: Sequence[str]) -> list[Any]:
    """Return the accounts of members, without duplicates; raises `Invalid` with every other name."""
    if len(names) > MAX_REVIEWERS:
        raise Invalid.field(
            "reviewers", Message("must not have more than {limit} items", limit=MAX_REVIEWERS)
        )
    stored = {name: normalize_username(name) for name in names}
    wanted = {name for name in stored.values() if name is not None}
    members = Membership.objects.filter(workspace=workspace_id, **{f"{username_lookup('user')}__in": wanted})
    found = {one.user.get_username(): one for one in members.select_related("user")}
    issues = []
    for number, name in enumerate(names):
        member = found.get(stored[name] or "")
        if member is None:
            message = Message("{name!r} is not a member of this workspace", name=name)
            issues.append(Issue(f"reviewers.{number}", message))
        elif member.is_service:
            message = Message("{name!r} is a service account, not a person", name=name)
            issues.append(Issue(f"reviewers.{number}", message))
    if issues:
        raise Invalid(issues)
    return [member.user for member in found.values()]


def _remove_with_resource(instance: Any, **_signal: Any) -> None:
    Review.objects.filter(identity=instance.uuid).delete()


def _remove_with_override(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    """Remove the reviews of an override, whose row may come and go while the override stays in its file."""
    if resource.identity == IN_CODE:
        Review.objects.about(resource).delete()


def _close_without_version(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    """Close the open review of a deleted version, unless it can be moved to a newer one.

    It always can be moved when old versions are pruned.
    """
    if version is None or detail.get("pruned"):
        return
    review = Review.objects.open().about(resource).filter(version_id=version.version_id).first()
    if review is None:
        return
    versions = MODELS_BY_SLUG[resource.kind].version_model.objects.filter(resource_id=resource.id)
    if versions.filter(number__gt=review.version_number).exists():
        return
    review.close(resource, version, by)


FOLLOWERS: Final = (
    Follower(call=_remove_with_resource, rows=RESOURCES),
    Follower(call=_remove_with_override, events=["deleted"]),
    Follower(call=_close_without_version, events=["versionDeleted"]),
)
