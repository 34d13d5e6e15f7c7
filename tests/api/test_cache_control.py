"""`Cache-Control`: no proxy between the service and a caller may store an answer."""

from __future__ import annotations

import pytest

from tests.conftest import Cast
from tests.support.api import Api, Kind
from tests.support.door import FrontDoor
from versioning.conf import get_editor

NO_STORE = "private, no-store"
REVALIDATE = "private, no-cache"


def test_refusals_before_a_view_carry_cache_control_too(alice: Api) -> None:
    answers = [
        alice.get("/nothing/here"),
        alice.get("/stored/agents", surprise="1"),
        alice.request("TRACE", "/stored/agents"),
        alice.request("GET", "/stored/agents", host="evil.example"),
        alice.post("/stored/agents", b"x" * (2 * 1024 * 1024)),
        alice.post("/stored/agents", b"<a/>", content_type="application/xml"),
        alice.request("GET", "/agents", accept="image/png"),
    ]
    assert [answer.status for answer in answers] == [404, 400, 405, 400, 413, 415, 406]
    assert {answer.headers["Cache-Control"] for answer in answers} == {NO_STORE}


@pytest.mark.usefixtures("committed_db")
def test_a_304_carries_the_same_cache_control(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    door = FrontDoor(cast.alice.key)
    first = door.get(kind.url("writer"))
    cached = len(get_editor().cache)
    again = door.get(kind.url("writer"))
    unchanged = [door.request("GET", kind.url("writer"), if_none_match=first.etag) for _ in range(2)]
    assert cached > 0 and [answer.status for answer in (again, *unchanged)] == [200, 304, 304]
    answers = {answer.headers["Cache-Control"] for answer in (first, again, *unchanged)}
    assert answers == {REVALIDATE}


@pytest.mark.django_db
def test_health_is_never_stored_and_the_api_description_may_be_cached_publicly() -> None:
    for prefix in ("/api", ""):
        api = Api("", prefix=prefix)
        assert {api.get(path).headers["Cache-Control"] for path in ("/healthz", "/readyz")} == {NO_STORE}
    described = Api("").request("GET", "/schema", accept="application/json")
    assert "public" in described.headers["Cache-Control"]
    refused = Api("").request("POST", "/schema")
    assert (refused.status, refused.headers["Cache-Control"]) == (405, NO_STORE)
