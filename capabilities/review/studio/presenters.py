"""Reviews as the templates show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from capabilities.review.models import Review, VerdictValue
from capabilities.review.policy.administration import policy_of
from capabilities.review.policy.rules import Ignored
from capabilities.review.reviews.records import ReviewRecord, ReviewState, VerdictRecord
from capabilities.review.reviews.verbs import Reviews
from capabilities.review.studio.links import of_review
from capabilities.review.studio.wording import (
    VERDICTS,
    YOUR_VERDICTS,
    Wording,
    missing_in_words,
    state_in_words,
    stuck_in_words,
)
from studio.kinds import KINDS_BY_SLUG, StudioKind
from studio.named import names_of
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right, roles_with
from versioning.models import Membership, VersionedResource
from versioning.models.accounts import username_lookup
from versioning.serving.grants import target_of

_ENDED = (ReviewState.PUBLISHED, ReviewState.CLOSED)


@dataclass(frozen=True, kw_only=True)
class ReviewLine:
    """A review in a list."""

    record: ReviewRecord
    name: str
    """The name of its resource."""
    address: str

    @property
    def kind(self) -> StudioKind:
        """The kind of its resource."""
        return KINDS_BY_SLUG[self.record.resource_kind]

    @property
    def state(self) -> Wording:
        """Its state."""
        record = self.record
        return state_in_words(record.state, record.version_number, outdated=record.outdated)

    @property
    def is_over(self) -> bool:
        """Whether it is published or closed."""
        return self.record.state in _ENDED

    @property
    def missing(self) -> str:
        """The missing approvals of its version, in words."""
        if self.is_over:
            return ""
        return missing_in_words(self.record.missing, self.record.outcome.changes_requested_by)


@dataclass(frozen=True, kw_only=True)
class Person:
    """A reviewer or a person who gave a verdict, with their latest verdict."""

    name: str
    verdict: VerdictRecord | None
    why_not: str = ""
    """Why the verdict does not count; empty if it does, or there is none."""
    earlier: str = ""
    """What the person did, if it was about an earlier version; instead of the verdict in a word."""
    is_you: bool = False
    """Whether it is the reader: then the words are those of a sentence that begins with “You”."""

    @property
    def wording(self) -> Wording:
        """The verdict in a word."""
        if self.verdict is None:
            yours = pgettext("after “You”", "haven’t reviewed yet")
            return Wording(yours if self.is_you else _("Hasn’t reviewed yet"))
        return (YOUR_VERDICTS if self.is_you else VERDICTS)[self.verdict.verdict]


def lines_of(records: Sequence[ReviewRecord], caller: Caller) -> list[ReviewLine]:
    """Return reviews as lines of a list; one query for each kind of resource."""
    names = names_of([(one.resource_kind, one.resource_id) for one in records], caller)
    return [
        ReviewLine(
            record=record,
            name=names.get((record.resource_kind, record.resource_id), record.resource_id),
            address=of_review(record.resource_kind, record.resource_id, record.id),
        )
        for record in records
    ]


def people_of(record: ReviewRecord, caller: Caller) -> list[Person]:
    """Return the people of a review: first the requested reviewers, then others who gave verdicts."""
    latest: dict[str, VerdictRecord] = {}
    for verdict in record.verdicts:
        latest[verdict.by] = verdict
    names = dict.fromkeys([*record.reviewers, *latest])
    return [
        Person(
            name=name,
            verdict=latest.get(name),
            why_not=_why_not(record, latest.get(name)),
            earlier=_earlier(record, latest.get(name)),
            is_you=name == caller.username,
        )
        for name in names
    ]


def _earlier(record: ReviewRecord, verdict: VerdictRecord | None) -> str:
    """Return what was decided about an earlier version and does not count for this one."""
    is_of_this = verdict is None or verdict.version_id == record.version_id
    if verdict is None or is_of_this or verdict.counts or verdict.ignored is not None:
        return ""
    return {
        VerdictValue.APPROVE.value: _("approved an earlier version"),
        VerdictValue.REQUEST_CHANGES.value: _("requested changes to an earlier version"),
    }.get(verdict.verdict, "")


def _why_not(record: ReviewRecord, verdict: VerdictRecord | None) -> str:
    if (
        verdict is None
        or verdict.counts
        or _earlier(record, verdict)
        or verdict.verdict not in ("approve", "requestChanges")
    ):
        return ""
    if verdict.ignored is not None:
        return {
            Ignored.AUTHOR: _("does not count: they made one of the changes"),
            Ignored.REPLACED: _("does not count: a block or sub-agent has been replaced since"),
            Ignored.MAY_NOT_PUBLISH: _("does not count: they may no longer publish"),
            Ignored.NOT_A_PERSON: _("does not count: a service account is no reviewer"),
        }[verdict.ignored]
    return _("does not count: they may no longer publish")


def may_decide(record: ReviewRecord, caller: Caller) -> bool:
    """Return whether to offer the buttons of a verdict to the caller; the verb decides."""
    is_own = caller.user_id in record.outcome.authors
    return record.state not in _ENDED and not is_own and caller.may(Right.PUBLISH, record.workspace_id)


def has_decided(record: ReviewRecord, caller: Caller) -> bool:
    """Return whether a verdict of the caller counts."""
    return any(verdict.account_id == caller.user_id and verdict.counts for verdict in record.verdicts)


def stuck(record: ReviewRecord) -> str:
    """Return why too few members can approve an open review's version; empty if enough can, at one query."""
    if not record.missing or record.state in _ENDED:
        return ""
    members = Membership.objects.filter(
        workspace=record.workspace_id,
        role__in=roles_with(Right.PUBLISH),
        is_service=False,
        user__is_active=True,
    )
    authors: Any = record.outcome.authors
    members = members.exclude(user__in=authors)
    left = members.exclude(**{f"{username_lookup('user')}__in": record.outcome.approved_by}).count()
    if left >= record.missing:
        return ""
    bypass = policy_of(record.workspace_id).bypass
    return stuck_in_words(record.version_number, missing=record.missing, left=left, bypass=bypass)


def open_review_of(resource: VersionedResource) -> Review | None:
    """Return the open review of a resource, or None."""
    return Review.objects.open().about(target_of(resource, get_editor().code)).first()


def record_of(review: Review) -> ReviewRecord:
    """Return a review in its current state."""
    [found] = Reviews.current().records_of([review])
    return found
