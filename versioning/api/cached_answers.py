"""Answers of the API that are given again for as long as nothing has changed that they depend on.

A view says what its answer depends on (`depends_on`), and the finished answer is cached, headers and
all. The next request that asks the very same with the same rights costs one statement, which asks
where the log is. Anything unusual goes the ordinary way: so every answer, every refusal and every
header is made in one place only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from hashlib import blake2b
from http import HTTPStatus
from threading import Lock
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse

from versioning.api.authentication import bearer_key
from versioning.api.middleware.base import GetResponse
from versioning.api.middleware.request_log import log_request, request_id_for
from versioning.conf import get_editor
from versioning.domain.access import Caller
from versioning.serving.answer_cache import AnswerCache, Draft
from versioning.serving.followed_keys import keys, rights_digest
from versioning.serving.followed_log import Dependency, Moment, log

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
Headers = tuple[tuple[str, str], ...]

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
_DIGEST_BYTES: Final = 20
_REQUEST_ID: Final = "X-Request-ID"  # the one header that is each answer's own
_DIGEST: Final = "editor.question"  # in the environment of a request, as the WSGI application finds it
_SEARCHED: Final = "editor.searched"  # likewise: when the answer was searched for in vain
_CACHED_STATUSES: Final = frozenset({200, 304})
_OF_ONE_ANSWER: Final = frozenset({"ETag", "Content-Length"})


MAX_USUAL_HEADERS: Final = 64
_usual_headers: Final[list[Headers]] = []
_numbering: Final = Lock()


class CachedAnswer(NamedTuple):
    """A response as it was sent, but for the id of the request."""

    status: int
    path: str
    usual: int
    """The number of the headers that many answers have in common."""
    own: Headers
    content: bytes

    @property
    def headers(self) -> list[tuple[str, str]]:
        """All of its headers."""
        return [*_usual_headers[self.usual], *self.own]


class Question:
    """What a request asks; and its answer on the way, once a view has said what that depends on."""

    def __init__(self, digest: bytes, asked: Moment) -> None:
        self.digest = digest
        self.asked = asked
        self.asker = b""
        self.draft = Draft(_cache(), asked)

    def cache(self, path: str, response: HttpResponse) -> None:
        """Cache the answer, if a view has said what it depends on."""
        if response.status_code not in _CACHED_STATUSES or response.streaming:
            return
        headers = [header for header in response.items() if header[0] != _REQUEST_ID]
        usual = _number_of(tuple(header for header in headers if header[0] not in _OF_ONE_ANSWER))
        own = tuple(header for header in headers if header[0] in _OF_ONE_ANSWER)
        if usual is not None:
            answer = (response.status_code, path, usual, own, response.content)
            self.draft.finish(self.digest + self.asker, answer)


def cached_answers(get_response: GetResponse) -> GetResponse:
    """Give the answers that are cached and right, and cache those that can be."""

    def middleware(request: HttpRequest) -> HttpResponse:
        question = _question_of(request)
        if question is None:
            return get_response(request)
        if _SEARCHED not in request.META:
            found = _found(question.digest, question.asked, request.META)
            if found is not None:
                return _response(*found)
        request.question = question  # type: ignore[attr-defined]
        response = get_response(request)
        question.cache(request.path, response)
        return response

    return middleware


def cached_answers_first(application: Application) -> Application:
    """Let a WSGI application's cached answers be given before Django does anything about a request.

    That is right only while no other middleware stands before them. Here nothing but the position of
    the log is asked of the database: where the log has moved, the middleware follows it.
    """
    if settings.MIDDLEWARE[:1] != [f"{__name__}.{cached_answers.__name__}"]:
        return application

    def first(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        digest = environ[_DIGEST] = _digest(environ)
        now = log.look() if digest else None
        if digest is None or now is None:
            return application(environ, start_response)
        found = _found(digest, now, environ)
        if found is None:
            environ[_SEARCHED] = now
            return application(environ, start_response)
        answer, request_id = found
        status = HTTPStatus(answer.status)
        headers = [*answer.headers, (_REQUEST_ID, request_id)]
        start_response(f"{status.value} {status.phrase}", headers)
        return [answer.content]

    return first


def depends_on(
    request: HttpRequest, caller: Caller, *dependencies: Dependency, is_personal: bool = False
) -> None:
    """Say what the answer to the request depends on beside the rights of the caller, so that it is cached.

    `is_personal` is an answer that depends on who the caller is, and not only on what it may do.
    """
    question: Question | None = getattr(request, "question", None)
    if question is not None:
        question.draft.depends_on(*dependencies)
        question.asker = rights_digest(caller, caller.user_id) if is_personal else rights_digest(caller)


def _cache() -> AnswerCache:
    return get_editor().cache


def _question_of(request: HttpRequest) -> Question | None:
    """Return what the request asks, None when its answer is not to be cached."""
    if _DIGEST in request.META:
        digest = request.META[_DIGEST]
    else:
        # Of a path that is not UTF-8 Django has made another path by now.
        exact = isinstance(request, WSGIRequest) and getattr(request, "path_is_exact", True)
        digest = _digest(request.META) if exact else None
    if digest is None:
        return None
    now: Moment | None = request.META.get(_SEARCHED) or log.follow()
    return Question(digest, now) if now else None


def _digest(environ: Environ) -> bytes | None:
    """Return a digest of all that a request asks, None when its answer is not to be cached."""
    if environ["REQUEST_METHOD"] != "GET" or settings.EDITOR_THROTTLE or not settings.EDITOR_CACHE_BYTES:
        return None
    has_body = environ.get("CONTENT_LENGTH") not in {None, "", "0"} or "HTTP_TRANSFER_ENCODING" in environ
    if has_body or environ.get("HTTP_COOKIE") or "HTTP_AUTHORIZATION" not in environ:
        return None
    proxy = settings.SECURE_PROXY_SSL_HEADER
    names = (*_ASKED, proxy[0]) if proxy else _ASKED
    asked = repr([environ.get(name) for name in names])
    return blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def _found(digest: bytes, now: Moment, environ: Environ) -> tuple[CachedAnswer, str] | None:
    """Return the answer that is cached, if it is right, and the id of the request; log it."""
    started = time.perf_counter()
    text = bearer_key(environ["HTTP_AUTHORIZATION"])
    key = keys.known(text, now) if text else None
    if key is None:
        return None
    cache = _cache()
    held = cache.get(digest + key.rights, now) or cache.get(digest + key.person, now)
    if held is None:
        return None
    answer = CachedAnswer._make(held)
    request_id = request_id_for(environ.get("HTTP_X_REQUEST_ID", ""))
    log_request("GET", answer.path, answer.status, started, request_id=request_id)
    return answer, request_id


def _number_of(usual: Headers) -> int | None:
    """Return the number of these headers, which are held once for all answers; None for too many."""
    with _numbering:
        if usual in _usual_headers:
            return _usual_headers.index(usual)
        if len(_usual_headers) == MAX_USUAL_HEADERS:
            return None
        _usual_headers.append(usual)
        return len(_usual_headers) - 1


def _response(answer: CachedAnswer, request_id: str) -> HttpResponse:
    headers = dict([*answer.headers, (_REQUEST_ID, request_id)])
    response = HttpResponse(answer.content, status=answer.status, headers=headers)
    if "Content-Type" not in headers:
        del response["Content-Type"]  # which Django adds
    return response
