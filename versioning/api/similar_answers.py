"""Answers to the same request for different resources, made without Django after the first one.

Requests that differ only in the id at the end of the path, by callers with the same rights, get the same
headers, and content that one function makes. So the ordinary path answers one of them a minute and leaves a
template; for the others only the content is made. Failures take the ordinary path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from versioning.domain.access import Caller
from versioning.domain.bounded_cache import BoundedCache
from versioning.serving.followed_log import Moment, log

MAX_TEMPLATES: Final = 256

Json = dict[str, Any]


class Make(Protocol):
    """Makes the answer for a resource; raises as the verbs do."""

    def __call__(self, resource_id: str, caller: Caller, depends_on: Callable[..., None]) -> Json:
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


class _Stored(NamedTuple):
    since: Moment
    headers: int
    template: Template


_templates: Final[BoundedCache[bytes, _Stored]] = BoundedCache(MAX_TEMPLATES)


def store(question: bytes, since: Moment, headers: int, template: Template) -> None:
    """Store a template, with the number of its answers' set of headers.

    `question` contains digests of the request without the id, and of the caller's rights.
    """
    _templates.put(question, _Stored(since, headers, template), 1)


def find(question: bytes, now: Moment) -> tuple[int, Template] | None:
    """Return the number of the headers and the template for a request; None if there is no valid one."""
    found = _templates.get(question)
    if found is None or not log.is_right(found.since, (), now):
        return None
    return found.headers, found.template
