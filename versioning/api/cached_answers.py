"""Cached answers of the API, reused until something that they depend on changes.

A view declares the dependencies of its answer (`depends_on`), and the finished answer is cached, including
headers. The next identical request with the same rights costs one statement, which reads the position of the
log. Unusual requests take the ordinary path, so refusals and headers are made in one place only.

Requests that differ only in the id at the end of the path, by callers with the same rights, get the same
headers, and content that one function makes. So the ordinary path answers one of them a minute and stores a
template (`leave_template`). For the others only the content is made (`render`). Failures take the ordinary
path.

The request context is no part of a request's identity. The answer to a request with one is cached only in
parts, before evaluation, once for all contexts (`evaluate_in_context`).

`manage.py serve` looks here before Django does (`editor_project.server.cached_reads`), with the same
functions. A miss there is not looked up again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache, partial
from hashlib import blake2b
from http import HTTPStatus
from threading import Lock
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import unquote_plus

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from editor_client.shared import canonical
from editor_client.shared.request_contexts import PARAMETER, read_context

from versioning.api.addresses import has_encoded_end
from versioning.api.middleware import GetResponse
from versioning.api.request_log import log_request, request_id_for, trace_headers
from versioning.api.schemas import is_known, render_json
from versioning.conf import get_editor
from versioning.domain import telemetry
from versioning.domain.access import Caller
from versioning.domain.bounded_cache import BoundedCache
from versioning.domain.errors import Invalid
from versioning.serving import replica_reads
from versioning.serving.answer_cache import AnswerCache, CachedAnswer, PendingAnswer
from versioning.serving.followed_keys import RIGHTS_HEADER, TimedKey, keys, rights_digest
from versioning.serving.followed_log import Dependency, Moment, log
from versioning.serving.parts import answer_in

Headers = tuple[tuple[bytes, bytes], ...]

REQUEST_ID: Final = "X-Request-ID"  # the only header that differs for each answer
UNANSWERED: Final = "editor.unanswered"
"""Key in a request's environment: its identity, and when the server found no cached answer."""

_ASKED: Final = (b"host", b"accept", b"if-none-match")
_ABSENT: Final = b"\n"  # occurs in no header
_DIGEST_BYTES: Final = 20
_CACHED_STATUSES: Final = frozenset({200, 304})
_OF_ONE_ANSWER: Final = frozenset({"ETag", "Content-Length", RIGHTS_HEADER})
_OF_CONTENT: Final = frozenset({*_OF_ONE_ANSWER, "Content-Type"})
"""The headers that an answer with content has, and a 304 lacks."""
_MAX_PARTS: Final = 1 << 20
"""Larger parts, in bytes, are evaluated by the ordinary path, which limits reads per request."""
_QUICK_PARTS: Final = 1 << 15
_SMALL_QUERY: Final = 1 << 12
"""In bytes; parts and queries up to this size take well under a millisecond to evaluate."""

_CONTEXT: Final = f"{PARAMETER}=".encode()

MAX_USUAL_HEADERS: Final = 64
MAX_TEMPLATES: Final = 256
_usual_headers: Final[list[Headers]] = []
_numbering: Final = Lock()


class Make(Protocol):
    """Makes the answer for a resource; raises as the verbs do."""

    def __call__(self, resource_id: str, caller: Caller, depends_on: Callable[..., None]) -> dict[str, Any]:
        """Return the answer and its dependencies."""


class Template(NamedTuple):
    """A view's answer for any resource."""

    resource_id: str
    """The resource of the original request."""
    make: Make
    media_type: str
    """The negotiated media type."""
    is_in_parts: bool = False
    """Whether `make` returns the parts of an agent, which are evaluated in the context of each request."""


_templates: Final[BoundedCache[bytes, tuple[Moment, int, Template]]] = BoundedCache(MAX_TEMPLATES)
"""Each with the moment from which it is valid and the number of its set of headers, by digests of the request
without the id and of the caller's rights.
"""


class CachedResponse(NamedTuple):
    """A response as it was sent, without the id of the request."""

    status: int
    path: str
    usual: int
    """The number of the set of headers that many answers share."""
    own: Headers
    content: bytes

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        return [*_usual_headers[self.usual], *self.own]


class Parts(NamedTuple):
    """An answer before evaluation in a request context."""

    path: str
    usual: int
    """As in `CachedResponse`."""
    media_type: str
    rights: str
    """The name of the rights for which it was made."""
    is_quick: bool
    """Whether it is cheap to evaluate in any small context."""
    parts: Mapping[str, Any]

    @classmethod
    def of(cls, content: tuple[Any, ...]) -> Parts | None:
        """Return the parts in a cached answer; None for a response, which begins with its status."""
        return cls._make(content) if isinstance(content[0], str) else None

    def response(self, identity: RequestIdentity) -> tuple[Any, ...] | None:
        """Return the values of a `CachedResponse` to a request with a context.

        None if the evaluation is refused; the ordinary path reports the reason.
        """
        try:
            content, etag = render_json(answer_in(self.parts, identity.context or {}), self.media_type)
        except Invalid:
            return None
        if is_known(identity.known_etags, etag):
            own = [("ETag", f'"{etag}"'), (RIGHTS_HEADER, self.rights)]
            return HTTPStatus.NOT_MODIFIED.value, self.path, self.usual, _as_bytes(own), b""
        own = [("Content-Type", self.media_type), *_answer_headers(content, etag, self.rights)]
        return HTTPStatus.OK.value, self.path, self.usual, _as_bytes(own), content


class RequestIdentity(NamedTuple):
    """The identity of a request: every input of an answer except the caller and the database."""

    inputs: bytes
    path: bytes
    """The part after the root of the application, not percent-encoded."""
    context: Mapping[str, Any] | None = None
    """The request context; None if the query has none, or one that the ordinary path has to refuse."""
    has_small_context: bool = False
    known_etags: str = ""
    """`If-None-Match` of a request with a context; other requests have it among their headers."""

    @classmethod
    def of(
        cls, scheme: bytes, root: bytes, query: bytes, headers: Iterable[bytes | None], path: bytes
    ) -> RequestIdentity:
        """Return the request's identity; `headers` are the values of `asked_headers`."""
        host, accept, if_none_match, *proxy = [_ABSENT if value is None else value for value in headers]
        pairs = query.split(b"&") if _CONTEXT in query else []
        context_pairs = [pair for pair in pairs if pair.startswith(_CONTEXT)]
        if len(context_pairs) == 1:
            value = context_pairs[0][len(_CONTEXT) :].decode("latin-1")
            try:
                context = read_context(unquote_plus(value) if "%" in value or "+" in value else value)
            except Invalid:
                pass
            else:
                pairs.remove(context_pairs[0])
                rest = b"&".join(pairs)
                inputs = b"\0".join([scheme, root, rest, b"in a context", host, accept, *proxy])
                known_etags = "" if if_none_match == _ABSENT else if_none_match.decode("latin-1")
                return cls(inputs, path, context, len(query) <= _SMALL_QUERY, known_etags)
        return cls(b"\0".join([scheme, root, query, host, accept, if_none_match, *proxy]), path)

    @property
    def digest(self) -> bytes:
        return _digest(self.inputs, self.path)

    @property
    def about(self) -> tuple[bytes, str] | None:
        """A digest of the request without the last path segment, and that segment, which may be an id."""
        place, _, last = self.path.rpartition(b"/")
        try:
            return _digest(self.inputs, place), last.decode()
        except UnicodeDecodeError:
            return None


class CacheEntry(NamedTuple):
    """An answer that a request may get if it is still valid and the key still has these rights."""

    key: TimedKey
    answer: CachedAnswer
    content: tuple[Any, ...] | None
    """The values of its `CachedResponse`; None if it cannot be evaluated here."""
    to_evaluate: tuple[Parts, RequestIdentity] | None = None
    """The parts that are evaluated only once the entry is known to be valid."""

    def response(
        self,
        cache: AnswerCache,
        now: Moment,
        fingerprint: Callable[[Dependency], Hashable] | None = None,
    ) -> CachedResponse | None:
        """Return the response if it is valid at this moment, which is later than the request.

        `fingerprint` is as in `AnswerCache.is_right`.
        """
        if not keys.is_right(self.key, now) or not cache.is_right(self.answer, now, fingerprint):
            return None
        content = self.content
        if self.to_evaluate is not None:
            parts, identity = self.to_evaluate
            content = parts.response(identity)
        return None if content is None else CachedResponse._make(content)


class CacheMiss:
    """A request without a cached answer, and its new answer once a view has declared the dependencies."""

    def __init__(self, cache: AnswerCache, identity: RequestIdentity, now: Moment) -> None:
        self.asked = identity
        self.asker = b""
        self.pending = PendingAnswer(cache, now)
        self.template: Template | None = None
        self.parts: Mapping[str, Any] | None = None
        """The parts that were evaluated in the request's context."""

    def cache(self, path: str, response: HttpResponse) -> None:
        """Cache the answer if a view has declared its dependencies."""
        if response.status_code not in _CACHED_STATUSES or response.streaming:
            return
        if self.asked.context is not None and self.parts is None:
            return  # its key lacks the caller's entity tag, on which a 304 depends
        headers = [header for header in response.items() if header[0] != REQUEST_ID]
        of_one = _OF_ONE_ANSWER if self.parts is None else _OF_CONTENT
        usual = _number_headers(_as_bytes(header for header in headers if header[0] not in of_one))
        own = _as_bytes(header for header in headers if header[0] in of_one)
        if usual is None:
            return
        answer: tuple[Any, ...] = (response.status_code, path, usual, own, response.content)
        if self.parts is not None and self.template is not None:
            rights = response.headers[RIGHTS_HEADER]
            is_quick = _is_quick(self.parts, _weigh_parts(self.parts))
            answer = Parts(path, usual, self.template.media_type, rights, is_quick, self.parts)
        self.pending.finish(self.asked.digest + self.asker, tuple(answer))
        about = self.asked.about if self.template else None
        if self.template and about and about[1] == self.template.resource_id:
            _templates.put(about[0] + self.asker, (self.pending.begun, usual, self.template), 1)


def cached_answers(get_response: GetResponse) -> GetResponse:
    """Middleware that returns valid cached answers, renders those with a template, and caches new ones."""

    def middleware(request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        unanswered: tuple[RequestIdentity, Moment] | None = request.META.get(UNANSWERED)
        identity, now = unanswered or (_identify_request(request), None)
        now = now or (log.follow() if identity else None)
        if identity is None or now is None:
            return get_response(request)
        cache = get_editor().cache
        if unanswered is None and (key := keys.find_timed(request.META["HTTP_AUTHORIZATION"])):
            entry = cache_entry(cache, identity, key)
            answer, result = entry and entry.response(cache, now), "hit"
            if answer is None and not telemetry.is_traced():  # the ordinary path makes its spans
                answer, result = render(cache, identity, key, now), "made"
            if answer is not None:
                telemetry.count("editor_answer_cache_total", result=result)
                return _response(request, answer, started)
        telemetry.count("editor_answer_cache_total", result="miss")
        miss = request.cache_miss = CacheMiss(cache, identity, now)  # type: ignore[attr-defined]
        response = get_response(request)
        miss.cache(request.path, response)
        return response

    return middleware


def is_caching() -> bool:
    return bool(settings.EDITOR_CACHE_BYTES) and not settings.EDITOR_THROTTLE


def asked_headers() -> tuple[bytes, ...]:
    """Return the headers that an answer can depend on, in lower case."""
    proxy = settings.SECURE_PROXY_SSL_HEADER
    return (*_ASKED, _header_name(proxy[0])) if proxy else _ASKED


def cache_entry(cache: AnswerCache, identity: RequestIdentity, timed: TimedKey) -> CacheEntry | None:
    """Return the cached answer for a request and the rights of a key, valid or not.

    Parts are evaluated in the context of the request, unless the key is known not to be usable any more.
    """
    key, digest = timed[0], identity.digest
    cached = cache.find(digest + key.rights) or cache.find(digest + key.person)
    if cached is None:
        return None
    content, parts = cached.content, Parts.of(cached.content)
    if parts is not None:
        if parts.is_quick and identity.has_small_context:
            return CacheEntry(timed, cached, (), (parts, identity))
        content = parts.response(identity) if keys.is_right(timed, log.current_moment) else None
    return CacheEntry(timed, cached, content)


def render(
    cache: AnswerCache, identity: RequestIdentity, timed: TimedKey, now: Moment
) -> CachedResponse | None:
    """Return an answer made from a template, and cache it; None if there is no template, or it fails."""
    about, (key, _) = identity.about, timed
    if about is None or not keys.is_right(timed, now):
        return None
    prefix, resource_id = about
    for asker in (key.rights, key.person):
        since, usual, template = _templates.get(prefix + asker) or (None, 0, None)
        if since is None or template is None or not log.is_right(since, (), now):
            continue
        pending = PendingAnswer(cache, now)

        def depends_on(*dependencies: Dependency, to: PendingAnswer = pending) -> None:
            to.depends_on(*dependencies)
            replica_reads.depends_on(*dependencies)

        try:
            result = replica_reads.read(partial(template.make, resource_id, key.caller, depends_on))
            path = identity.path.decode()
            if not template.is_in_parts:
                content, etag = render_json(result, template.media_type)
                own = _as_bytes(_answer_headers(content, etag, key.rights_name))
                answer: tuple[Any, ...] | None = (HTTPStatus.OK.value, path, usual, own, content)
                pending.finish(identity.digest + asker, answer)
            elif (size := _weigh_parts(result)) <= _MAX_PARTS:
                is_quick = _is_quick(result, size)
                parts = Parts(path, usual, template.media_type, key.rights_name, is_quick, result)
                answer = parts.response(identity)
                if answer is not None:
                    pending.finish(identity.digest + asker, tuple(parts))
            else:
                answer = None
        except Exception:  # noqa: BLE001  the ordinary path fails likewise, and says what has to be said
            return None
        return None if answer is None else CachedResponse._make(answer)
    return None


def depends_on(
    request: HttpRequest, caller: Caller, *dependencies: Dependency, is_personal: bool = False
) -> None:
    """Declare the dependencies of the answer besides the caller's rights, so that it is cached.

    `is_personal` marks an answer that depends on the caller's identity, not only on their rights.
    """
    miss: CacheMiss | None = getattr(request, "cache_miss", None)
    if miss is not None:
        miss.pending.depends_on(*dependencies)
        miss.asker = rights_digest(caller, caller.user_id) if is_personal else rights_digest(caller)
    replica_reads.depends_on(*dependencies)


def leave_template(request: HttpRequest, template: Template) -> None:
    """Store how the same request is answered for other resources."""
    miss: CacheMiss | None = getattr(request, "cache_miss", None)
    # With an entity tag of the caller, the content decides the status.
    if miss is not None and (template.is_in_parts or "If-None-Match" not in request.headers):
        miss.template = template


def evaluate_in_context(
    request: HttpRequest, make: Callable[[], Mapping[str, Any]], template: Template
) -> dict[str, Any] | None:
    """Return the answer to a request in its context, and cache its parts for all contexts.

    `make` returns the parts and declares their dependencies; `template` does so for other resources. Returns
    None if nothing is cached for this request, or if the parts are too large. Raises as `make` does, and
    `Invalid` as the evaluation does.
    """
    miss: CacheMiss | None = getattr(request, "cache_miss", None)
    if miss is None or miss.asked.context is None:
        return None
    parts = make()
    if _weigh_parts(parts) > _MAX_PARTS:
        return None
    answer = answer_in(parts, miss.asked.context)
    miss.parts = parts
    leave_template(request, template)
    return answer


def _weigh_parts(parts: Mapping[str, Any]) -> int:
    return len(canonical.dump(parts))


def _is_quick(parts: Mapping[str, Any], size: int) -> bool:
    """Return whether evaluating the parts delays no other request noticeably; a schema can take long."""
    arms = (parts["rollout"] or {"arms": ()})["arms"]
    schemas = (arm["requestContextSchema"] for arm in (parts, *arms))
    return size <= _QUICK_PARTS and not any(schema is not None for schema in schemas)


def _identify_request(request: HttpRequest) -> RequestIdentity | None:
    """Return the identity of a request, None if its answer must not be cached."""
    # Django has already changed a path that is not UTF-8.
    exact = isinstance(request, WSGIRequest) and getattr(request, "path_is_exact", True)
    environ = request.META
    if request.path_info.endswith("/parts") and has_encoded_end(request, "parts"):
        return None  # an id from before `parts` was reserved, not the route
    if request.method != "GET" or not exact or not is_caching():
        return None
    has_body = environ.get("CONTENT_LENGTH") not in {None, "", "0"} or "HTTP_TRANSFER_ENCODING" in environ
    if has_body or environ.get("HTTP_COOKIE") or "HTTP_AUTHORIZATION" not in environ:
        return None
    headers = (environ.get(_variable(name)) for name in asked_headers())
    try:
        query = environ.get("QUERY_STRING", "").encode("latin-1")
        header_values = [None if value is None else value.encode("latin-1") for value in headers]
    except UnicodeEncodeError:  # servers never pass this on
        return None
    # Django has decoded the path and the root.
    scheme, root = environ["wsgi.url_scheme"].encode(), environ["SCRIPT_NAME"].encode()
    return RequestIdentity.of(scheme, root, query, header_values, request.path_info.encode())


@cache
def _header_name(variable: str) -> bytes:
    return variable.removeprefix("HTTP_").replace("_", "-").lower().encode()


@cache
def _variable(header: bytes) -> str:
    return f"HTTP_{header.decode().upper().replace('-', '_')}"


def _digest(inputs: bytes, path: bytes) -> bytes:
    # Only the path can contain a zero byte, so it comes last.
    return blake2b(b"%b\0%b" % (inputs, path), digest_size=_DIGEST_BYTES).digest()


def _number_headers(usual: Headers) -> int | None:
    """Return the number of this set of headers, stored once for all answers; None if there are too many."""
    with _numbering:
        if usual in _usual_headers:
            return _usual_headers.index(usual)
        if len(_usual_headers) == MAX_USUAL_HEADERS:
            return None
        _usual_headers.append(usual)
        return len(_usual_headers) - 1


def _answer_headers(content: bytes, etag: str, rights: str) -> list[tuple[str, str]]:
    """Return the headers in `_OF_ONE_ANSWER`."""
    return [("ETag", f'"{etag}"'), ("Content-Length", str(len(content))), (RIGHTS_HEADER, rights)]


def _as_bytes(headers: Iterable[tuple[str, str]]) -> Headers:
    return tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers)


def _response(request: HttpRequest, cached: CachedResponse, started: float) -> HttpResponse:
    request_id = request_id_for(request.headers.get(REQUEST_ID, ""))
    if telemetry.is_traced():
        seconds = time.perf_counter() - started
        telemetry.report_answer("GET", cached.path, cached.status, seconds, trace_headers(request))
    log_request("GET", cached.path, cached.status, started, requestId=request_id)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in cached.headers}
    response = HttpResponse(cached.content, status=cached.status, headers={**headers, REQUEST_ID: request_id})
    if "Content-Type" not in headers:
        del response["Content-Type"]  # added by Django
    return response
