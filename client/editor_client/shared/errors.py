"""Invalid input, with every problem found.

An error has a sentence for people and a stable `code` for programs. The service has more errors of the same
family in `versioning.domain.errors`; the client raises `Invalid` as its own `ValidationFailed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

MAX_ISSUES: Final = 1000
"""The maximum number of listed problems of a request: a megabyte can contain half a million."""


class Message(str):
    """A sentence with values: the English text, which remembers its template.

    Code that compares, stores or sends it uses the text. Templates are collected for translators where they
    are written, so each must be a literal. A sentence without values may be a plain string.
    """

    __slots__ = ("template", "values")

    template: str
    values: Mapping[str, Any]

    def __new__(cls, template: str, **values: Any) -> Self:
        """Fill in the values, if there are any, as `str.format` does; a value may be a message itself."""
        self = super().__new__(cls, template.format(**values) if values else template)
        self.template, self.values = template, values
        return self


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

    @property
    def summary(self) -> str:
        """The text for pages: the message, unless a type of error has a shorter one."""
        return self.message

    def details(self) -> dict[str, Any]:
        """Return the members that this type of error adds to the JSON form."""
        return {}


class Invalid(VersioningError):
    """The input is invalid; up to `MAX_ISSUES` problems are listed.

    Further ones are counted; `more` is the number that the caller has already omitted.
    """

    code = "validation_failed"

    def __init__(self, issues: Sequence[Issue], *, code: str | None = None, more: int = 0) -> None:
        first = issues[0]
        other_count = len(issues) - 1 + more
        problem = first.message if isinstance(first.message, Message) else Message(first.message)
        message = Message("{field}: {problem}", field=first.field, problem=problem)
        if other_count:
            message = Message("{problem} (and {count} more)", problem=message, count=other_count)
        super().__init__(message, code=code)
        self.issues = list(issues[:MAX_ISSUES])
        if unnamed := len(issues) + more - len(self.issues):
            self.issues.append(Issue("body", Message("has {count} more problems", count=unnamed)))

    @classmethod
    def field(cls, field: str, message: str, *, code: str | None = None) -> Invalid:
        """Return the error for a single problem."""
        return cls([Issue(field, message)], code=code)

    def details(self) -> dict[str, Any]:
        """Return the list of issues."""
        return {"issues": [issue.as_dict() for issue in self.issues]}
