"""Answers about one resource after another, made without Django once it has answered about one of them.

Requests that differ in nothing but the id at the end of the path, by callers with the same rights, get the
same headers, and content that one function makes. So the ordinary way answers one of them a minute and
leaves a template; for the others only the content is made. What goes wrong goes the ordinary way.
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
    """Makes what is answered about a resource; raises as the verbs do."""

    def __call__(self, resource_id: str, caller: Caller, depends_on: Callable[..., None]) -> Json:
        """Return it, and say what it depends on."""


class Template(NamedTuple):
    """What a view answers about any resource."""

    resource_id: str
    """The resource about which it was asked."""
    make: Make
    render: Callable[[Json], tuple[bytes, str]]
    """Returns the content of the answer, and its entity tag."""


class _Stored(NamedTuple):
    since: Moment
    headers: int
    template: Template


_templates: Final[BoundedCache[bytes, _Stored]] = BoundedCache(MAX_TEMPLATES)


def store(question: bytes, since: Moment, headers: int, template: Template) -> None:
    """Store a template, with the number of the headers that its answers have.

    `question` are digests of what is asked, but for the id, and of the rights of the asker.
    """
    _templates.put(question, _Stored(since, headers, template), 1)


def find(question: bytes, now: Moment) -> tuple[int, Template] | None:
    """Return the number of the headers and the template for a question; None if there is none that holds."""
    found = _templates.get(question)
    if found is None or not log.is_right(found.since, (), now):
        return None
    return found.headers, found.template
