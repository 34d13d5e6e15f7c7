"""Give a verdict on the version under review."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from capabilities.review.models import Review, Verdict, VerdictValue
from capabilities.review.policy.judged_versions import judged_version, named_by
from capabilities.review.policy.outcomes import outcome_of
from capabilities.review.policy.recording import are_the_same, written
from capabilities.review.reviews.records import ReviewRecord, record_of
from capabilities.review.reviews.requesting import columns_of
from capabilities.review.reviews.subjects import (
    MAX_TEXT,
    Subject,
    changing_review,
    refuse_ended,
    version_under_review,
)
from versioning.domain.access import APPLICATION, Caller, Right
from versioning.domain.errors import Conflict, Forbidden, Invalid, Message
from versioning.domain.snapshots import Snapshot
from versioning.domain.texts import checked_text
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Who, caller_of
from versioning.models import Membership, events
from versioning.serving.grants import Named
from versioning.verbs import Verbs

_EVENTS: Final = {
    VerdictValue.APPROVE: "review.approved",
    VerdictValue.REQUEST_CHANGES: "review.changesRequested",
    VerdictValue.WITHDRAW: "review.withdrawn",
}


@retry_on_conflict
def give_verdict(
    reviews: Verbs,
    review_id: str,
    *,
    version_id: str,
    verdict: str,
    body: str = "",
    by: Who = APPLICATION,
) -> ReviewRecord:
    """Approve the version under review, request changes to it, or withdraw the caller's verdict.

    `version_id` is the version that the caller has seen. Requires the right to publish. Raises `Conflict`
    with the code `review_closed` if the review is closed or published, and `review_outdated` if it is now
    about another version; `Forbidden` with `own_change` if the caller saved one of the versions under review,
    or suggested its wording.
    """
    by = caller_of(by)
    if verdict not in VerdictValue.values:
        raise Invalid.field(
            "verdict", Message("must be one of {values}", values=", ".join(VerdictValue.values))
        )
    body = checked_text("body", body.strip(), MAX_TEXT)
    with changing_review(reviews, review_id, Right.PUBLISH, by) as subject:
        version = _under_review(subject, version_id)
        named = named_by(subject.resource, version)
        _refuse_own(subject, version, named, by)
        if not _is_said_already(subject.review, verdict, body, named, by):
            given = {"verdict": VerdictValue(verdict), "body": body, "named": written(named)}
            _give(subject, version, given, by)
        return record_of(reviews, subject.review)


def _under_review(subject: Subject, version_id: str) -> Snapshot:
    """Return the version under review; raises `Conflict` if it is not the one that the caller has seen."""
    refuse_ended(subject.review)
    if version_id != subject.review.version_id:
        raise Conflict("This review is now about another version; look at that one.", code="review_outdated")
    version = version_under_review(subject)
    if version is None:
        raise Conflict("The version under review has been deleted.", code="review_outdated")
    return version


def _refuse_own(subject: Subject, version: Snapshot, named: frozenset[Named], by: Caller) -> None:
    """Raise `Forbidden` unless the caller is a person who saved none of the versions under review."""
    if by.user_id is None or by.username is None:
        raise Forbidden("Only a person can give a verdict.")
    if Membership.objects.service_accounts([by.user_id]):
        raise Forbidden("A service account cannot give a verdict: reviewers are people.", code="not_a_person")
    asked = judged_version(subject.resource, version, subject.target, named=named)
    if by.user_id in outcome_of(asked).authors:
        raise Forbidden(
            "You made one of the changes under review, so someone else has to approve.", code="own_change"
        )


def _is_said_already(review: Review, verdict: str, body: str, named: frozenset[Named], by: Caller) -> bool:
    """Return whether the verdict repeats the caller's latest on this configuration, or withdraws nothing."""
    own = Verdict.objects.on_configuration_of(review).filter(author_id=by.user_id)
    latest = own.last()
    if verdict == VerdictValue.WITHDRAW:
        return latest is None or latest.verdict == verdict
    return (
        latest is not None
        and are_the_same(named, latest.named)
        and (latest.verdict, latest.body, latest.version_id, latest.review_id)
        == (verdict, body, review.version_id, review.pk)
    )


def _give(subject: Subject, version: Snapshot, given: Mapping[str, Any], by: Caller) -> None:
    review = subject.review
    Verdict.objects.create(
        review=review,
        kind=review.kind,
        resource_id=review.resource_id,
        identity=review.identity,
        **columns_of(version),
        author_id=by.user_id,
        author_name=by.username or "",
        **given,
    )
    events.record(
        _EVENTS[given["verdict"]],
        by=by,
        workspace_id=review.workspace_id,
        resource=subject.target,
        version=version,
        reviewId=str(review.pk),
    )
