"""Reviews in the words of the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from capabilities.review.models import Bypass, VerdictValue
from capabilities.review.policy.check import summary_of
from capabilities.review.reviews.records import ReviewState
from studio.translation import translated


@dataclass(frozen=True)
class Wording:
    """The name of a state, and the class of its chip."""

    word: str | Promise
    chip: str = ""


STATES: Final[Mapping[str, Wording]] = {
    ReviewState.OPEN: Wording(pgettext_lazy("a review", "In review"), "chip-changed"),
    ReviewState.APPROVED: Wording(pgettext_lazy("a review", "Approved"), "chip-published"),
    ReviewState.CHANGES_REQUESTED: Wording(pgettext_lazy("a review", "Changes requested"), "chip-danger"),
    ReviewState.PUBLISHED: Wording(pgettext_lazy("a review", "Published")),
    ReviewState.CLOSED: Wording(pgettext_lazy("a review", "Closed")),
}
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
    words = STATES[state]
    if not outdated or state not in _OF_EARLIER:
        return words
    chip = "" if state is ReviewState.APPROVED else words.chip
    return Wording(str(_OF_EARLIER[state]) % {"number": number}, chip)


def missing_in_words(missing: int, changes_requested_by: Sequence[str]) -> str:
    """Return what a version still needs to go live, in a sentence or two; empty if nothing."""
    return translated(summary_of(missing, changes_requested_by))


def unmet_in_words(required: int, reviewers: int) -> str:
    """Return a warning if too few people may approve; empty if they are enough, whoever saved the version."""
    if reviewers > required:
        return ""
    there = ngettext(
        "Only %(count)s person can approve versions here.",
        "Only %(count)s people can approve versions here.",
        reviewers,
    ) % {"count": reviewers}
    consequence = _("A version that one of them saved cannot get the approvals that it needs.")
    if reviewers < required:
        consequence = _("No version can get the approvals that it needs.")
    return f"{there} {consequence}"


def stuck_in_words(number: int, *, missing: int, left: int, bypass: str) -> str:
    """Return why a version under review cannot get its approvals; empty if it can.

    `left` is how many more members may approve it, and `bypass` who may publish without a review.
    """
    if left >= missing:
        return ""
    stuck = _("No other member can approve version %(number)s.") % {"number": number}
    if left:
        stuck = ngettext(
            "Only %(count)s other member can approve version %(number)s.",
            "Only %(count)s other members can approve version %(number)s.",
            left,
        ) % {"count": left, "number": number}
    way_out = _("Another person with the right to publish has to join the workspace.")
    if bypass == Bypass.ADMIN:
        way_out = _("An admin can publish it without a review.")
    return f"{stuck} {way_out}"


def policy_in_words(required: int, bypass: str) -> list[str]:
    """Return a policy as sentences."""
    if not required:
        return [_("Versions need no approval here: everyone with the right to publish can publish at once.")]
    needs = ngettext(
        "Each version needs one approval from a publisher and no open change requests.",
        "Each version needs %(count)s approvals from publishers and no open change requests.",
        required,
    )
    exempt = (
        _("An admin may publish without a review, and has to say why.")
        if bypass == Bypass.ADMIN
        else _("No one is exempt, admins included.")
    )
    return [
        needs % {"count": required},
        _(
            "People who made one of the changes cannot approve them. "
            "What was live before may go live again at once."
        ),
        exempt,
    ]
