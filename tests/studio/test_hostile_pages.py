"""Invalid URLs, filters and forms on every page of the studio: no answer is a server error."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from copy import copy
from itertools import cycle, islice
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.test import Client

from studio import sites
from studio.navigation import MainPage
from tests.conftest import Cast, cast_with
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api
from tests.support.calls import undone
from tests.support.honest_requests import make_one_of_everything, page_address, page_values
from tests.support.people import make_cast
from tests.support.studio import PageResponse, Visitor, controls, distinct_routes, workspace_page
from versioning.domain.access import Caller
from versioning.models import ApiKey

HOSTILE = ("\x00", "\ud800", "9999-12-31", "9" * 400, "[" * 500, '{"a": 1e999, "b": NaN}')
HOSTILE_IN_ADDRESSES = (*HOSTILE, "x" * 5_000, "00000000-0000-0000-0000-000000000000", "git-" + "0" * 40)
HOSTILE_IN_FIELDS = ("\x00", "9999-12-31", "9" * 400, "[" * 500)
QUERY = (
    *("after", "before", "base", "show", "seen", "resource_kind", "resource_id", "workspace_id", "type"),
    *("q", "page", "workspace", "state", "visibility", "author", "label", "folder", "order", "next", "kind"),
    *(
        "action",
        "actor",
        "target",
        "since",
        "until",
        "from",
        "to",
        "version",
        "versionId",
        "context",
        "field",
    ),
    *("tag", "waiting", "labelled", "starred", "whose", "find", "mode", "agent", "blocks", "of", "example"),
    *("draftBlock", "language", "v", "comments", "page"),
)
"""What pages read from their addresses."""
FORM = (
    *("tag", "name", "id", "username", "role", "last_day", "message", "password", "context", "visibility"),
    *("released", "label", "version", "text", "autoPublish", "invitation", "new_password1", "new_password2"),
    *("old_password", "instructions.mode", "instructions.text", "instructions.blocks.0.kind", "metadata"),
    *("url", "event_types", "id_prefix", "description", "hours", "enabled", "language"),
    *("instructions.blocks.0.rules.conditions.0.value", "model.provider", "variants.0.value", "workspace"),
    *("chosen", "matching", "add", "remove", "which", "starred", "density", "live", "draft", "next"),
    *("reviewers", "verdict", "body", "bypass", "required", "then"),
    *("example", "example_tag", "example_name", "do", "given.tier", "query", "rename", "blocks", "agent"),
    *("body", "field", "quote", "share", "bucket_by", "reason"),
)
"""What pages read from forms, beside the fields that they show."""
MULTIPART = '--x\r\nContent-Disposition: form-data; name="username"\r\n\r\nzoé\r\n--x--\r\n'


ROUTES = distinct_routes()
GROUPS = 8


def encoded(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def variables(route: str) -> list[str]:
    return re.findall(r"<(?:\w+:)?(\w+)>", route)


def typed(text: str) -> str:
    """Return the text as a browser would send it from a form."""
    return text.encode("utf-8", "replace").decode()


def query_of(text: str) -> str:
    return "&".join(f"{name}={encoded(text)}" for name in QUERY)


@pytest.fixture(scope="module")
def made(stored_once: Callable[[], AbstractContextManager[None]]) -> tuple[dict[str, str], dict[str, str]]:
    """The keys of the cast, and a valid value for each variable of a URL."""
    with stored_once():
        keys = make_cast()
        versions = make_one_of_everything(keys)
        for kind in (PROMPT_BLOCKS, AGENTS):
            kind.publish(Api(keys["alice"]), "writer", versions[kind][1])
        return keys, page_values(versions)


@pytest.fixture(autouse=True)
def counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count what waits for a person once for all pages: that is remembered, but not in a transaction."""
    counted: dict[str | None, dict[str, int]] = {}
    count = sites.count_waiting

    def once(pages: Sequence[MainPage], caller: Caller) -> dict[str, int]:
        if caller.username not in counted:
            counted[caller.username] = count(pages, caller)
        return counted[caller.username]

    monkeypatch.setattr(sites, "count_waiting", once)


@pytest.fixture
def cast(db: None, made: tuple[dict[str, str], dict[str, str]]) -> Cast:
    """The cast, which is the same in every test of this module."""
    return cast_with(made[0])


@pytest.fixture
def real(cast: Cast, made: tuple[dict[str, str], dict[str, str]]) -> dict[str, str]:
    """A value for each variable of a URL for which the page exists."""
    return made[1]


class Attacker:
    """A visitor who sends invalid requests, and records what they broke."""

    def __init__(self, name: str) -> None:
        self.client = Client(raise_request_exception=False)
        if name:
            self.client.force_login(User.objects.get(username=name))
        self.cookies = self.client.cookies
        self.broken: list[tuple[str, str, str]] = []

    def ask(
        self, method: str, where: str, text: str = "", form: dict[str, str] | None = None
    ) -> PageResponse:
        """Send a request, undo its effects including a sign-out, and return the page."""
        self.client.cookies = copy(self.cookies)
        with undone():
            answer: Any = getattr(self.client, method)(where, form)
            if answer.status_code >= 500:
                self.broken.append((method, where[:200], text[:40]))
        return PageResponse(answer)


def loaded_from_elsewhere(seen: PageResponse) -> list[str]:
    """Return what a page runs or loads beside the files of this server, or its policy would permit."""
    policy = seen.headers["Content-Security-Policy"]
    inline = [one for one in (" style=", " onclick=", "<style", "javascript:") if one in seen.markup]
    links = [link for link in seen.links if re.match("(http:)?//(?!testserver/)|https:", link)]
    return inline + links + ([] if "script-src 'self'" in policy and "unsafe" not in policy else [policy])


def has_filter(seen: PageResponse) -> bool:
    """Return whether a page has a form whose fields are sent in its address."""
    return 'method="get"' in seen.markup.partition("</header>")[2]


def opened(attacker: Attacker, here: str, text: str) -> PageResponse:
    """Open a page with a hostile query; if that has changed its forms, return the page without a query."""
    seen = attacker.ask("get", f"{here}?{query_of(text)}", text)
    is_as_usual = seen.status == 200 and typed(text) not in controls(seen.markup, None).values()
    return seen if is_as_usual and not has_filter(seen) else attacker.ask("get", here)


def in_turn(texts: Sequence[str], number: int) -> dict[str, list[str]]:
    """Distribute the texts over the pages: the same code reads the fields of all, so it gets each of them."""
    dealt = cycle(texts)
    return {route: list(islice(dealt, number)) for route in ROUTES}


@pytest.mark.database
def test_every_page_is_404_for_nul_in_any_part_of_its_address(cast: Cast, real: dict[str, str]) -> None:
    attacker = Attacker("root")
    answers = {}
    for route in ROUTES:
        names = [name for name in variables(route) if name not in {"token", "uidb64", "language", "provider"}]
        for name in names:
            place = page_address(route, real | {name: "NUL"}).replace("NUL", "a%00b")
            answers[place] = attacker.ask("get", place).status
    assert len(answers) > 50 and set(answers.values()) <= {404, 405}, {
        place: status for place, status in answers.items() if status not in {404, 405}
    }


IN_QUERIES = in_turn(HOSTILE, 1)
IN_ADDRESSES = in_turn(HOSTILE_IN_ADDRESSES, 1)
IN_FIELDS = in_turn(HOSTILE_IN_FIELDS, 1)


@pytest.mark.parametrize("group", range(GROUPS))
def test_no_page_loads_from_elsewhere_or_breaks_with_hostile_urls_and_forms(
    real: dict[str, str], group: int
) -> None:
    """NUL in a form that is sent to an address is for PostgreSQL, which refuses it."""
    assert len(ROUTES) > 50
    alice, root = Attacker("alice"), Attacker("root")
    for route in ROUTES[group::GROUPS]:
        here, attacker = page_address(route, real), root if "/auth/" in route else alice
        for text in IN_QUERIES[route]:
            seen = opened(attacker, here, text)
            assert loaded_from_elsewhere(seen) == [], here
            good = controls(seen.markup, None)
            fields = {*FORM, *good} - {"csrfmiddlewaretoken"}
            attacker.ask("post", here, text, dict.fromkeys(fields, typed(text)))
        for variable in variables(route):
            for text in IN_ADDRESSES[route]:
                attacker.ask("get", page_address(route, real | {variable: text}), text)
        # One invalid field among valid ones. The template of the first field renders the others, too.
        own = [name for name in good if name not in {"q", "csrfmiddlewaretoken"}]
        for name, text in zip(own, IN_FIELDS[route], strict=False):
            odd = {name: value or "x" for name, value in good.items()} | {name: typed(text)}
            attacker.ask("post", here, f"{name}: {text}", odd)
            if has_filter(seen):
                attacker.ask("get", f"{here}?{urlencode(odd)}", f"{name}: {text}")
    assert alice.broken + root.broken == []


@pytest.mark.postgresql
@pytest.mark.parametrize("group", range(GROUPS // 2))
def test_no_page_breaks_or_stores_nul_which_postgresql_refuses(real: dict[str, str], group: int) -> None:
    nul, alice, root = HOSTILE[0], Attacker("alice"), Attacker("root")
    for route in ROUTES[group :: GROUPS // 2]:
        here, attacker = page_address(route, real), root if "/auth/" in route else alice
        attacker.ask("get", f"{here}?{query_of(nul)}", nul)
        attacker.ask("post", here, nul, dict.fromkeys(FORM, nul))
        for variable in variables(route):
            attacker.ask("post", page_address(route, real | {variable: nul}), nul)
    assert alice.broken + root.broken == []


def test_no_page_breaks_for_callers_with_fewer_rights(real: dict[str, str]) -> None:
    attackers = (Attacker("vera"), Attacker(""))
    for number, route in enumerate(ROUTES):
        attacker, text, here = attackers[number % 2], IN_QUERIES[route][0], page_address(route, real)
        attacker.ask("get", f"{here}?{query_of(text)}", text)
        attacker.ask("post", here, text, dict.fromkeys(FORM, typed(text)))
    assert [attacker.broken for attacker in attackers] == [[], []]


def test_urls_of_missing_admin_views_are_not_found(cast: Cast) -> None:
    user, root = ContentType.objects.get_for_model(User).pk, Visitor("root")
    for place in (
        f"r/9{user}/abc/",
        f"r/{user}/1/",
        "auth/group/",
        "versioning/agent/writer/history/x/",
        "doc/",
    ):
        answer = root.get(f"/studio/{place}")
        assert (answer.status, "Page not found" in answer.words) == (404, True), place


# Methods and encodings that no browser uses


def test_an_unknown_method_is_no_server_error(real: dict[str, str]) -> None:
    alice = Client(raise_request_exception=False)
    alice.force_login(User.objects.get(username="alice"))
    methods = cycle(["PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
    asked = [(next(methods), route) for route in ROUTES]
    broken = [one for one in asked if alice.generic(one[0], page_address(one[1], real)).status_code >= 500]
    assert broken == []


def test_a_form_is_read_as_utf_8_despite_its_charset(db: None) -> None:
    urlencoded = ("application/x-www-form-urlencoded", "username=zoé")
    for form, data in (urlencoded, ("multipart/form-data; boundary=x", MULTIPART)):
        for charset in ("zlib", "undefined", "utf-16", "none-such"):
            answer = Client(raise_request_exception=False).generic(
                "POST", "/studio/login/", data.encode(), content_type=f"{form}; charset={charset}"
            )
            assert answer.status_code == 200
            assert answer.context["form"].data["username"] == "zoé"


# Days at the ends of the calendar


def test_the_activity_can_be_filtered_by_every_storable_day(cast: Cast) -> None:
    alice = Visitor("alice")
    for day in ("0001-01-01", "9998-12-31", "9999-12-30", "9999-12-31", "10000-01-01"):
        for address, name in ((workspace_page("activity"), "since"), ("/studio/activity/", "until")):
            answer = alice.get(address, **{name: day})
            is_refused = day in {"9999-12-31", "10000-01-01"}
            assert (answer.status, bool(answer.context["form"].errors)) == (200, is_refused)


def test_an_api_key_can_expire_on_any_storable_day(cast: Cast) -> None:
    alice, keys = Visitor("alice"), ApiKey.objects.count()
    for day, status, why in (
        ("0001-01-01", 400, "Choose a later day."),
        ("9999-12-30", 200, ""),
        ("9999-12-31", 400, "not after 9999-12-30"),
        ("10000-01-01", 400, "Enter a valid date"),
    ):
        answer = alice.submit(workspace_page("keys"), name="CI", role="viewer", last_day=day)
        assert (answer.status, why in str(answer.context["form"].errors)) == (status, True)
        assert alice.get(workspace_page("keys")).status == 200
    assert ApiKey.objects.count() == keys + 1
