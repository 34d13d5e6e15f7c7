"""Who may keep an answer: nobody between the service and the caller, whatever is asked and whoever asks."""

from __future__ import annotations

import pytest

from tests.conftest import Cast
from tests.support.api import Api, Kind
from tests.support.door import FrontDoor
from versioning.conf import get_editor

NO_STORE = "private, no-store"
REVALIDATE = "private, no-cache"


def test_refusals_that_come_before_a_view_say_who_may_store_them(alice: Api) -> None:
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


@pytest.mark.django_db(transaction=True)
def test_an_answer_that_is_given_again_says_the_same(cast: Cast, kind: Kind) -> None:
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
def test_health_is_asked_anew_and_the_description_is_anybodys() -> None:
    for prefix in ("/api", ""):
        api = Api("", prefix=prefix)
        assert {api.get(path).headers["Cache-Control"] for path in ("/healthz", "/readyz")} == {NO_STORE}
    described = Api("").request("GET", "/schema", accept="application/json")
    assert "public" in described.headers["Cache-Control"]
    refused = Api("").request("POST", "/schema")
    assert (refused.status, refused.headers["Cache-Control"]) == (405, NO_STORE)
