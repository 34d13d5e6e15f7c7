"""`Idempotency-Key`: a repeated POST gets the first answer and does nothing.

The header is that of draft-ietf-httpapi-idempotency-key-header. A successful answer is stored for a day,
without secrets, for the key or person that sent the request. It is repeated only while the caller still has
the rights of that time. After a refusal the request can be sent again. A stream is stored at its end. Answers
to requests that change nothing are not stored; a caller keeps the newest `MAX_BYTES`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from typing import Any, Final

from django.db import DatabaseError, OperationalError, transaction
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from versioning.api.request_log import without_secrets
from versioning.domain.access import Action, Caller, Role
from versioning.domain.errors import Forbidden, Invalid, VersioningError
from versioning.models import storage
from versioning.models.idempotency import MAX_BYTES, MAX_LENGTH, UNWRITTEN, IdempotentRequest, StoredAnswer

Json = dict[str, Any]

logger = logging.getLogger(__name__)

HEADER: Final = "Idempotency-Key"
_BEGUN: Final = "editor.idempotent_request"
_KEY: Final = re.compile(rf"[\x21-\x7e]{{1,{MAX_LENGTH}}}")
_STORED_HEADERS: Final = ("Content-Type", "ETag", "Location")
_RIGHTS: Final = "rights"
"""Stored with the headers: the caller's rights when the request was answered."""
_SUCCESS: Final = range(200, 300)


class IdempotencyMismatch(VersioningError):
    """The key was used for another request."""

    code = "idempotency_mismatch"

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key was sent with another request; use a new one for each.")


class IdempotencyInProgress(VersioningError):
    """The first request with the key has no answer yet."""

    code = "idempotency_in_progress"

    def __init__(self) -> None:
        super().__init__("The request with this Idempotency-Key is in progress; send it again in a moment.")


class Repeated(Exception):
    """The request was answered before."""

    def __init__(self, answer: StoredAnswer) -> None:
        self.answer = answer


class RightsLost(Forbidden):
    """The caller has lost rights since the first request was answered."""

    def __init__(self) -> None:
        super().__init__(
            "You have lost rights since this request was answered, so its answer is not repeated."
        )


def begin(request: Request, caller: Caller, action: Action | None) -> None:
    """Begin a POST with the header; raises `Repeated` if it was answered before.

    A run continues while the disk is full; only this process then knows its answer. A read-only request is
    answered each time. Raises `Invalid` for a key that cannot be used, `IdempotencyMismatch`,
    `IdempotencyInProgress`, and `RightsLost`.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return
    if not _KEY.fullmatch(key):
        raise Invalid.field(HEADER, f"must be 1 to {MAX_LENGTH} visible ASCII characters")
    if action is Action.READ:
        return
    name = caller.key_prefix or f"user {caller.user_id}"
    body = request._request.body  # noqa: SLF001  as it was sent
    content = f"{request._request.get_full_path()}\n".encode() + body  # noqa: SLF001  as above
    digest = hashlib.sha256(content).hexdigest()
    earlier = _earlier(name, key, digest, is_run=action is Action.RUN)
    if earlier is None:
        request.META[_BEGUN] = name, key, digest, _describe_rights(caller)
    elif earlier.digest != digest:
        raise IdempotencyMismatch
    elif earlier.answer is None:
        raise IdempotencyInProgress
    elif not _has_rights(caller, earlier.answer.headers.get(_RIGHTS)):
        raise RightsLost
    else:
        raise Repeated(earlier.answer)


def _describe_rights(caller: Caller) -> Json:
    return {
        "everywhere": caller.everywhere,
        "roles": dict(caller.roles),
        "actions": None if caller.actions is None else sorted(caller.actions),
        "idPrefix": caller.id_prefix,
    }


def _has_rights(caller: Caller, then: Json | None) -> bool:
    """Return whether a caller still has all stored rights; None for an entry without them."""
    if then is None:
        return True
    ranks = {name: Role(role).rank for name, role in then["roles"].items()}
    everywhere = -1 if caller.everywhere is None else caller.everywhere.rank
    now = {name: max(everywhere, role.rank) for name, role in caller.roles.items()}
    return (
        (then["everywhere"] is None or Role(then["everywhere"]).rank <= everywhere)
        and all(rank <= now.get(name, everywhere) for name, rank in ranks.items())
        and (caller.actions is None or (then["actions"] is not None and caller.actions >= {*then["actions"]}))
        and then["idPrefix"].startswith(caller.id_prefix)
    )


def _earlier(name: str, key: str, digest: str, *, is_run: bool) -> IdempotentRequest | None:
    """Return the earlier request with the key; None if there is none, and this one begins."""
    unwritten = UNWRITTEN.find(name, key)
    if unwritten is not None and unwritten[1] is not None:
        return IdempotentRequest(digest=unwritten[0], **unwritten[1]._asdict())
    try:
        with transaction.atomic():
            if unwritten is not None:
                IdempotentRequest.objects.end(name, key, digest, None)
            earlier = IdempotentRequest.objects.begin(name, key, digest)
        UNWRITTEN.remove(name, key)
    except OperationalError as error:
        if not (is_run and storage.says_full(error)):
            raise
        return None
    return earlier


def has_begun(request: Request) -> bool:
    """Return whether `end` has to be called for the request."""
    return _BEGUN in request.META


def end(request: Request, answer: HttpResponseBase, *, is_kept: bool = True) -> None:
    """Store the answer to a request that has begun, or delete the request if its answer is not stored.

    If the database cannot do that now, it is done later.
    """
    if not has_begun(request):
        return
    name, key, digest, rights = request.META.pop(_BEGUN)
    stored = None
    if is_kept and isinstance(answer, HttpResponse) and answer.status_code in _SUCCESS:
        headers: Json = {name: answer[name] for name in _STORED_HEADERS if answer.has_header(name)}
        body = _without_secrets(answer.content.decode())
        stored = StoredAnswer(answer.status_code, {**headers, _RIGHTS: rights}, body)
    try:
        with transaction.atomic():
            IdempotentRequest.objects.end(name, key, digest, stored)
    except DatabaseError as error:  # the request's changes are saved, and its answer is correct
        logger.warning("the answer to a request with an Idempotency-Key is stored later", exc_info=error)
        UNWRITTEN.add(name, key, digest, stored)


class StreamRecord:
    """Stores a stream once it has ended. After a failure or a disconnect the request can be sent again."""

    def __init__(self, begun: tuple[str, str, str, Json], end: bytes) -> None:
        self._begun = begun
        self._end = end
        self._frames: list[bytes] = []
        self._bytes = 0
        self._has_failed = False
        self._is_complete = False

    def add(self, frame: bytes, *, is_failure: bool) -> None:
        """Keep a frame; those of a stream that is too large to be stored are dropped."""
        self._has_failed |= is_failure
        self._bytes += len(frame)
        if self._bytes <= MAX_BYTES:
            self._frames.append(frame)

    def complete(self) -> None:
        """Note that the whole stream was sent."""
        self._is_complete = not self._has_failed and self._bytes <= MAX_BYTES

    def end(self) -> None:
        """Let a thread store the stream or delete the request: an event loop must not wait for a database."""
        name, key, digest, rights = self._begun
        answer = None
        if self._is_complete:
            headers = {"Content-Type": "text/event-stream", _RIGHTS: rights}
            answer = StoredAnswer(200, headers, b"".join([*self._frames, self._end]).decode())
        UNWRITTEN.add(name, key, digest, answer)


def record_stream(request: Request, *, end: bytes) -> StreamRecord | None:
    """Return the record of the stream that answers a request; None without a key. `end` is its last frame."""
    return StreamRecord(request.META.pop(_BEGUN), end) if has_begun(request) else None


def again(answer: StoredAnswer) -> HttpResponse:
    """Return the answer to the first request."""
    headers = {name: value for name, value in answer.headers.items() if name != _RIGHTS}
    return HttpResponse(answer.body, status=answer.status, headers={**headers, "Idempotent-Replayed": "true"})


def _without_secrets(text: str) -> str:
    """Remove one-time secrets: a signing secret, an API key, a link with its secret."""
    if not text.startswith("{"):
        return text
    body: Json = json.loads(text)
    safe = {
        name: value
        for name, value in body.items()
        if not (isinstance(value, str) and (name == "secret" or without_secrets(value) != value))
    }
    return text if len(safe) == len(body) else json.dumps(safe, ensure_ascii=False, separators=(",", ":"))
