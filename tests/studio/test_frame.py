"""The frame of every page: who may open it, and what it shows where nothing is."""

from __future__ import annotations

import re
from itertools import cycle

import pytest
from django.contrib.auth.models import User

from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.calls import make_history, undone
from tests.support.people import give_role, person
from tests.support.studio import PageResponse, Visitor, distinct_routes, page_of, workspace_page
from versioning.models import Membership

PASSWORD = "a long enough password"
OPEN = (
    *("/studio/login/", "/studio/logout/", "/studio/sso/", "/studio/translations/"),
    "/studio/versioning/workspace/welcome/",
)
"""The pages that strangers may see."""


ADDRESSES = [
    re.sub("<.*?>", "1", route)  # it need not exist
    for route in distinct_routes()
    if not route.startswith(OPEN) and not route.endswith("/try/run/")
]
"""The pages that need a sign-in."""


def test_every_page_is_for_members_who_are_signed_in(cast: Cast) -> None:
    assert len(ADDRESSES) > 50
    person("nora")
    User.objects.filter(username="nora").update(is_staff=True)
    stranger, nora = Visitor(), Visitor("nora")
    for address in ADDRESSES:
        answer = stranger.get(address)
        asked = (answer.status, answer.headers.get("Location"))
        assert asked == (302, f"/studio/login/?next={address}"), address
        assert nora.get(address).status == 302, address


def test_the_content_security_policy_applies_only_to_the_studio(cast: Cast) -> None:
    assert "Content-Security-Policy" not in cast.alice.get("/stored/agents").headers
    docs = cast.alice.get("/docs").headers["Content-Security-Policy"]
    assert "script-src 'self' 'sha256-" in docs and "unsafe" not in docs
    assert "camera=()" in cast.alice.get("/stored/agents").headers["Permissions-Policy"]
    elsewhere = Visitor(headers={"host": "elsewhere.example"})
    for refused in (Visitor().client.trace("/api/me"), elsewhere.get("/api/me").response):
        assert (refused["X-Frame-Options"], refused["X-Content-Type-Options"]) == ("DENY", "nosniff")


def test_leaving_the_last_workspace_ends_the_access_at_the_next_request(cast: Cast) -> None:
    vera, page = Visitor("vera"), "/studio/name/"
    assert vera.get(page).status == 200
    Membership.objects.filter(user__username="vera").delete()
    assert vera.get(page).status == 302
    give_role("vera", "elsewhere", "viewer")
    assert vera.get(page).status == 200


def test_only_members_can_sign_in_and_others_see_the_reason(cast: Cast) -> None:
    for name, password, says in [
        ("edgar", PASSWORD, None),
        ("edgar", "wrong", "The user name or the password is wrong."),
        ("nobody", PASSWORD, "The user name or the password is wrong."),
        ("nora", PASSWORD, "not a member of any workspace"),
    ]:
        with undone():
            person("nora")
            for user in User.objects.filter(username__in=("edgar", "nora")):
                user.set_password(PASSWORD)
                user.save()
            answer = Visitor().post("/studio/login/", {"username": name, "password": password})
            if says is None:
                assert (answer.status, answer.headers["Location"]) == (302, "/studio/")
            else:
                assert answer.status == 200 and says in answer.markup


def test_signing_in_redirects_to_the_requested_page_of_the_studio_only(cast: Cast) -> None:
    edgar = User.objects.get(username="edgar")
    edgar.set_password(PASSWORD)
    edgar.save()
    form = {"username": "edgar", "password": PASSWORD}
    led = {
        wanted: Visitor().post(f"/studio/login/?next={wanted}", form).headers["Location"]
        for wanted in ("/studio/versioning/agent/", "https://elsewhere.example/")
    }
    assert list(led.values()) == ["/studio/versioning/agent/", "/studio/"]


def test_unreadable_resources_look_like_missing_ones(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice, "secret")
    charlie = Visitor("charlie")
    for page in ("change", "history", "preview", "usage", "delete"):
        seen = [charlie.get(page_of(kind, page, name)) for name in ("secret", "missing")]
        assert [answer.status for answer in seen] == [404, 404]
        assert seen[0].text == seen[1].text


def test_the_root_urls_redirect_to_the_studio(db: None) -> None:
    assert [Visitor().get(address).headers["Location"] for address in ("/", "/studio")] == ["/studio/"] * 2


def test_the_bare_url_of_a_resource_redirects_to_its_edit_page(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "policies/refunds")
    address = page_of(kind, "change", "policies/refunds")
    seen = Visitor("alice").get(address.removesuffix("change/"))
    assert (seen.status, seen.headers["Location"]) == (302, address)


def test_every_id_has_its_pages(cast: Cast, kind: Kind) -> None:
    pages = cycle(("change", "history", "usage"))
    for resource_id in ("ünï/cödé", "a?b#c", "a%2Fb", "a_2Fb", "add", "quote'\"<b>"):
        kind.make(cast.alice, resource_id)
        seen = Visitor("alice").get(page_of(kind, next(pages), resource_id))
        assert (seen.status, resource_id in seen.text) == (200, True)


def test_only_tabs_that_the_reader_may_open_are_shown(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    for name, some in (("edgar", True), ("vera", False)):
        window = Visitor(name)
        links = window.get(page_of(kind, "usage")).links
        assert (page_of(kind, "history") in links) == (page_of(kind, "compare") in links) == some
        assert all(window.get(link).status == 200 for link in {*links} if "/writer/" in link)


def rows_of_tabs(seen: PageResponse) -> list[tuple[list[str], list[str]]]:
    """Return the titles in the rows of tabs on a page, each with those in the menu at its end."""
    found = re.findall(r'<nav class="tabs[^>]*data-links>(.*?)</nav>', seen.markup, re.DOTALL)
    split = [row.partition("<details") for row in found]
    return [
        (re.findall(r"<a [^>]*>([^<]+)", row), re.findall(r"<a [^>]*>([^<]+)", more))
        for row, _, more in split
    ]


def test_no_page_has_more_than_five_tabs(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    for name in ("alice", "root"):  # admins and superusers have the most
        window = Visitor(name)
        for page in (page_of(kind, "usage"), workspace_page("activity"), workspace_page("members")):
            for shown, more in rows_of_tabs(window.get(page)):
                assert 0 < len(shown) + bool(more) <= 5, (name, page, shown, more)


def test_tabs_without_a_place_are_in_a_menu_named_like_the_page_if_it_is_there(cast: Cast) -> None:
    make_history(AGENTS, cast.alice)
    alice = Visitor("alice")
    edit = alice.get(page_of(AGENTS, "change"))
    [(shown, more)] = rows_of_tabs(edit)
    assert [one.strip() for one in shown] == ["Edit", "History", "Preview", "Try"]
    assert [one.strip() for one in more] == ["Compare", "Used by", "Activity", "Rollout", "Usage"]
    menu = r'<summary{}><span data-title="More views">{}</span>'
    assert menu.format("", "More views") in edit.markup
    assert menu.format(' aria-current="page"', "Compare") in alice.get(page_of(AGENTS, "compare")).markup


BARS = (["Reviews", "Releases", "Calendar", "Datasets"], ["Gates", "Activity", "Settings"])
"""The tabs of a workspace for a person who saves there, and those that are folded away."""


def test_the_menu_of_the_bar_has_a_title_on_every_page(cast: Cast) -> None:
    for address in ("/studio/account/", "/studio/", "/studio/versioning/agent/add/"):
        assert '<span data-title="More">' in Visitor("alice").get(address).markup


def test_the_administration_of_a_workspace_is_below_settings(cast: Cast) -> None:
    settings = ["Members", "API keys", "Service accounts", "Review policy", "Webhooks"]
    for name, own, below in (
        ("alice", BARS, settings),
        ("edgar", BARS, ["Review policy"]),
        ("vera", (["Activity"], []), None),
    ):
        window = Visitor(name)
        seen = window.get(workspace_page("activity"))
        assert rows_of_tabs(seen) == [own], name
        if below is not None:
            seen = window.get(workspace_page("review-policy"))
            assert rows_of_tabs(seen) == [own, (below, [])], name
        assert all(window.get(link).status == 200 for link in {*seen.links} if "/workspace/acme/" in link)


def test_a_form_of_an_outdated_page_is_refused_with_advice(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    strict = Visitor("alice", enforce_csrf_checks=True)
    seen = strict.post(page_of(kind, "delete"), tag="*")
    assert (seen.status, "is kept in this browser" in seen.text) == (403, True)
    assert cast.alice.get(kind.url("writer"), status="draft").status == 200


@pytest.mark.parametrize(
    ("headers", "says"),
    [({}, "This browser keeps no cookies"), ({"Origin": "https://elsewhere.example"}, "came from elsewhere")],
)
def test_a_form_without_cookies_or_from_elsewhere_is_refused_with_the_reason(
    cast: Cast, headers: dict[str, str], says: str
) -> None:
    client = Visitor(enforce_csrf_checks=True, headers=headers)
    if headers:
        client.client.force_login(User.objects.get(username="alice"))
    answer = client.post("/studio/tour/")
    assert answer.status == 403 and says in answer.markup


def test_an_address_without_a_page_is_a_page_to_a_browser_and_json_elsewhere(cast: Cast) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for client in (Visitor(), Visitor("edgar")):
        answer = client.get("/nowhere", headers=browser)
        assert (answer.status, "Page not found" in answer.markup) == (404, True)
        for address, headers in (("/nowhere", {}), ("/api/nowhere", browser)):
            answer = client.get(address, headers=headers)
            assert (answer.status, answer.headers["Content-Type"]) == (404, "application/json")


def test_a_server_error_is_a_page_in_the_studio_and_json_elsewhere(
    cast: Cast, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind.make(cast.alice)
    monkeypatch.setattr("versioning.editor.collection.Collection.dependents", None)
    seen = Visitor("alice", raise_request_exception=False).get(page_of(kind, "usage"))
    assert (seen.status, "Its log says what" in seen.text) == (500, True)
    answer = cast.alice.get(kind.url("writer", "dependents"))
    assert (answer.status, answer.code) == (500, "server_error")
