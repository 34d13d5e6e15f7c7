"""The rule that a version needs approvals. Pure.

Of a configuration, each person's latest verdict counts, unless the person saved one of the versions under
review or may not publish (any more). A version may go live when enough people approve of its exact
configuration and nobody asks for changes to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

APPROVE: Final = "approve"
REQUEST_CHANGES: Final = "requestChanges"


class Said(NamedTuple):
    """What a person said of a configuration."""

    id: int
    """The key of the verdict."""
    person: str
    """The user name."""
    verdict: str
    """`approve`, `requestChanges` or `withdraw`."""
    may_publish: bool
    """Whether the person may publish in the workspace now."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Whether a version may go live now, and what is missing if not."""

    required: int
    """How many approvals the workspace requires, 0 to 5."""
    was_live: bool
    """Whether the configuration was the published one of this resource at some time."""
    authors: frozenset[str]
    """Who saved one of the versions under review: their verdicts do not count."""
    approved_by: tuple[str, ...]
    """Whose approval counts, in the order in which they gave it."""
    changes_requested_by: tuple[str, ...]
    """Whose request for changes counts, in the order in which they made it."""
    counting: frozenset[int]
    """The keys of the verdicts that count."""

    @property
    def is_free(self) -> bool:
        """Whether the version may go live whatever anybody says of it."""
        return self.required == 0 or self.was_live

    @property
    def missing(self) -> int:
        """How many approvals are missing; 0 for a version that needs none."""
        return 0 if self.is_free else max(0, self.required - len(self.approved_by))

    @property
    def is_allowed(self) -> bool:
        """Whether the version may go live."""
        return self.is_free or (self.missing == 0 and not self.changes_requested_by)


def outcome(*, required: int, was_live: bool, authors: Iterable[str], said: Sequence[Said]) -> Outcome:
    """Return whether a version may go live; `said` is about its exact configuration, the oldest first."""
    own = frozenset(authors)
    latest = {one.person: one for one in sorted(said, key=lambda one: one.id)}
    counted = sorted(one for one in latest.values() if one.may_publish and one.person not in own)
    approvals = [one for one in counted if one.verdict == APPROVE]
    requests = [one for one in counted if one.verdict == REQUEST_CHANGES]
    return Outcome(
        required=required,
        was_live=was_live,
        authors=own,
        approved_by=tuple(one.person for one in approvals),
        changes_requested_by=tuple(one.person for one in requests),
        counting=frozenset(one.id for one in (*approvals, *requests)),
    )


def under_review(number: int, live: int | None) -> tuple[int, int]:
    """Return the numbers of the first and the last version whose authors have no say in one of them.

    That is everything since what is live, or since the beginning where nothing is; of a version that is
    older than what is live, itself alone.
    """
    if live is None:
        return 1, number
    return (live + 1, number) if number > live else (number, number)
