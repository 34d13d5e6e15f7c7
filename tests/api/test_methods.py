"""An unknown method is a 405 with `Allow`, for every caller and on every route."""

from __future__ import annotations

import pytest

from tests.support.api import Answer, Api, Kind
from tests.support.openapi import ROUTES
from tests.support.remote import connected
from tests.support.service import Service
from tests.support.unchanged import is_refusal

NOBODY = Api("", prefix="")
PLAIN = ["/api/schema", "/api/docs", "/api/healthz", "/api/readyz", "/healthz", "/readyz"]
UNKNOWN = ["/api/nothing", "/api/", "/nothing", "/api/stored/agents/%FF"]
PAGES = ["/studio/", "/studio/login/", "/studio/versioning/agent/", "/studio/nothing/"]


def allowed(answer: Answer) -> set[str]:
    return set(filter(None, str(answer.headers["Allow"]).split(", ")))


def parted(route: str) -> tuple[str, str, str]:
    return route.partition(" ")


def methods_of(path: str) -> set[str]:
    """Return the methods that are documented for a path, and HEAD, which comes with GET."""
    known = {method for method, _, route in map(parted, ROUTES) if route == path}
    return known | ({"HEAD"} if "GET" in known else set())


METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "BREW"]


def test_the_methods_of_a_url_are_answered_without_credentials() -> None:
    known = {f"/api{path.replace('{}', 'x')}": methods_of(path) for _, _, path in map(parted, ROUTES)}
    for path, methods in {**known, **{path: {"GET", "HEAD"} for path in PLAIN}}.items():
        for method in METHODS:
            if method not in methods:
                answer = NOBODY.request(method, path)
                assert is_refusal(answer, 405, "method_not_allowed"), (method, path)
                assert allowed(answer) == methods, (method, path)


def test_trace_is_refused_everywhere() -> None:
    for path in [*UNKNOWN, *PAGES]:
        answer = NOBODY.request("TRACE", path)
        assert is_refusal(answer, 405, "method_not_allowed"), path
        assert "TRACE" not in allowed(answer), path


@pytest.mark.processes
def test_a_real_server_sends_nothing_back_to_trace(live_service: Service, kind: Kind) -> None:
    with connected(live_service) as api:
        for path in (kind.path, "/nothing", "/schema"):
            answer = api.request("TRACE", path)
            assert is_refusal(answer, 405, "method_not_allowed"), path
            assert "Allow" in answer.headers
