"""Pages about a workspace: for strangers none exists, and viewers open those of what is published.

What the other roles may do on a page is tested where the page is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tests.support.api import AGENTS, PROMPT_BLOCKS, SCORERS, Api
from tests.support.calls import undone
from tests.support.honest_requests import make_one_of_everything, page_address, page_values
from tests.support.people import make_cast
from tests.support.studio import Visitor, distinct_routes
from versioning.models import Event

OF_NO_WORKSPACE = (
    *("auth/", "account/", "login/", "logout/", "sso/", "translations/", "r/"),
    "versioning/workspace/welcome/",
)
ROUTES = [
    route for route in distinct_routes() if not route.removeprefix("/studio/").startswith(OF_NO_WORKSPACE)
]
ABOUT_ACME = [route for route in ROUTES if "<" in route]
LISTS = [route for route in ROUTES if "<" not in route]
AGENT = "/studio/versioning/agent/<str:resource>/"
WORKSPACE = "/studio/versioning/workspace/<str:workspace>/"
READ_BY_VIEWERS = {
    *(AGENT + page for page in ("", "activity/", "change/", "context/", "preview/", "star/", "try/")),
    *(f"{AGENT}usage/", "/studio/versioning/promptblock/<str:resource>/change/"),
    *("/studio/evaluation/scorer/<str:resource>/change/", f"{WORKSPACE}activity/", f"{WORKSPACE}audit/"),
}
SENT_BY_VIEWERS = {
    (AGENT, 302): "to the edit page",
    (f"{AGENT}context/", 200): "fields of a context",
    (f"{AGENT}star/", 302): "their own star",
    (f"{AGENT}try/", 200): "another context",
    (f"{AGENT}try/run/", 415): "messages are JSON",
    (f"{WORKSPACE}audit/", 302): "to the activity",
    (f"{WORKSPACE}gates/run/", 302): "with the refusal",
    (f"{WORKSPACE}members/<str:member>/role/", 302): "to their password",
}
"""What is no refusal, and why; nothing of it is written to the log."""
NOT_MISSING = {
    (f"{AGENT}activity/since/", 400): "the position is missing",
    (f"{AGENT}try/run/", 415): "messages are JSON",
}
"""What strangers are answered before a resource is looked for."""

World = tuple[dict[str, str], set[str]]


@pytest.fixture(scope="module")
def world(stored_once: Callable[[], AbstractContextManager[None]]) -> World:
    """The values of variables in addresses, and the ids of what is in acme."""
    with stored_once():
        keys = make_cast()
        versions = make_one_of_everything(keys)
        for kind in (PROMPT_BLOCKS, AGENTS, SCORERS):
            kind.publish(Api(keys["alice"]), "writer", versions[kind][1])
        values = page_values(versions)
        hidden = {values[name] for name in ("review", "release", "schedule", "dataset", "gate", "webhook")}
        return values, hidden | {version for ids in versions.values() for version in ids}


def is_hidden(visitor: Visitor, hidden: set[str]) -> bool:
    """Return whether no list shows an id of what is in acme."""
    return not [route for route in LISTS if any(one in visitor.get(route).markup for one in hidden)]


def test_pages_about_a_workspace_do_not_exist_for_strangers(db: None, world: World) -> None:
    values, hidden = world
    charlie, before, found = Visitor("charlie"), Event.objects.count(), set()
    for route in ABOUT_ACME:
        address = page_address(route, values)
        found |= {
            (route, page.status) for page in (charlie.get(address, follow=True), charlie.submit(address))
        }
    assert {one for one in found if one[1] not in {404, 405}} == NOT_MISSING.keys()
    assert Event.objects.count() == before and is_hidden(charlie, hidden)


def test_viewers_open_pages_about_what_is_published_and_send_nothing(db: None, world: World) -> None:
    values, hidden = world
    vera, before, read, sent = Visitor("vera"), Event.objects.count(), set(), set()
    for route in ABOUT_ACME:
        address = page_address(route, values)
        with undone():
            read |= {route} if vera.get(address).status < 400 else set()
            status = vera.post(address).status
            sent |= set() if status in {403, 404, 405} else {(route, status)}
            assert Event.objects.count() == before, route
    assert (read, sent) == (READ_BY_VIEWERS, SENT_BY_VIEWERS.keys())
    assert is_hidden(vera, hidden)
