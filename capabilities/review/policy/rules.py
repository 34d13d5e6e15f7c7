"""The rule that a version needs approvals. Pure.

Each person's latest verdict on a configuration counts, unless the person saved one of the versions under
review or may no longer publish, or a resource that the configuration names was replaced since. A version may
go live when enough people approve of its exact configuration, and no one requests changes to it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple

APPROVE: Final = "approve"
REQUEST_CHANGES: Final = "requestChanges"


class GivenVerdict(NamedTuple):
    """A person's verdict on a configuration."""

    id: int
    """The key of the verdict."""
    account: Hashable
    """The key of the account, because its name can change."""
    person: str
    """The user name."""
    verdict: str
    """`approve`, `requestChanges` or `withdraw`."""
    may_publish: bool
    """Whether the person may publish in the workspace now."""
    is_person: bool
    """Whether the account is no service account."""
    names_the_same: bool
    """Whether the configuration still names the same resources as then."""


class Ignored(Enum):
    """Why a person's latest verdict on a configuration does not count."""

    AUTHOR = auto()
    """The person saved one of the versions under review, or suggested its wording."""
    MAY_NOT_PUBLISH = auto()
    NOT_A_PERSON = auto()
    """The verdict is of a service account."""
    REPLACED = auto()
    """A resource that the configuration names has been replaced since."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Whether a version may go live now, and what is missing if not."""

    required: int
    """How many approvals the workspace requires, 0 to 5."""
    was_live: bool
    """Whether the configuration was published for this resource at some time."""
    authors: frozenset[Hashable]
    """The accounts of the authors of versions under review: their verdicts do not count."""
    approved_by: tuple[str, ...]
    """The people whose approvals count, in order of time."""
    changes_requested_by: tuple[str, ...]
    """The people whose requests for changes count, in order of time."""
    counting: frozenset[int]
    """The keys of the verdicts that count."""
    ignored: Mapping[int, Ignored]
    """Why the other latest verdicts do not count, by their keys."""

    @property
    def is_free(self) -> bool:
        """Whether the version may go live without any verdict."""
        return self.required == 0 or self.was_live

    @property
    def missing(self) -> int:
        """The number of missing approvals; 0 for a version that needs none."""
        return 0 if self.is_free else max(0, self.required - len(self.approved_by))

    @property
    def is_allowed(self) -> bool:
        """Whether the version may go live."""
        return self.is_free or (self.missing == 0 and not self.changes_requested_by)


def outcome(
    *, required: int, was_live: bool, authors: Iterable[Hashable], verdicts: Sequence[GivenVerdict]
) -> Outcome:
    """Return whether a version may go live; `verdicts` are on its configuration, oldest first."""
    own = frozenset(authors)
    latest = sorted(
        {verdict.account: verdict for verdict in sorted(verdicts, key=lambda one: one.id)}.values()
    )
    ignored = {one.id: why for one in latest if (why := _why_not(one, own)) is not None}
    counted = [one for one in latest if one.id not in ignored]
    approvals = [one for one in counted if one.verdict == APPROVE]
    requests = [one for one in counted if one.verdict == REQUEST_CHANGES]
    return Outcome(
        required=required,
        was_live=was_live,
        authors=own,
        approved_by=tuple(approval.person for approval in approvals),
        changes_requested_by=tuple(request.person for request in requests),
        counting=frozenset(approval.id for approval in (*approvals, *requests)),
        ignored=ignored,
    )


def _why_not(verdict: GivenVerdict, authors: frozenset[Hashable]) -> Ignored | None:
    if verdict.account in authors:
        return Ignored.AUTHOR
    if not verdict.names_the_same:
        return Ignored.REPLACED
    if not verdict.is_person:
        return Ignored.NOT_A_PERSON
    return None if verdict.may_publish else Ignored.MAY_NOT_PUBLISH


def under_review(number: int, live_numbers: Iterable[int]) -> tuple[int, int]:
    """Return the numbers of the first and the last version whose authors' verdicts do not count.

    The range begins after the newest version with a lower number that was ever live, of which `live_numbers`
    are the numbers, or at the beginning if there is none. The current live version does not matter, so moving
    the pointer lets no author judge another. Deleted versions whose numbers were used again come before all
    others.
    """
    before = max((other for other in live_numbers if other < number), default=0)
    return (before + 1 if before else 0), number
