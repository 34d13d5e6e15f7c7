"""The frame of every page: who may enter, what a page may load, and what stands where nothing is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import make_history
from tests.support.people import give_role, person
from tests.support.window import Window, page_of, studio_routes
from versioning.models import Membership

PASSWORD = "a long enough password"
POLICY = "script-src 'self'"


IN_ADDRESSES = {
    "resource": "writer",
    "version": "x",
    "workspace": "acme",
    "member": "vera",
    "prefix": "ek_x",
    "webhook": "x",
    "delivery": "x",
    "review": "x",
    "release": "x",
    "schedule": "x",
    "comment": "x",
    "language": "de",
    **dict.fromkeys(("content_type_id", "object_id", "id"), "1"),
}
"""What stands for the variables of an address; it need not exist."""
OPEN = (
    "/studio/login/",
    "/studio/logout/",
    "/studio/translations/",
    "/studio/versioning/workspace/welcome/",
)
"""The pages that strangers may see."""


def every_address() -> Iterator[str]:
    """Yield an address of every page that takes a sign-in."""
    for route in studio_routes():
        if not route.startswith(OPEN) and not route.endswith("/try/run/"):
            yield re.sub(r"<(?:\w+:)?(\w+)>", lambda found: IN_ADDRESSES[found[1]], route)


ADDRESSES = sorted(set(every_address()))


def test_there_are_pages_to_look_at() -> None:
    assert len(ADDRESSES) > 50
    assert {"/studio/", page_of(AGENTS, "history"), page_of(PROMPT_BLOCKS, "change")} <= set(ADDRESSES)


def test_every_page_asks_strangers_to_sign_in_first(db: None) -> None:
    for address in ADDRESSES:
        answer = Client().get(address)
        asked = (answer.status_code, answer.headers.get("Location"))
        assert asked == (302, f"/studio/login/?next={address}"), address


def test_every_page_is_closed_to_a_member_of_nothing(cast: Cast) -> None:
    person("nora")
    User.objects.filter(username="nora").update(is_staff=True)
    nora = Window.of("nora")
    assert [address for address in ADDRESSES if nora.get(address).status != 302] == []


def test_no_page_runs_or_loads_what_is_not_a_file_of_this_server(cast: Cast) -> None:
    make_history(AGENTS, cast.alice)
    for address in ADDRESSES:
        seen = Window.of("alice").get(address)
        policy = seen.headers["Content-Security-Policy"]
        assert POLICY in policy and "unsafe" not in policy, address
        for forbidden in (" style=", " onclick=", "<style", "javascript:"):
            assert forbidden not in seen.markup, address
        assert not [link for link in seen.links if link.startswith(("http", "//"))], address


def test_the_policy_is_the_studios_alone(cast: Cast) -> None:
    assert "Content-Security-Policy" not in cast.alice.get("/stored/agents").headers


@pytest.mark.parametrize("name", ["alice", "paula", "edgar", "vera", "charlie", "root"])
def test_members_of_any_workspace_enter_whatever_their_staff_flag_says(cast: Cast, name: str) -> None:
    User.objects.filter(username=name).update(is_staff=False)
    assert Window.of(name).get("/studio/").status == 200


def test_who_leaves_the_last_workspace_is_out_at_the_next_click(cast: Cast) -> None:
    vera = Window.of("vera")
    assert vera.get("/studio/").status == 200
    Membership.objects.filter(user__username="vera").delete()
    assert vera.get("/studio/").status == 302
    give_role("vera", "elsewhere", "viewer")
    assert vera.get("/studio/").status == 200


def test_who_is_made_inactive_is_out_at_the_next_click(cast: Cast) -> None:
    alice = Window.of("alice")
    User.objects.filter(username="alice").update(is_active=False)
    assert alice.get("/studio/").status == 302


@pytest.mark.parametrize(
    ("name", "password", "says"),
    [
        ("edgar", PASSWORD, None),
        ("edgar", "wrong", "Please enter"),
        ("nobody", PASSWORD, "Please enter"),
        ("nora", PASSWORD, "member of no workspace"),
    ],
)
def test_who_may_enter_signs_in_and_others_hear_why_not(
    cast: Cast, name: str, password: str, says: str | None
) -> None:
    person("nora")
    for user in User.objects.filter(username__in=("edgar", "nora")):
        user.set_password(PASSWORD)
        user.save()
    answer = Client().post("/studio/login/", {"username": name, "password": password})
    if says is None:
        assert (answer.status_code, answer.headers["Location"]) == (302, "/studio/")
    else:
        assert answer.status_code == 200 and says in answer.content.decode()


def test_signing_in_leads_to_the_page_that_was_asked_for_and_nowhere_else(cast: Cast) -> None:
    edgar = User.objects.get(username="edgar")
    edgar.set_password(PASSWORD)
    edgar.save()
    form = {"username": "edgar", "password": PASSWORD}
    led = {
        wanted: Client().post(f"/studio/login/?next={wanted}", form).headers["Location"]
        for wanted in ("/studio/versioning/agent/", "https://elsewhere.example/")
    }
    assert list(led.values()) == ["/studio/versioning/agent/", "/studio/"]


@pytest.mark.parametrize("page", ["change", "history", "preview", "usage", "delete"])
def test_what_may_not_be_read_looks_like_what_is_not_there(cast: Cast, kind: Kind, page: str) -> None:
    make_history(kind, cast.alice, "secret")
    charlie = Window.of("charlie")
    seen = [charlie.get(page_of(kind, page, name)) for name in ("secret", "missing")]
    assert [answer.status for answer in seen] == [404, 404]
    assert seen[0].text == seen[1].text


@pytest.mark.parametrize("address", ["nothing/", "versioning/agent/x/nothing/", "auth/group/", "r/1/1/"])
def test_an_address_without_a_page_says_so(cast: Cast, address: str) -> None:
    seen = Window.of("alice").get(f"/studio/{address}")
    assert (seen.status, "There is nothing here" in seen.text) == (404, True)


def test_the_shortest_addresses_lead_to_the_studio(db: None) -> None:
    assert [Client().get(address).headers["Location"] for address in ("/", "/studio")] == ["/studio/"] * 2


def test_a_bare_address_of_a_resource_leads_to_its_edit_page(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "policies/refunds")
    address = page_of(kind, "change", "policies/refunds")
    seen = Window.of("alice").get(address.removesuffix("change/"))
    assert (seen.status, seen.headers["Location"]) == (302, address)
    assert Window.of("alice").get(address).status == 200


@pytest.mark.parametrize(
    "resource_id", ["a b", "ünï/cödé", "a?b#c", "a%2Fb", "a_2Fb", "add", "semi;colon", "quote'\"<b>"]
)
def test_every_id_has_its_pages(cast: Cast, kind: Kind, resource_id: str) -> None:
    kind.make(cast.alice, resource_id)
    for page in ("change", "history", "usage"):
        seen = Window.of("alice").get(page_of(kind, page, resource_id))
        assert (seen.status, resource_id in seen.text) == (200, True)


def test_the_tabs_are_those_that_one_may_open(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    for name, some in (("edgar", True), ("vera", False)):
        window = Window.of(name)
        links = window.get(page_of(kind, "usage")).links
        assert (page_of(kind, "history") in links) == (page_of(kind, "compare") in links) == some
        assert all(window.get(link).status == 200 for link in links if "/writer/" in link)


def test_a_form_of_a_page_that_is_too_old_is_refused_with_advice(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    strict = Window(Client(enforce_csrf_checks=True))
    strict.client.force_login(User.objects.get(username="alice"))
    seen = strict.post(page_of(kind, "delete"), tag="*")
    assert (seen.status, "is kept in this browser" in seen.text) == (403, True)
    assert cast.alice.get(kind.url("writer"), status="draft").status == 200


def test_a_bug_is_answered_with_a_page_in_the_studio_and_with_json_elsewhere(
    cast: Cast, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind.make(cast.alice)
    monkeypatch.setattr("versioning.editor.collection.Collection.dependents", None)
    seen = Window.of("alice").get(page_of(kind, "usage"))
    assert (seen.status, "Its log says what" in seen.text) == (500, True)
    answer = cast.alice.get(kind.url("writer", "dependents"))
    assert (answer.status, answer.code) == (500, "server_error")
