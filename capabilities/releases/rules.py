"""The rules of releases that need no database. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from versioning.domain.errors import Conflict, Invalid, Issue, Message, VersioningError
from versioning.domain.kinds import KINDS_BY_SLUG


class Named(Protocol):
    """The identification of a resource."""

    @property
    def kind(self) -> str:
        """The slug of its kind."""

    @property
    def resource_id(self) -> str:
        """Its id."""


N = TypeVar("N", bound=Named)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A reason why a release cannot be published, or a warning."""

    resource: Named | None
    """Its resource; None for the release itself."""
    code: str
    message: str
    error: VersioningError | None = None
    """The gate's refusal of the item; None for problems found by releases themselves."""

    @property
    def as_json(self) -> dict[str, Any]:
        """The problem as a JSON object."""
        resource = self.resource
        about = None if resource is None else {"kind": resource.kind, "id": resource.resource_id}
        return {"resource": about, "code": self.code, "message": self.message}


class ReleaseBlocked(Conflict):
    """A release cannot be published; nothing was moved."""

    code = "release_blocked"

    def __init__(self, problems: Sequence[Problem]) -> None:
        message = Message("Nothing was published. {problem}", problem=problems[0].message)
        if len(problems) > 1:
            more = Message("There are {count} more problems.", count=len(problems) - 1)
            message = Message("{problem} {more}", problem=message, more=more)
        super().__init__(message)
        self.problems = tuple(problems)

    def details(self) -> dict[str, Any]:
        """Return the problems, those of the release itself first."""
        return {"problems": [problem.as_json for problem in self.problems]}


class ReleaseChanged(VersioningError):
    """`If-Match` does not match: the release was changed since the caller read it."""

    code = "edit_conflict"

    def __init__(self) -> None:
        super().__init__("The release has changed since you read it; check it again.")


def in_order(items: Iterable[N]) -> list[N]:
    """Return the items in the order in which every release locks and publishes them.

    Prompt blocks come first, so that they are live before the agents that refer to them are checked; within a
    kind they are ordered by id. All releases take their locks in this order, so no two wait for each other.
    """
    return sorted(
        items, key=lambda item: (not KINDS_BY_SLUG[item.kind].is_shown, item.kind, item.resource_id)
    )


def gate_problem(item: Named, error: VersioningError) -> Problem:
    """Return the problem for the gate's refusal of an item."""
    if isinstance(error, Invalid):
        issues = "; ".join(f"{issue.field}: {issue.message}" for issue in error.issues)
        message = f"{title_of(item)} cannot be published: {issues}."
    else:
        message = f"{title_of(item)}: {error.message}"
    return Problem(resource=item, code=error.code, message=message, error=error)


def item_problem(item: Named, code: str, sentence: str) -> Problem:
    """Return a problem of an item, or a warning, that releases find themselves."""
    return Problem(resource=item, code=code, message=f"{title_of(item)}: {sentence}")


def refuse_twice(items: Sequence[Named]) -> None:
    """Raise `Invalid` naming each item that repeats an earlier one's resource."""
    resources: set[tuple[str, str]] = set()
    issues = []
    for number, item in enumerate(items):
        if (item.kind, item.resource_id) in resources:
            issues.append(Issue(f"items.{number}.resource", "is already in the release"))
        resources.add((item.kind, item.resource_id))
    if issues:
        raise Invalid(issues)


def title_of(item: Named) -> str:
    """Return the name of an item's resource in messages: `Agent 'writer'`."""
    singular = KINDS_BY_SLUG[item.kind].singular
    return f"{singular.capitalize()} {item.resource_id!r}"
