"""The routes of the editor in memory, its requests, answers and refusals.

A new list of objects is declared (`editor_client.testing.object_lists`); other routes are functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from editor_client.manage.kinds import KINDS
from editor_client.shared.errors import Invalid, Issue
from editor_client.shared.request_contexts import PARAMETER, read_context

Json = dict[str, Any]
NOT_A_FIELD: Final = "is not a field that can be set here"


class Refused(Exception):
    """An unsuccessful answer."""

    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status, self.code = status, code
        self.body = {"error": message, "code": code, **details}


def not_found() -> Refused:
    """Return the refusal for a missing object."""
    return Refused(404, "not_found", "There is nothing here that you can read.")


def unpublished() -> Refused:
    """Return the refusal for what was taken out of service."""
    return Refused(
        404, "unpublished", "It was unpublished: nothing is served until a version is published again."
    )


def not_done(what: str) -> Refused:
    """Return the refusal for a feature that only a real editor has."""
    return Refused(501, "not_in_fake_editor", f"FakeEditor does not do {what}; test it with a real editor.")


def refuse_unknown(given: Any, known: Any, message: str = NOT_A_FIELD) -> None:
    """Raise `Invalid` naming every unknown member."""
    issues = [Issue(name, message) for name in given if name not in known]
    if issues:
        raise Invalid(issues)


def required(given: Mapping[str, Any], *names: str) -> list[Any]:
    """Return the members with these names; raises `Invalid` naming those that are missing."""
    issues = [Issue(name, "is required") for name in names if name not in given]
    if issues:
        raise Invalid(issues)
    return [given[name] for name in names]


def number(query: Mapping[str, str], name: str, default: int, what: str = "") -> int:
    """Return an integer parameter."""
    text = query.get(name, str(default))
    if not text.isdecimal():
        raise Invalid.field(name, f"must be {what}a whole number from 0 on")
    return int(text)


@dataclass(kw_only=True)
class Request:
    """A request that has been routed."""

    names: tuple[str, ...]
    """The parts of the address for each `*` of the route."""
    query: Mapping[str, str]
    body: Mapping[str, Any]
    if_match: str | None

    @property
    def context(self) -> Json:
        """The request context of a read."""
        text = self.query.get(PARAMETER)
        return {} if text is None else read_context(text)

    def page(self, key: str, found: list[Json], *, size: int, nests_paging: bool = False) -> Answer:
        """Answer a page of a list."""
        page, per_page = number(self.query, "page", 0), number(self.query, "perPage", size)
        shown = found[page * per_page : (page + 1) * per_page]
        has_more = bool(shown) and (page + 1) * per_page < len(found)
        about = {"total": len(found), "page": page, "perPage": per_page, "hasMore": has_more}
        return Answer({key: shown, **({"pagination": about} if nests_paging else about)})


@dataclass(frozen=True)
class Answer:
    """The answer to a request; `etag` is that of a record, by default the content's."""

    content: Any
    status: int = 200
    etag: str | None = None
    is_stream: bool = False


def done(message: str) -> Answer:
    """Answer that the request succeeded."""
    return Answer({"success": True, "message": message})


Handler = Callable[[Any, Request], Answer]
"""Returns the answer, given the editor and a request."""


class Route(NamedTuple):
    """A method and an address, the supported parameters, and the handler."""

    method: str
    pattern: re.Pattern[str]
    parameters: tuple[str, ...]
    handler: Handler


_ROUTES: list[Route] = []


def route(method: str, path: str, *parameters: str) -> Callable[[Handler], Handler]:
    """Register the handler of a path, in which `*` stands for a name and `+` for the segment of a kind."""
    pattern = re.escape(path).replace(r"\*", "([^/]+)").replace(r"\+", f"({'|'.join(KINDS)})")

    def register(handler: Handler) -> Handler:
        _ROUTES.append(Route(method, re.compile(pattern), (*parameters, PARAMETER), handler))
        return handler

    return register


def find_route(method: str, path: str) -> tuple[Route, tuple[str, ...]]:
    """Return the route of a request and the names in its address; raises `Refused` if there is none."""
    for one in _ROUTES:
        match = one.pattern.fullmatch(path) if one.method == method else None
        if match is not None:
            return one, tuple(map(unquote, match.groups()))
    raise not_done(f"{method} {path}")
