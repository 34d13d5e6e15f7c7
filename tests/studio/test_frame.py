"""The frame of every page: who may enter, what a page may load, and what stands where nothing is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.calls import make_history, undone
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
    "rollout": "x",
    "arm": "new",
    "comment": "x",
    "language": "de",
    **dict.fromkeys(("content_type_id", "object_id", "id"), "1"),
}
"""What stands for the variables of an address; it need not exist."""
OPEN = ("/studio/login/", "/studio/logout/", "/studio/translations/", "/studio/versioning/workspace/welcome/")
"""The pages that strangers may see."""


def every_address() -> Iterator[str]:
    """Yield an address of every page that takes a sign-in."""
    for route in studio_routes():
        if not route.startswith(OPEN) and not route.endswith("/try/run/"):
            yield re.sub(r"<(?:\w+:)?(\w+)>", lambda found: IN_ADDRESSES[found[1]], route)


ADDRESSES = sorted(set(every_address()))


def test_every_page_asks_strangers_to_sign_in_first(db: None) -> None:
    assert len(ADDRESSES) > 50
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
    for address in (one for one in ADDRESSES if "/promptblock/" not in one):
        seen = Window.of("alice").get(address)
        policy = seen.headers["Content-Security-Policy"]
        assert POLICY in policy and "unsafe" not in policy, address
        for forbidden in (" style=", " onclick=", "<style", "javascript:"):
            assert forbidden not in seen.markup, address
        assert not [link for link in seen.links if link.startswith(("http", "//"))], address


def test_the_policy_is_the_studios_alone(cast: Cast) -> None:
    assert "Content-Security-Policy" not in cast.alice.get("/stored/agents").headers


def test_leaving_the_last_workspace_ends_the_access_at_the_next_request(cast: Cast) -> None:
    vera = Window.of("vera")
    assert vera.get("/studio/").status == 200
    Membership.objects.filter(user__username="vera").delete()
    assert vera.get("/studio/").status == 302
    give_role("vera", "elsewhere", "viewer")
    assert vera.get("/studio/").status == 200


def test_members_sign_in_and_others_are_told_why_not(cast: Cast) -> None:
    for name, password, says in [
        ("edgar", PASSWORD, None),
        ("edgar", "wrong", "Please enter"),
        ("nobody", PASSWORD, "Please enter"),
        ("nora", PASSWORD, "member of no workspace"),
    ]:
        with undone():
            person("nora")
            for user in User.objects.filter(username__in=("edgar", "nora")):
                user.set_password(PASSWORD)
                user.save()
            answer = Client().post("/studio/login/", {"username": name, "password": password})
            if says is None:
                assert (answer.status_code, answer.headers["Location"]) == (302, "/studio/")
            else:
                assert answer.status_code == 200 and says in answer.content.decode()


def test_signing_in_redirects_to_the_requested_page_of_the_studio_only(cast: Cast) -> None:
    edgar = User.objects.get(username="edgar")
    edgar.set_password(PASSWORD)
    edgar.save()
    form = {"username": "edgar", "password": PASSWORD}
    led = {
        wanted: Client().post(f"/studio/login/?next={wanted}", form).headers["Location"]
        for wanted in ("/studio/versioning/agent/", "https://elsewhere.example/")
    }
    assert list(led.values()) == ["/studio/versioning/agent/", "/studio/"]


def test_what_may_not_be_read_looks_like_what_is_not_there(cast: Cast, kind: Kind) -> None:
    for page in ("change", "history", "preview", "usage", "delete"):
        with undone():
            make_history(kind, cast.alice, "secret")
            charlie = Window.of("charlie")
            seen = [charlie.get(page_of(kind, page, name)) for name in ("secret", "missing")]
            assert [answer.status for answer in seen] == [404, 404]
            assert seen[0].text == seen[1].text


def test_the_shortest_addresses_lead_to_the_studio(db: None) -> None:
    assert [Client().get(address).headers["Location"] for address in ("/", "/studio")] == ["/studio/"] * 2


def test_a_bare_address_of_a_resource_leads_to_its_edit_page(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "policies/refunds")
    address = page_of(kind, "change", "policies/refunds")
    seen = Window.of("alice").get(address.removesuffix("change/"))
    assert (seen.status, seen.headers["Location"]) == (302, address)
    assert Window.of("alice").get(address).status == 200


def test_every_id_has_its_pages(cast: Cast, kind: Kind) -> None:
    for resource_id in ("ünï/cödé", "a?b#c", "a%2Fb", "a_2Fb", "add", "quote'\"<b>"):
        kind.make(cast.alice, resource_id)
        for page in ("change", "history", "usage"):
            seen = Window.of("alice").get(page_of(kind, page, resource_id))
            assert (seen.status, resource_id in seen.text) == (200, True)


def test_the_tabs_are_those_that_the_reader_may_open(cast: Cast, kind: Kind) -> None:
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
