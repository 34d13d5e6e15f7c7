"""Invalid input, with every problem that was found.

An error has a sentence for people and a stable `code` for programs. The service has more errors of the same
family in `versioning.domain.errors`; the client raises `Invalid` as its own `ValidationFailed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

MAX_ISSUES: Final = 1000
"""How many problems of a request are named: a megabyte can hold half a million of them."""


@dataclass(frozen=True)
class Issue:
    """One problem of one input field; `field` is the caller's own name, dotted (`a.b.0.c`)."""

    field: str
    message: str

    def as_dict(self) -> dict[str, str]:
        """Return the JSON form, `{"field", "message"}`."""
        return {"field": self.field, "message": self.message}


class VersioningError(Exception):
    """The base class; never raised itself."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code

    def details(self) -> dict[str, Any]:
        """Return the members that this type of error adds to the JSON form."""
        return {}


class Invalid(VersioningError):
    """The input is invalid; up to `MAX_ISSUES` problems are listed.

    Further ones are counted; `more` is how many the caller has found and left out already.
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
            self.issues.append(Issue("body", f"has {unnamed} more problems"))

    @classmethod
    def field(cls, field: str, message: str, *, code: str | None = None) -> Invalid:
        """Return the error for a single problem."""
        return cls([Issue(field, message)], code=code)

    def details(self) -> dict[str, Any]:
        """Return the list of issues."""
        return {"issues": [issue.as_dict() for issue in self.issues]}
