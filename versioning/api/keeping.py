"""Answers that are kept, and given again for as long as what they were made of reads the same.

A view says what its answer is going to be made of (`made_of`), and the answer is kept under it.
The next request that asks the very same with the same rights costs one narrow statement, which
reads the key, its rights and the pointers of this moment; where anything is different, or
unusual, the request goes the ordinary way. So every answer, every refusal and every header is
made in one place only.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.http.response import ResponseHeaders

from versioning.access import Caller, Rights
from versioning.api.authentication import bearer_key
from versioning.api.middleware import Handler
from versioning.kept import Kept
from versioning.models.basis import MOST_ROWS, Basis, Rows

Asked = tuple[Hashable, ...]

# What an answer can depend on beside the caller and the database.
_ASKED: Final = ("PATH_INFO", "QUERY_STRING", "HTTP_HOST", "HTTP_ACCEPT", "HTTP_IF_NONE_MATCH")
_KEPT_STATUSES: Final = frozenset({200, 304})
_MOST_RIGHTS: Final = 16
_OVERHEAD: Final = 1024  # bytes of the objects around an answer


@dataclass(frozen=True)
class Answer:
    """A response, and what its basis read when it was made."""

    rows: Rows
    status: int
    headers: Mapping[str, str]
    content: bytes

    def response(self) -> HttpResponse:
        """Return it anew."""
        response = HttpResponse(self.content, status=self.status)
        # Given to the constructor, a Content-Type would be added to those that have none.
        response.headers = ResponseHeaders(self.headers)
        return response


@dataclass(frozen=True)
class Known:
    """What is known about a question: what its answer depends on, and the answer by rights."""

    basis: Basis
    answers: Mapping[Rights, Answer]


class Keeping:
    """A question whose answer may be kept, once the view has said what it is made of."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.basis: Basis | None = None

    def begin(self, basis: Basis, caller: Caller) -> None:
        """Note what the basis reads before the answer is made, and for whom it is made."""
        self.rights, self.before = caller.rights, basis.read()
        self.basis = basis if len(self.before) <= MOST_ROWS else None

    def end(self, response: HttpResponse) -> None:
        """Keep the answer, unless the basis has changed while it was made."""
        if self.basis is None or response.status_code not in _KEPT_STATUSES:
            return
        if self.basis.read() != self.before:
            return
        answer = Answer(self.before, response.status_code, dict(response.items()), response.content)
        known = kept().get(self.asked)
        others = known.answers if known and len(known.answers) < _MOST_RIGHTS else {}
        answers = {**others, self.rights: answer}
        weight = sum(len(one.content) + _OVERHEAD for one in answers.values())
        kept().put(self.asked, Known(self.basis, answers), weight)


def kept_answers(get_response: Handler) -> Handler:
    """Answer from what is kept where that is right, and keep what can be."""

    def middleware(request: HttpRequest) -> HttpResponse:
        key = _usual_key(request)
        if key is None:
            return get_response(request)
        asked: Asked = (settings.EDITOR_FRAMEWORK, *map(request.META.get, _ASKED))
        answer = _recalled(asked, key)
        if answer is not None:
            return answer.response()
        keeping = request.keeping = Keeping(asked)  # type: ignore[attr-defined]
        response = get_response(request)
        keeping.end(response)
        return response

    return middleware


def made_of(request: HttpRequest, basis: Basis | None, caller: Caller) -> None:
    """Say what the answer to the request is going to be made of; None is more than can be said."""
    keeping: Keeping | None = getattr(request, "keeping", None)
    if keeping is not None and basis is not None:
        keeping.begin(basis, caller)


@cache
def kept() -> Kept[Asked, Known]:
    """Return what this process keeps."""
    return Kept(settings.EDITOR_KEPT_BYTES)


def _usual_key(request: HttpRequest) -> str | None:
    """Return the API key of a request that may be answered from what is kept, or None."""
    meta = request.META
    if request.method != "GET" or settings.EDITOR_THROTTLE or not settings.EDITOR_KEPT_BYTES:
        return None
    has_body = meta.get("CONTENT_LENGTH") not in {None, "", "0"} or "HTTP_TRANSFER_ENCODING" in meta
    if has_body or meta.get("HTTP_COOKIE") or not isinstance(request, WSGIRequest):
        return None
    return bearer_key(meta.get("HTTP_AUTHORIZATION", ""))


def _recalled(asked: Asked, key: str) -> Answer | None:
    """Return the answer that is kept, if it is still right."""
    known = kept().get(asked)
    try:
        found = None if known is None else known.basis.read_by(key)
    except DatabaseError:  # the ordinary way knows what to say
        return None
    if known is None or found is None:
        return None
    rights, rows = found
    answer = known.answers.get(rights)
    return answer if answer is not None and answer.rows == rows else None
