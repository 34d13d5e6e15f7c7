"""A call as a value: its request, and how to read the answer. Performs no I/O."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, Literal, NamedTuple, TypedDict, TypeVar, cast

from editor_client.errors import ValidationFailed, malformed
from editor_client.result import CachedResult, Result, camel
from editor_client.shared import canonical, ids
from editor_client.shared.request_contexts import PARAMETER as CONTEXT

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R", bound=Result)
Query = tuple[tuple[str, str], ...]
NO_OBJECT = "must be a JSON object"

Object = Mapping[str, Any]
ResourceKind = Literal["agent", "promptBlock", "scorer"]
"""The API's names of the kinds of resource."""
SEGMENTS = {"scorer": "scorers", "promptBlock": "prompt-blocks", "agent": "agents"}
"""Their segments in URLs."""

Base = CachedResult | str | None
"""The base of a change: a record as read, or its entity tag; None for any state."""


class Selector(TypedDict, total=False):
    """A version: at most one of these members; the published one without any."""

    status: Literal["published", "draft"] | None
    version_id: str | None
    label: str | None
    release: str | None
    """The id of a release: the versions served if it were published now."""


class Resource(NamedTuple):
    """The resource that a call is about; the cache finds all answers about it."""

    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class Request:
    """A request, below the API prefix and without the headers that all requests have."""

    method: str
    path: str
    query: Query = ()
    body: bytes | None = None
    if_match: str | None = None
    idempotency_key: str | None = None
    is_file: bool = False
    """Whether the body is a file of any form, and not JSON."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes = field(repr=False)

    @property
    def etag(self) -> str | None:
        """The entity tag."""
        return self.headers.get("etag")

    @property
    def rights(self) -> str:
        """The server's name for the installation and the rights of the key; empty if it sends none."""
        return self.headers.get("editor-rights", "")

    def json(self) -> Any:
        """Return the body; raises `ServerError` if it is not JSON."""
        try:
            return json.loads(self.content)
        except (ValueError, RecursionError):
            raise malformed("it is not JSON", self.status) from None


@dataclass(frozen=True, kw_only=True, slots=True)
class Call(Generic[T_co]):
    """A call of the server that returns a `T_co`."""

    request: Request
    read: Callable[[Answer], T_co]
    """Returns the result; raises `ServerError` for an invalid answer."""
    about: Resource | None = None
    cached: bool = False
    """Whether the answer is cached."""
    changes: bool = False
    """Whether earlier reads may be outdated afterwards."""
    removes: bool = False
    """Whether a served version may no longer exist afterwards."""
    events_tell: bool = True
    """Whether the log reports changes of the answer."""
    runs: bool = False
    """Whether a model is called, which takes longer than a read."""
    fallback: T_co | None = None
    """The result if nothing is cached and no server answers."""
    local: Local[T_co] | None = None
    """The local evaluation that replaces this request."""

    @classmethod
    def to(
        cls,
        method: str,
        path: str,
        read: Callable[[Answer], T_co],
        *,
        query: Query = (),
        body: Any = None,
        base: Base = None,
        **about: Any,
    ) -> Call[T_co]:
        """Return the call of an address; `body` is sent as JSON, `base` as `If-Match`.

        `about` sets other attributes of the call. Raises `ValidationFailed` for a body that JSON cannot
        represent.
        """
        content = None if body is None else encode_json(body)
        return cls(request=Request(method, path, query, content, entity_tag(base)), read=read, **about)


class Source(Generic[T_co]):
    """The source of an iterator: the pages of a list, the events of a run, or those of the log."""


@dataclass(frozen=True, slots=True)
class Local(Generic[T_co]):
    """The local evaluation of a result from the answer to another call, which covers every context."""

    parts: Call[Any]
    evaluate: Callable[[Any], T_co]
    """Returns the result; raises `CannotEvaluate`, and the server's errors."""
    evaluate_offline: Callable[[Any], T_co]
    """The same while no server answers: evaluates as much as possible."""


@lru_cache(maxsize=4096)
def id_segment(resource_id: str) -> str:
    """Return an id as one segment of a path; raises `ValidationFailed` if it is invalid."""
    problem = ids.problem(resource_id)
    if problem is not None:
        raise ValidationFailed.field("id", problem)
    return ids.encode(resource_id)


def segment(field: str, text: str) -> str:
    """Return a name as one segment of a path; raises `ValidationFailed` if it would change the path."""
    try:
        encoded = ids.encode(text)
    except UnicodeEncodeError:
        encoded = ""
    if encoded in {"", ".", ".."}:
        raise ValidationFailed.field(field, f"must not be {text!r}")
    return encoded


def query(**parameters: Any) -> Query:
    """Return the given parameters, with their JSON names and as text."""
    return tuple(
        (camel(name), value if isinstance(value, str) else encode_json(value, "query").decode())
        for name, value in parameters.items()
        if value is not None
    )


def encode_json(body: Any, field: str = "body") -> bytes:
    """Return the JSON of a value; raises `ValidationFailed` for values that JSON cannot represent."""
    try:
        return canonical.dump(body).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationFailed.field(field, f"cannot be sent: {error}") from None


def entity_tag(base: Base) -> str | None:
    """Return the value of `If-Match` for the base; raises `ValueError` for a record without a tag."""
    if not isinstance(base, CachedResult):
        return base
    if base.etag is None:
        raise ValueError("this record comes from a list and has no entity tag: read it with details()")
    return base.etag


def context_query(request_context: Mapping[str, Any] | None) -> Query:
    """Return a request context as a query parameter; equal contexts give the same text."""
    if request_context is None:
        return ()
    return ((CONTEXT, base64.b64encode(encode_context(request_context)).decode()),)


def encode_context(request_context: Mapping[str, Any]) -> bytes:
    """Return the JSON of a request context; raises `ValidationFailed` for anything else."""
    if not isinstance(request_context, Mapping):
        raise ValidationFailed.field(CONTEXT, NO_OBJECT)
    return encode_json(request_context, CONTEXT)


def text(answer: Answer) -> str:
    """Return the text of an answer that is a file."""
    return answer.content.decode()


def reading(result: type[R], **expected: Any) -> Callable[[Answer], R]:
    """Return a function that reads a result from an answer with the `expected` members.

    It raises `ServerError` for a proxy's page or for another resource, even if the status is a success.
    """

    def read(answer: Answer) -> R:
        own = {"etag": answer.etag} if issubclass(result, CachedResult) else {}
        instance = result.of(answer.json(), **own)
        for name, value in expected.items():
            if value is not None and getattr(instance, name) != value:
                raise malformed(f"it is about another {camel(name)}", answer.status)
        return instance

    return read


def cached_read(
    result: type[R], about: Resource, path: str, query: Query, *expected: tuple[str, str | None]
) -> Call[R]:
    """Return the call that reads a resource and caches the answer."""
    # Applications repeat the same few reads, so their descriptions are cached. With a context there may be as
    # many as there are users.
    describe = _cached_read.__wrapped__ if CONTEXT in dict(query) else _cached_read
    return cast("Call[R]", describe(result, about, path, query, expected))


@lru_cache(maxsize=4096)
def _cached_read(
    result: type[Result],
    about: Resource,
    path: str,
    query: Query,
    expected: tuple[tuple[str, str | None], ...],
) -> Call[Any]:
    request = Request("GET", path, query)
    read = reading(result, **dict(expected))
    # No event reports changes of a draft release.
    events_tell = all(name != "release" for name, _ in query)
    return Call(request=request, read=read, about=about, cached=True, events_tell=events_tell)
