"""The errors of the client, with the server's details.

EditorError            the base class; raised itself for other statuses
  ValidationFailed     400  `issues` names every problem
  Unauthorized         401
  Forbidden            403
  NotFound             404  missing, or not readable
  Conflict             409  the id is taken, or the resource is in use
  CursorExpired        410  events after the position have been removed; the log begins at `oldest`
  CursorAhead          410  an earlier state of the log was restored, which ends at `newest`
  EditConflict         412  it has changed since `base` was read; see `current`
  LockBroken           424  `names` are the unresolvable resources of a lock
  RateLimited          429  try again after `retry_after` seconds
  ServerError          5xx, and malformed answers
  Unreachable          no answer at all, or not in time
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from editor_client.shared.errors import Issue

__all__ = [
    "CannotEvaluate",
    "Conflict",
    "CursorAhead",
    "CursorExpired",
    "EditConflict",
    "EditorError",
    "Forbidden",
    "Issue",
    "LockBroken",
    "NotFound",
    "RateLimited",
    "ServerError",
    "Unauthorized",
    "Unreachable",
    "ValidationFailed",
    "from_answer",
    "malformed",
]


class CannotEvaluate(Exception):
    """The client cannot evaluate an agent; only the server can. No answer is at fault."""


class EditorError(Exception):
    """The base class.

    `status` is that of the answer (None if there was none), `code` is stable and meant for programs, `issues`
    are the problems of single fields, `details` is the whole body of the answer.
    """

    code = "error"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        issues: Sequence[Issue] = (),
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code or self.code
        self.issues = tuple(issues)
        self.details = dict(details or {})
        self.retry_after = retry_after
        """Seconds after which the server accepts another request, if given."""
        self.request_id = request_id
        """The id of the request in the server's log, if there was an answer."""
        self.asked: str | None = None
        """The method and the address of the request without parameters, if one was sent."""
        self.hint = ""
        """A hint on what the application may have to change."""

    def __str__(self) -> str:
        about = "; ".join(filter(None, self._about()))
        return " ".join(filter(None, (self.message, about and f"({about})", self.hint)))

    def _about(self) -> list[str | None]:
        """Return the subject of the error, for people."""
        return [self.asked, self.request_id and f"request {self.request_id}"]


class ValidationFailed(EditorError):
    """The server, or the client itself, refuses the input; `issues` names the fields."""

    code = "validation_failed"

    @classmethod
    def field(cls, field: str, message: str) -> ValidationFailed:
        """Return the error for a single problem found before a request is sent."""
        return cls(f"{field}: {message}", issues=[Issue(field, message)])


class Unauthorized(EditorError):
    """There is no key, or it is no longer valid."""

    code = "unauthorized"


class Forbidden(EditorError):
    """The key may read the resource but lacks the right for this action."""

    code = "forbidden"


class NotFound(EditorError):
    """The resource is missing or not readable; the server gives the same answer for both."""

    code = "not_found"


class Conflict(EditorError):
    """The stored state conflicts; `code` identifies how, such as `id_taken`, `in_use`, `review_open`."""

    code = "conflict"

    @property
    def review_id(self) -> str | None:
        """The open review, for `review_open`."""
        review_id = self.details.get("reviewId")
        return review_id if isinstance(review_id, str) else None

    def _about(self) -> list[str | None]:
        return [*super()._about(), self.review_id and f"review {self.review_id}"]


class CursorExpired(EditorError):
    """Events after the position have been removed from the log and can no longer be read."""

    code = "cursor_expired"

    @property
    def oldest(self) -> int:
        """The position after which no event has been removed."""
        oldest = self.details.get("oldest")
        return oldest if isinstance(oldest, int) else 0


class CursorAhead(EditorError):
    """The position is of the log before an earlier state was restored, and everything read is stale."""

    code = "cursor_ahead"

    @property
    def newest(self) -> int:
        """The position at which the log ends."""
        newest = self.details.get("newest")
        return newest if isinstance(newest, int) else 0

    @property
    def epoch(self) -> str:
        """The current epoch of the log; empty if the server sends none."""
        epoch = self.details.get("epoch")
        return epoch if isinstance(epoch, str) else ""


class EditConflict(EditorError):
    """The resource has changed since `base` was read; nothing was saved."""

    code = "edit_conflict"

    @property
    def current(self) -> Mapping[str, Any]:
        """The current state: `latestVersionId, activeVersionId, savedBy, savedAt, changedFields`."""
        current: Mapping[str, Any] = self.details.get("current") or {}
        return current


class LockBroken(EditorError):
    """A part of a lock no longer exists, or is not readable with this key."""

    code = "lock_broken"

    @property
    def names(self) -> tuple[str, ...]:
        """The ids of the agents and prompt blocks that cannot be resolved."""
        return tuple(map(str, self.details.get("names") or ()))


class RateLimited(EditorError):
    """The key has sent too many requests."""

    code = "throttled"


class ServerError(EditorError):
    """The server failed, or its answer is malformed."""

    code = "server_error"


class Unreachable(EditorError):
    """There was no answer in time. After a write, the change may or may not have been made."""

    code = "unreachable"


_BY_STATUS: dict[int, type[EditorError]] = {
    400: ValidationFailed,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: CursorExpired,
    412: EditConflict,
    429: RateLimited,
}
_BY_CODE: dict[str, type[EditorError]] = {LockBroken.code: LockBroken, CursorAhead.code: CursorAhead}
"""Errors whose status is shared with others."""


def malformed(reason: str, status: int = 200) -> ServerError:
    """Return the error for an unexpected answer."""
    return ServerError(f"The answer cannot be used: {reason}.", status=status, code="malformed_answer")


def from_answer(
    status: int, content: bytes, retry_after: float | None = None, request_id: str | None = None
) -> EditorError:
    """Return the error for an unsuccessful answer with any body."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = {}
    if not isinstance(body, dict):
        body = {}
    sentence, code = body.get("error"), body.get("code")
    kind: type[EditorError] = ServerError
    if 400 <= status < 500:
        kind = _BY_CODE.get(str(code)) or _BY_STATUS.get(status, EditorError)
    return kind(
        sentence if isinstance(sentence, str) else f"The server answered {status}.",
        status=status,
        code=code if isinstance(code, str) else None,
        issues=_issues(body.get("issues")),
        details=body,
        retry_after=retry_after,
        request_id=request_id,
    )


def _issues(value: Any) -> list[Issue]:
    issues = value if isinstance(value, list) else []
    return [
        Issue(str(issue.get("field", "")), str(issue.get("message", "")))
        for issue in issues
        if isinstance(issue, dict)
    ]
