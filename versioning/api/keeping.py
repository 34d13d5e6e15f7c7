"""Answers that are kept, and given again for as long as what they were made of reads the same.

A view says what its answer is going to be made of (`made_of`), and the finished answer is kept
under it. The next request that asks the very same with the same rights costs one narrow statement,
which reads the key, its rights and the pointers of this moment; where anything is different, or
unusual, the request goes the ordinary way. So every answer, every refusal and every header is made
in one place only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from sys import intern
from typing import Any, Final

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.db import Error
from django.http import HttpRequest, HttpResponse

from versioning.api.authentication import bearer_key
from versioning.api.middleware.base import GetResponse
from versioning.api.middleware.request_log import log_request, request_id_for
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.domain.bounded_cache import BoundedCache
from versioning.models.basis import Asker, Basis

Asked = tuple[Hashable, ...]
Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

# What an answer can depend on beside the caller and the database.
_ASKED: Final = (
    "wsgi.url_scheme",
    "HTTP_HOST",
    "SCRIPT_NAME",
    "PATH_INFO",
    "QUERY_STRING",
    "HTTP_ACCEPT",
    "HTTP_IF_NONE_MATCH",
)
_OWN: Final = "X-Request-ID"  # the one header that is each answer's own
_LOOKED_FOR: Final = "editor.looked_for"  # in the environment of a request: what it asks, not found
_KEPT_STATUSES: Final = frozenset({200, 304})
_MOST_ASKERS: Final = 16
_OVERHEAD: Final = 2560  # bytes of the objects around an answer


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, what it was made of, and what that read when it was made."""

    basis: Basis
    read: str
    path: str
    status: int
    headers: Mapping[str, str]
    content: bytes


Answers = Mapping[Asker, Answer]
"""The answers to one question: who may do other things may get another, made of something else."""


class Keeping:
    """A question whose answer may be kept, once the view has said what it is made of."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.basis: Basis | None = None

    def begin(self, basis: Basis, caller: Caller) -> None:
        """Note what the basis reads before the answer is made, and for whom it is made."""
        self.asker, self.before = basis.asker(caller), basis.read()
        self.basis = basis

    def end(self, path: str, response: HttpResponse) -> None:
        """Keep the answer, unless the basis has changed while it was made."""
        if self.basis is None or self.before is None or response.status_code not in _KEPT_STATUSES:
            return
        if self.basis.read() != self.before:
            return
        # Most headers say the same in every answer: one copy of each is enough.
        headers = {intern(name): intern(value) for name, value in response.items() if name != _OWN}
        answer = Answer(self.basis, self.before, path, response.status_code, headers, response.content)
        others: Answers = kept().get(self.asked) or {}
        answers = {**(others if len(others) < _MOST_ASKERS else {}), self.asker: answer}
        kept().put(self.asked, answers, sum(len(one.content) + _OVERHEAD for one in answers.values()))


def kept_answers(get_response: GetResponse) -> GetResponse:
    """Answer from what is kept where that is right, and keep what can be."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if _LOOKED_FOR in request.META:
            asked, found = request.META[_LOOKED_FOR], None
        else:
            # Of a path that is not UTF-8 Django has made another path by now.
            exact = isinstance(request, WSGIRequest) and getattr(request, "path_is_exact", True)
            asked = _asked(request.META) if exact else None
            found = None if asked is None else _found(asked, request.META)
        if found is not None:
            return _response(*found)
        if asked is None:
            return get_response(request)
        keeping = request.keeping = Keeping(asked)  # type: ignore[attr-defined]
        response = get_response(request)
        keeping.end(request.path, response)
        return response

    return middleware


def kept_answers_first(application: Application) -> Application:
    """Let a WSGI application's kept answers be given before Django does anything about a request.

    That is right only while no other middleware stands before them.
    """
    if settings.MIDDLEWARE[:1] != [f"{__name__}.{kept_answers.__name__}"]:
        return application

    def first(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        asked = _asked(environ)
        found = None if asked is None else _found(asked, environ)
        if found is None:
            environ[_LOOKED_FOR] = asked
            return application(environ, start_response)
        answer, request_id = found
        status = HTTPStatus(answer.status)
        start_response(f"{status.value} {status.phrase}", [*answer.headers.items(), (_OWN, request_id)])
        return [answer.content]

    return first


def made_of(request: HttpRequest, basis: Basis | None, caller: Caller) -> None:
    """Say what the answer to the request is going to be made of; None is more than can be said."""
    keeping: Keeping | None = getattr(request, "keeping", None)
    if keeping is not None and basis is not None:
        keeping.begin(basis, caller)


def kept() -> BoundedCache[Hashable, Any]:
    """Return what this process keeps."""
    return get_editor().kept


def _asked(environ: Environ) -> Asked | None:
    """Return all that a request asks, or None when its answer is nothing to keep."""
    if environ["REQUEST_METHOD"] != "GET" or settings.EDITOR_THROTTLE or not settings.EDITOR_KEPT_BYTES:
        return None
    has_body = environ.get("CONTENT_LENGTH") not in {None, "", "0"} or "HTTP_TRANSFER_ENCODING" in environ
    if has_body or environ.get("HTTP_COOKIE") or "HTTP_AUTHORIZATION" not in environ:
        return None
    proxy = settings.SECURE_PROXY_SSL_HEADER
    names = (*_ASKED, proxy[0]) if proxy else _ASKED
    return tuple(map(environ.get, names))


def _found(asked: Asked, environ: Environ) -> tuple[Answer, str] | None:
    """Return the answer that is kept, if it is still right, and the id of the request; log it."""
    started = time.perf_counter()
    answers: Answers | None = kept().get(asked)
    key = bearer_key(environ["HTTP_AUTHORIZATION"])
    if answers is None or key is None:
        return None
    try:
        answer = _still_right(answers, key)
    except Error:  # the ordinary way knows what to say
        return None
    if answer is None:
        return None
    request_id = request_id_for(environ.get("HTTP_X_REQUEST_ID", ""))
    log_request("GET", answer.path, answer.status, started, request_id=request_id)
    return answer, request_id


def _still_right(answers: Answers, key: str) -> Answer | None:
    """Return the answer for who asks with the key, if its basis reads as it did."""
    # Of most questions all answers have one basis; of a list each has that of its reader's rights.
    # Whose the key is, and what it may do, is known once any of them was read.
    basis = next(iter(answers.values())).basis
    read = basis.read_by(key)
    asker = read[0] if read else None
    answer = answers.get(asker) if asker else None
    if answer is not None and answer.basis != basis:
        read = answer.basis.read_by(key)
    return answer if answer is not None and read == (asker, answer.read) else None


def _response(answer: Answer, request_id: str) -> HttpResponse:
    headers = {**answer.headers, _OWN: request_id}
    response = HttpResponse(answer.content, status=answer.status, headers=headers)
    if "Content-Type" not in headers:
        del response["Content-Type"]  # which Django adds
    return response
