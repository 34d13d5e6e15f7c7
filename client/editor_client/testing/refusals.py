"""What the editor in memory refuses, with the status and the body that the server has for it."""

from __future__ import annotations

from typing import Any

from editor_client.shared.errors import Invalid, Issue


class Refused(Exception):
    """An answer other than success."""

    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": message, "code": code, **details}


def not_found() -> Refused:
    """Return the refusal for what does not exist."""
    return Refused(404, "not_found", "There is nothing here that you can read.")


def cursor_ahead(newest: int) -> Refused:
    """Return the refusal of a position at which the log has not arrived."""
    message = (
        f"The log ends at {newest}, before this position: an earlier state of it was restored. "
        "Take all that you hold for stale, and begin anew."
    )
    return Refused(410, "cursor_ahead", message, newest=newest)


def not_done(what: str) -> Refused:
    """Return the refusal for what a real editor does, and this one does not."""
    return Refused(501, "not_in_fake_editor", f"FakeEditor does not do {what}; test it with a real editor.")


def refuse_unknown(given: Any, known: Any, *, message: str) -> None:
    """Raise `Invalid` naming every member that is not known."""
    issues = [Issue(name, message) for name in given if name not in known]
    if issues:
        raise Invalid(issues)
