"""Reviews in the words of the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext, pgettext_lazy

from capabilities.review.models import Bypass, Review, VerdictValue
from capabilities.review.outcomes import Ignored
from capabilities.review.policy import read_policy, summarize_missing
from capabilities.review.reviews import ReviewRecord, ReviewState, VerdictRecord
from studio.kinds import KINDS_BY_SLUG, StudioKind
from studio.named import names_of
from studio.translation import translate
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right, roles_with
from versioning.domain.errors import NotFound
from versioning.domain.snapshots import Snapshot
from versioning.models import Membership, VersionedResource
from versioning.models.accounts import username_lookup
from versioning.serving.grants import target_of
from versioning.serving.resolution import find_version


@dataclass(frozen=True)
class Wording:
    """The name of a state, and the class of its chip."""

    word: str | Promise
    chip: str = ""


CHIPS: Final[Mapping[str, str]] = {
    ReviewState.OPEN: "chip-changed",
    ReviewState.APPROVED: "chip-published",
    ReviewState.CHANGES_REQUESTED: "chip-danger",
    ReviewState.PUBLISHED: "",
    ReviewState.CLOSED: "",
}
"""The classes of the chips of states."""
_OF_EARLIER: Final[Mapping[str, str | Promise]] = {
    ReviewState.OPEN: gettext_lazy("Version %(number)s in review"),
    ReviewState.APPROVED: gettext_lazy("Version %(number)s approved"),
    ReviewState.CHANGES_REQUESTED: gettext_lazy("Changes requested to version %(number)s"),
}
VERDICTS: Final[Mapping[str, Wording]] = {
    VerdictValue.APPROVE: Wording(pgettext_lazy("a verdict", "Approved"), "chip-published"),
    VerdictValue.REQUEST_CHANGES: Wording(pgettext_lazy("a verdict", "Changes requested"), "chip-danger"),
    VerdictValue.WITHDRAW: Wording(pgettext_lazy("a verdict", "Withdrawn")),
}

YOUR_VERDICTS: Final[Mapping[str, Wording]] = {
    VerdictValue.APPROVE: Wording(pgettext_lazy("after “You”", "approved"), "chip-published"),
    VerdictValue.REQUEST_CHANGES: Wording(pgettext_lazy("after “You”", "requested changes"), "chip-danger"),
    VerdictValue.WITHDRAW: Wording(pgettext_lazy("after “You”", "withdrew your decision")),
}
"""The verdicts of the reader, in sentences."""


def state_in_words(state: ReviewState, number: int, *, outdated: bool) -> Wording:
    """Return the state of a review next to its resource.

    Once there is a newer version, the words name the version of the review: the newest has no approval of it.
    """
    if not outdated or state not in _OF_EARLIER:
        return Wording(state.label, CHIPS[state])
    chip = "" if state is ReviewState.APPROVED else CHIPS[state]
    return Wording(str(_OF_EARLIER[state]) % {"number": number}, chip)


def missing_in_words(missing: int, changes_requested_by: Sequence[str]) -> str:
    """Return the missing approvals of a version, in a sentence or two; empty if none is missing."""
    return translate(summarize_missing(missing, changes_requested_by))


def review_url(kind_slug: str, resource_id: str, review_id: object, page: str = "review") -> str:
    """Return the address of a page about a review."""
    return KINDS_BY_SLUG[kind_slug].address(page, resource_id, str(review_id))


def ask_url(kind: StudioKind, resource_id: str, version_id: str) -> str:
    """Return the address of the page to request a review of a version."""
    return f"{kind.address('review_ask', resource_id)}?{urlencode({'version': version_id})}"


ENDED: Final = (ReviewState.PUBLISHED, ReviewState.CLOSED)


@dataclass(frozen=True, kw_only=True)
class ReviewLine:
    """A review in a list."""

    record: ReviewRecord
    name: str
    """The name of its resource."""
    address: str

    @property
    def kind(self) -> StudioKind:
        return KINDS_BY_SLUG[self.record.resource_kind]

    @property
    def state(self) -> Wording:
        record = self.record
        return state_in_words(record.state, record.version_number, outdated=record.outdated)

    @property
    def is_over(self) -> bool:
        return self.record.state in ENDED

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
    """The person's verdict on an earlier version, instead of the verdict in a word."""
    is_you: bool = False
    """Whether it is the reader: then the words are those of a sentence that begins with “You”."""

    @property
    def wording(self) -> Wording:
        """The verdict in a word."""
        if self.verdict is None:
            yours = pgettext("after “You”", "haven’t reviewed yet")
            return Wording(yours if self.is_you else _("Hasn’t reviewed yet"))
        return (YOUR_VERDICTS if self.is_you else VERDICTS)[self.verdict.verdict]


def review_lines(records: Sequence[ReviewRecord], caller: Caller) -> list[ReviewLine]:
    """Return reviews as lines of a list; one query for each kind of resource."""
    names = names_of([(record.resource_kind, record.resource_id) for record in records], caller)
    return [
        ReviewLine(
            record=record,
            name=names.get((record.resource_kind, record.resource_id), record.resource_id),
            address=review_url(record.resource_kind, record.resource_id, record.id),
        )
        for record in records
    ]


def list_people(record: ReviewRecord, caller: Caller) -> list[Person]:
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
    """Return the verdict on an earlier version, which does not count for this one."""
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
    return record.state not in ENDED and not is_own and caller.may(Right.PUBLISH, record.workspace_id)


def has_decided(record: ReviewRecord, caller: Caller) -> bool:
    """Return whether a verdict of the caller counts."""
    return any(verdict.account_id == caller.user_id and verdict.counts for verdict in record.verdicts)


def explain_missing_reviewers(record: ReviewRecord) -> str:
    """Return why too few members can approve an open review's version; empty if enough can, at one query."""
    if not record.missing or record.state in ENDED:
        return ""
    members = Membership.objects.filter(
        workspace=record.workspace_id,
        role__in=roles_with(Right.PUBLISH),
        is_service=False,
        user__is_active=True,
    )
    authors: Any = record.outcome.authors
    members = members.exclude(user__in=authors)
    other_count = members.exclude(**{f"{username_lookup('user')}__in": record.outcome.approved_by}).count()
    if other_count >= record.missing:
        return ""
    number = record.version_number
    sentence = _("No other member can approve version %(number)s.") % {"number": number}
    if other_count:
        sentence = ngettext(
            "Only %(count)s other member can approve version %(number)s.",
            "Only %(count)s other members can approve version %(number)s.",
            other_count,
        ) % {"count": other_count, "number": number}
    remedy = _("Another person with the right to publish has to join the workspace.")
    if read_policy(record.workspace_id).bypass == Bypass.ADMIN:
        remedy = _("An admin can publish it without a review.")
    return f"{sentence} {remedy}"


def find_open_review(resource: VersionedResource) -> Review | None:
    """Return the open review of a resource, or None."""
    return Review.objects.open().about(target_of(resource, get_editor().code)).first()


def find_version_if_stored(resource: VersionedResource | None, version_id: str | None) -> Snapshot | None:
    """Return a version of a resource; None if it was deleted, or none is given."""
    if resource is None or not version_id:
        return None
    try:
        version: Snapshot = find_version(resource, version_id)
    except NotFound:
        return None
    return version
