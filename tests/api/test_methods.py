"""A method that an address does not know is a 405 with `Allow`, whoever asks and whatever the address."""

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
    """Return the methods that an answer says are known."""
    return set(filter(None, str(answer.headers["Allow"]).split(", ")))


def methods_of(path: str) -> set[str]:
    """Return the methods that are documented for a path, and HEAD, which comes with GET."""
    known = {method for method, _, route in (route.partition(" ") for route in ROUTES) if route == path}
    return known | ({"HEAD"} if "GET" in known else set())


@pytest.mark.parametrize("path", sorted({route.partition(" ")[2] for route in ROUTES}))
@pytest.mark.parametrize("method", ["TRACE", "OPTIONS", "BREW"])
def test_nobody_needs_to_sign_in_to_learn_which_methods_a_route_knows(path: str, method: str) -> None:
    answer = NOBODY.request(method, "/api" + path.replace("{}", "x"))
    assert is_refusal(answer, 405, "method_not_allowed")
    assert allowed(answer) == methods_of(path)


@pytest.mark.parametrize("path", PLAIN)
@pytest.mark.parametrize("method", ["TRACE", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"])
def test_what_is_only_read_knows_no_other_method(path: str, method: str) -> None:
    answer = NOBODY.request(method, path)
    assert is_refusal(answer, 405, "method_not_allowed")
    assert allowed(answer) == {"GET", "HEAD"}


@pytest.mark.parametrize("path", [*UNKNOWN, *PAGES])
def test_trace_is_answered_nowhere(path: str) -> None:
    answer = NOBODY.request("TRACE", path)
    assert is_refusal(answer, 405, "method_not_allowed")
    assert "TRACE" not in allowed(answer)


def test_a_real_server_sends_nothing_back_to_trace(live_service: Service, kind: Kind) -> None:
    with connected(live_service) as api:
        for path in (kind.path, "/nothing", "/schema"):
            answer = api.request("TRACE", path)
            assert is_refusal(answer, 405, "method_not_allowed"), path
            assert "Allow" in answer.headers
