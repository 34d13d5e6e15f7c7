"""What can go wrong, in the words of the domain.

Every error carries a sentence for people and a stable `code` for programs. None of them knows
HTTP: the one place that maps them to a status is `versioning.api.errors`. The root of the tree and
`Invalid` are the rules' own, which the client evaluates too; the rest only the service raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from editor_client.shared.errors import MAX_ISSUES, Invalid, Issue, VersioningError

__all__ = [
    "MAX_ISSUES",
    "CursorExpired",
    "EditConflict",
    "Forbidden",
    "IdTaken",
    "InUse",
    "Invalid",
    "Issue",
    "NoInstructions",
    "NotFound",
    "Unauthorized",
    "VersioningError",
]


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


class CursorExpired(VersioningError):
    """Entries of the log after this position are no longer there: whoever follows has missed something."""

    code = "cursor_expired"

    def __init__(self, oldest: int) -> None:
        super().__init__(f"Events after this position were pruned; go on from {oldest}, the oldest position.")
        self.oldest = oldest

    def details(self) -> dict[str, Any]:
        """Return the oldest position after which everything is still there."""
        return {"oldest": self.oldest}


class EditConflict(VersioningError):
    """`If-Match` does not hold: somebody changed the resource since the caller read it."""

    code = "edit_conflict"

    def __init__(self, current: Mapping[str, Any]) -> None:
        super().__init__("This has changed since you read it; look at the current state and try again.")
        self.current = dict(current)

    def details(self) -> dict[str, Any]:
        """Return what the resource looks like now, and who saved last."""
        return {"current": self.current}
