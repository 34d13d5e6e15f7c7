"""Why schedules fail: codes, and messages for their readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from capabilities.releases.rules import Problem as ReleaseProblem
from capabilities.releases.rules import ReleaseBlocked, title_of
from versioning.domain.errors import (
    EditConflict,
    Forbidden,
    Message,
    NotFound,
    Quoted,
    Unauthorized,
    VersioningError,
)
from versioning.serving.references import UnpublishedBlocks

NOT_ALLOWED: Final = "not_allowed"
MAX_NAMED: Final = 20
"""The maximum number of prompt blocks in a message."""


class SomethingElseIsLive(VersioningError):
    """Another version is live than the schedule expects."""

    code = EditConflict.code

    def __init__(self) -> None:
        super().__init__("Something else has gone live since this was scheduled.")


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem that would prevent a schedule."""

    code: str
    """The code of the failed schedule; for a release, the code of its check."""
    message: str
    """A sentence for everyone who may read the schedule."""
    error: VersioningError | None = None
    """The gate's error; None for problems found by schedules and releases themselves."""
    item: ReleaseProblem | None = None
    """The release's own problem; None for a resource."""
    has_nothing_to_do: bool = False
    """Whether what the schedule would make live is live by then already."""


Refusal = str
"""A sentence: why a schedule has nobody to run as."""


def no_right(author: str) -> Refusal:
    """Return the sentence that the author of a schedule may not publish any more."""
    return Message("{name!r} may no longer publish there.", name=author)


def key_unusable(prefix: str) -> Refusal:
    """Return the sentence that the key of a schedule cannot be used any more."""
    return Message("The API key {prefix}… that scheduled this is revoked or has expired.", prefix=prefix)


def code_of(error: VersioningError) -> str:
    """Return the code of a schedule that an error prevents.

    Schedules end with their resource, so anything not found is not readable for the person any more.
    """
    is_refused = error.code in {Forbidden.code, NotFound.code, Unauthorized.code}
    return NOT_ALLOWED if is_refused else error.code


def message_of(error: VersioningError) -> str:
    """Return an error of the gate for everyone who may read the schedule.

    The gate was asked as another person, who may know of other prompt blocks: so the message does not reveal
    whether an unpublished block exists.
    """
    if isinstance(error, UnpublishedBlocks):
        return blocks_in_words(error.blocks)
    if isinstance(error, ReleaseBlocked):
        return ReleaseBlocked(
            [replace(problem, message=message_of_item(problem)) for problem in error.problems]
        ).message
    return error.message


def message_of_item(problem: ReleaseProblem) -> str:
    """Return a problem of a release as `message_of` does; it names the resource."""
    if isinstance(problem.error, UnpublishedBlocks) and problem.resource is not None:
        return f"{title_of(problem.resource)}: {message_of(problem.error)}"
    return problem.message


def blocks_in_words(blocks: Sequence[str]) -> str:
    """Return the sentence that prompt blocks are not published."""
    named: str = Quoted(blocks[:MAX_NAMED])
    if len(blocks) == 1:
        return Message("The prompt block {id} is not published.", id=named)
    if len(blocks) > MAX_NAMED:
        named = Message("{names} and {count} more", names=named, count=len(blocks) - MAX_NAMED)
    return Message("The prompt blocks {ids} are not published.", ids=named)
