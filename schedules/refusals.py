"""Why schedules fail: codes, and what they are called for those who read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from releases.rules import Problem as ReleaseProblem
from releases.rules import ReleaseBlocked, title_of
from versioning.domain.errors import EditConflict, Forbidden, Message, NotFound, Unauthorized, VersioningError
from versioning.serving.reference_checks import UnpublishedBlocks

NOT_ALLOWED: Final = "not_allowed"
MAX_NAMED: Final = 20
"""How many prompt blocks a message names."""


class SomethingElseIsLive(VersioningError):
    """Something else is live than what the schedule expects."""

    code = EditConflict.code

    def __init__(self) -> None:
        super().__init__("Something else has gone live since this was scheduled.")


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What would keep a schedule from happening."""

    code: str
    """That of a schedule that fails; of a release, those of its check."""
    message: str
    """A sentence for everybody who may read the schedule."""
    error: VersioningError | None = None
    """What the gate raises; None for what schedules and releases find themselves."""
    item: ReleaseProblem | None = None
    """The problem of the release that it is; None for one of a resource."""


def code_of(error: VersioningError) -> str:
    """Return the code of a schedule that an error keeps from happening.

    With the resource its schedules end, so what is not found is what the person may not read any more.
    """
    is_refused = error.code in {Forbidden.code, NotFound.code, Unauthorized.code}
    return NOT_ALLOWED if is_refused else error.code


def message_of(error: VersioningError) -> str:
    """Return an error of the gate for everybody who may read the schedule.

    The gate was asked as another person, who may know of other prompt blocks: so it does not say whether a
    block that is not published exists.
    """
    if isinstance(error, UnpublishedBlocks):
        return blocks_in_words(error.blocks)
    if isinstance(error, ReleaseBlocked):
        return ReleaseBlocked([replace(one, message=message_of_item(one)) for one in error.problems]).message
    return error.message


def message_of_item(problem: ReleaseProblem) -> str:
    """Return a problem of a release as `message_of` does; it names the resource."""
    if isinstance(problem.error, UnpublishedBlocks) and problem.resource is not None:
        return f"{title_of(problem.resource)}: {message_of(problem.error)}"
    return problem.message


def blocks_in_words(blocks: Sequence[str]) -> str:
    """Return that prompt blocks are not published, as a sentence."""
    named = ", ".join(map(repr, blocks[:MAX_NAMED]))
    if len(blocks) == 1:
        return Message("The prompt block {id} is not published.", id=named)
    if len(blocks) > MAX_NAMED:
        named = Message("{names} and {count} more", names=named, count=len(blocks) - MAX_NAMED)
    return Message("The prompt blocks {ids} are not published.", ids=named)
