"""What can go wrong, in the words of the domain.

Every error carries a sentence for people and a stable `code` for programs. None of them knows
HTTP: the one place that maps them to a status is `versioning.api.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

MAX_ISSUES: Final = 1000
"""How many faults of a request are named: a megabyte can hold half a million of them."""


@dataclass(frozen=True)
class Issue:
    """One fault of one input field; `field` is the caller's own name, dotted (`a.b.0.c`)."""

    field: str
    message: str

    def as_dict(self) -> dict[str, str]:
        """Return the wire form, `{"field", "message"}`."""
        return {"field": self.field, "message": self.message}


class VersioningError(Exception):
    """The root of the tree; never raised itself."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code

    def details(self) -> dict[str, Any]:
        """Return the members that this kind of error adds to the wire form."""
        return {}


class Invalid(VersioningError):
    """The input breaks a rule; every fault that was found is named, up to `MAX_ISSUES`.

    The rest are counted; `more` is how many the caller has found and left out already.
    """

    code = "validation_failed"

    def __init__(self, issues: Sequence[Issue], *, code: str | None = None, more: int = 0) -> None:
        first = issues[0]
        others = len(issues) - 1 + more
        super().__init__(
            f"{first.field}: {first.message}{f' (and {others} more)' if others else ''}", code=code
        )
        self.issues = list(issues[:MAX_ISSUES])
        if unnamed := len(issues) + more - len(self.issues):
            self.issues.append(Issue("body", f"has {unnamed} more faults"))

    @classmethod
    def field(cls, field: str, message: str, *, code: str | None = None) -> Invalid:
        """Return the error for a single fault."""
        return cls([Issue(field, message)], code=code)

    def details(self) -> dict[str, Any]:
        """Return the list of issues."""
        return {"issues": [issue.as_dict() for issue in self.issues]}


class NotFound(VersioningError):
    """Missing, or not readable by this caller: deliberately the same answer for both."""

    code = "not_found"

    def __init__(
        self, message: str = "There is nothing here that you can read.", *, code: str | None = None
    ) -> None:
        super().__init__(message, code=code)


class NoInstructions(NotFound):
    """An agent that leaves its instructions to the editor has none, because none are published."""

    code = "no_instructions"

    def __init__(self, agent_id: str) -> None:
        super().__init__(
            f"The agent {agent_id!r} has no instructions: its code leaves them to the editor, "
            "and none are published."
        )


class Unauthorized(VersioningError):
    """Nobody is signed in, or the credentials do not hold."""

    code = "unauthorized"


class Forbidden(VersioningError):
    """Readable for this caller, but the action needs a right that the caller lacks."""

    code = "forbidden"


class IdTaken(VersioningError):
    """A resource with this id exists already."""

    code = "id_taken"


class InUse(VersioningError):
    """A published agent refers to what should be deleted."""

    code = "in_use"

    def __init__(self, message: str, *, dependents: Sequence[Mapping[str, str]], hidden_count: int) -> None:
        super().__init__(message)
        self.dependents = list(dependents)
        self.hidden_count = hidden_count

    def details(self) -> dict[str, Any]:
        """Return the dependents that the caller may read, and the count of the others."""
        return {"dependents": self.dependents, "hiddenCount": self.hidden_count}


class EditConflict(VersioningError):
    """`If-Match` does not hold: somebody changed the resource since the caller read it."""

    code = "edit_conflict"

    def __init__(self, current: Mapping[str, Any]) -> None:
        super().__init__("This has changed since you read it; look at the current state and try again.")
        self.current = dict(current)

    def details(self) -> dict[str, Any]:
        """Return what the resource looks like now, and who saved last."""
        return {"current": self.current}
