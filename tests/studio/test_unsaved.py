"""The server's part for text that was typed and not saved; the browser keeps the copies."""

from __future__ import annotations

from typing import Any

from django.test import Client

from studio.unsaved import COOKIE
from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.calls import make_history, undone
from tests.support.studio import KINDS, Visitor, controls, page_of


def of_the_form(answer: Any) -> dict[str, str]:
    return controls(answer.markup, "edit-form")


def test_text_is_restored_into_the_form_without_saving(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    edgar = Visitor("edgar")
    typed = edgar.form(kind) | {"description": "typed", "requestContextSchema": "{", "then": "restore"}
    before = cast.alice.get(kind.url("writer"), status="draft").etag
    answer = edgar.post(page_of(kind, "change"), typed)
    assert answer.status == 200 and b"Your text is back in the form" in answer.content
    back = of_the_form(answer)
    assert (back["description"], back["requestContextSchema"]) == ("typed", "{")
    assert cast.alice.get(kind.url("writer"), status="draft").etag == before
    assert edgar.post(page_of(kind, "change"), back | {"requestContextSchema": ""}).status == 302
    assert cast.alice.get(kind.url("writer"), status="draft").body["description"] == "typed"


def test_text_is_restored_on_top_of_later_saves_even_if_invalid(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    edgar = Visitor("edgar")
    typed = edgar.form(kind) | {"description": "typed", "requestContextSchema": "{", "then": "restore"}
    cast.paula.patch(kind.url("writer"), {"name": "Paula's"})
    answer = edgar.post(page_of(kind, "change"), typed)
    page = answer.markup
    assert answer.status == 200
    assert "Your text is back in the form" in page and "version 5</a>" in page
    back = of_the_form(answer)
    assert (back["name"], back["description"], back["requestContextSchema"]) == ("Paula's", "typed", "{")
    assert edgar.post(page_of(kind, "change"), back | {"requestContextSchema": ""}).status == 302
    saved = cast.alice.get(kind.url("writer"), status="draft").body
    assert (saved["name"], saved["description"]) == ("Paula's", "typed")


def test_the_form_of_a_new_resource_is_restored_without_creating_it(cast: Cast, kind: Kind) -> None:
    add = KINDS[kind].address("add")
    typed = {"name": "New", "id": "fresh", "workspace": "acme", "text": "typed words"}
    seen = Visitor("edgar").post(add, **typed, then="restore")
    assert seen.status == 200 and "Your text is back in the form" in seen.text
    assert "typed words" in seen.markup and seen.field("id") == "fresh"
    assert cast.alice.get(kind.url("fresh"), status="draft").status == 404


def test_only_a_successful_save_names_its_local_copy(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    edgar = Visitor("edgar")
    assert COOKIE not in edgar.save(kind, name=" ", copy="aaa").response.cookies
    assert COOKIE not in edgar.save(kind, name="x", copy="aaa", then="restore").response.cookies
    assert COOKIE not in edgar.save(kind, name="x", copy="aaa", tag="old").response.cookies
    assert edgar.save(kind, name="Renamed", copy="aaa").response.cookies[COOKIE].value == "aaa"
    # The first cookie was not read yet when a second tab saves.
    cookie = edgar.save(kind, name="Again", copy="bbb", then="publish").response.cookies[COOKIE]
    assert (cookie.value, cookie["path"], cookie["samesite"]) == ("aaa.bbb", "/studio/", "Lax")
    assert edgar.save(kind, copy="ccc").response.cookies[COOKIE].value == "aaa.bbb.ccc"
    made = edgar.post(
        KINDS[kind].address("add"), {"name": "New", "text": "x", "workspace": "acme", "copy": "ddd"}
    )
    assert made.response.cookies[COOKIE].value == "aaa.bbb.ccc.ddd"


def test_an_invalid_id_of_a_local_copy_sets_no_cookie(cast: Cast) -> None:
    AGENTS.make(cast.alice, "writer")
    edgar = Visitor("edgar")
    form = edgar.form(AGENTS)
    for copy in ["", "a b", "a;b", 'a"b', "x" * 41, "Ä"]:
        with undone():
            saved = edgar.save(AGENTS, form, name="Renamed", copy=copy)
            assert (saved.status, COOKIE in saved.response.cookies) == (302, False), copy


def test_a_form_sent_after_the_session_ended_redirects_to_its_page_via_the_sign_in(
    cast: Cast, kind: Kind
) -> None:
    kind.make(cast.alice, "writer")
    edgar = Visitor("edgar")
    typed = edgar.form(kind)
    edgar.client.logout()
    answer = edgar.post(page_of(kind, "change"), typed)
    assert answer.status == 302
    assert answer.headers["Location"] == f"/studio/login/?next={page_of(kind, 'change')}"


def test_an_outdated_page_links_back_to_its_form(cast: Cast) -> None:
    edgar = Visitor("edgar")
    for referer, leads_back in [
        ("http://testserver/studio/versioning/agent/writer/change/?x=1", True),
        ("http://testserver/api/docs", False),
        ("https://elsewhere.example/studio/", False),
        ("http://testserver//elsewhere.example/studio/", False),
        ("javascript:alert(1)", False),
        ("", False),
    ]:
        client = Client(enforce_csrf_checks=True, headers={"Referer": referer})
        client.cookies = edgar.client.cookies
        answer = client.post(page_of(AGENTS, "change"), {"name": "x"})
        page = answer.content.decode()
        assert answer.status_code == 403 and "out of date" in page
        assert ("Open the page again" in page) is leads_back
        assert ('href="/studio/versioning/agent/writer/change/?x=1"' in page) is leads_back


def test_a_page_that_answers_a_form_goes_on_with_the_copy_of_the_form(cast: Cast, kind: Kind) -> None:
    add = KINDS[kind].address("add")
    edgar = Visitor("edgar")
    refused = edgar.post(add, name=" ", copy="abc1")
    assert refused.status == 400 and 'data-copy="abc1"' in refused.markup
    assert "data-copy" not in edgar.post(add, name=" ", copy="<no id>").markup
    assert "data-copy" not in edgar.get(add).markup
