"""Entity tags: those of answers, and those that requests expect."""

from __future__ import annotations

import hashlib
from typing import Any

from django.utils.http import parse_etags
from editor_client.shared import canonical
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response


def with_etag(request: Request, data: Any, *, etag: str | None = None, **response: Any) -> Response:
    """Return an answer with its `ETag`, or 304 to a read if the caller already has it."""
    quoted = f'"{etag or content_etag(data)}"'
    known = _given_etags(request.headers.get("If-None-Match", ""))
    if request.method in SAFE_METHODS and (quoted in known or known == ["*"]):
        return Response(status=304, headers={"ETag": quoted})
    answer = Response(data, **response)
    answer["ETag"] = quoted
    return answer


def content_etag(data: Any) -> str:
    """Return an entity tag that is the same for equal answers."""
    return hashlib.sha256(canonical.dump(data).encode()).hexdigest()[:32]


def expected_etags(request: Request) -> frozenset[str] | None:
    """Return the entity tags in `If-Match`; None if there is no such header."""
    given = request.headers.get("If-Match")
    if given is None:
        return None
    return frozenset(etag.strip('"').partition("-")[0] for etag in _given_etags(given))


def _given_etags(header: str) -> list[str]:
    # Weak tags count as strong: a proxy that compresses an answer weakens its tag.
    return [etag.removeprefix("W/") for etag in parse_etags(header)]
