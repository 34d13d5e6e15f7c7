"""Reviews, releases and the calendar of all workspaces that a person may read, and of one of them."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.people import give_role
from tests.support.reviews import ask
from tests.support.studio import Visitor, workspace_page
from versioning.models import Workspace

PAGES = ("reviews", "releases", "calendar")
LATER = (timezone.now() + datetime.timedelta(days=30)).replace(second=0, microsecond=0)
NAMES = {"acme": "Ours to see", "elsewhere": "Theirs to hide"}


def fill(api: Api, workspace_id: str, number: int = 0) -> None:
    """Put a review, a release and a schedule into a workspace, all of a resource named after it."""
    name = f"{workspace_id}-{number}"
    made: dict[str, Any] = AGENTS.make(api, name, name=NAMES[workspace_id], workspaceId=workspace_id)
    ask(api, AGENTS, name)
    items = [{"resource": {"kind": "agent", "id": name}}]
    release = {"workspaceId": workspace_id, "title": NAMES[workspace_id], "items": items}
    assert api.post("/releases", release).status == 201
    version = {
        "resource": items[0]["resource"],
        "versionId": made["latestVersionId"],
        "runAt": LATER.isoformat(),
    }
    assert api.post("/schedules", version).status == 201


@pytest.fixture
def both(cast: Cast) -> None:
    """Two workspaces with the same things in each."""
    fill(cast.alice, "acme")
    fill(cast.charlie, "elsewhere")


def shown(name: str, page: str, **query: str) -> list[str]:
    """Return of which workspaces a person sees something on a page."""
    at = {"month": f"{LATER:%Y-%m}"} if page == "calendar" else {}
    seen = Visitor(name).get(f"/studio/{page}/", **at, **query)
    assert seen.status == 200
    return [workspace_id for workspace_id, name in NAMES.items() if name in seen.text]


def test_everybody_sees_their_own_workspaces_and_nothing_of_others(both: None) -> None:
    give_role("charlie", "acme", "viewer")  # and admin of the other
    links = Visitor("vera").get("/studio/name/").links
    for page in PAGES:
        assert shown("edgar", page) == ["acme"]
        assert shown("charlie", page) == ["elsewhere"]
        assert shown("root", page) == ["acme", "elsewhere"]
        vera = Visitor("vera").get(f"/studio/{page}/")
        assert vera.status == 403 and NAMES["acme"] not in vera.text
        assert f"/studio/{page}/" not in links


def test_with_several_workspaces_each_line_names_its_own_and_one_can_be_chosen(both: None) -> None:
    give_role("edgar", "elsewhere", "editor")
    edgar = Visitor("edgar")
    for page in PAGES:
        at = {"month": f"{LATER:%Y-%m}"} if page == "calendar" else {}
        seen = edgar.get(f"/studio/{page}/", **at)
        listed = seen.text.rpartition("Show")[2] if page != "calendar" else seen.text
        assert all(one in listed for one in ("Acme", "Elsewhere", *NAMES.values()))
        narrowed = edgar.get(f"/studio/{page}/", workspace="elsewhere", **at)
        own = edgar.get(workspace_page(page, "elsewhere"), **at)
        for one in (narrowed, own):
            assert NAMES["elsewhere"] in one.text and NAMES["acme"] not in one.text
        assert '<option value="elsewhere" selected>' in narrowed.markup
        queries = re.findall(r'href="(\?[^"]+)"', narrowed.markup)
        assert queries and all("workspace=elsewhere" in query for query in queries)
        assert 'name="workspace"' not in own.markup


def test_workspaces_that_cannot_be_read_cannot_be_chosen(both: None) -> None:
    refused = [("edgar", one, 404) for one in ("elsewhere", "missing", "\x00")]
    refused += [("root", "missing", 404), ("vera", "acme", 403)]
    for page in PAGES:
        for name, workspace_id, status in refused if page == PAGES[0] else refused[:1]:
            seen = Visitor(name).get(f"/studio/{page}/", workspace=workspace_id)
            assert seen.status == status, (name, workspace_id)
            assert "Theirs" not in seen.text


def test_a_public_agent_of_another_workspace_is_not_in_the_calendar(cast: Cast) -> None:
    public = {"visibility": "public", "autoPublish": True, "name": NAMES["elsewhere"]}
    AGENTS.make(cast.charlie, "public", workspaceId="elsewhere", **public)
    assert NAMES["elsewhere"] in Visitor("charlie").get("/studio/calendar/").text
    assert NAMES["elsewhere"] not in Visitor("edgar").get("/studio/calendar/").text


def test_a_release_is_made_in_one_of_the_workspaces(cast: Cast) -> None:
    edgar = Visitor("edgar")
    assert workspace_page("releases/add") in edgar.get("/studio/releases/").links
    give_role("edgar", "elsewhere", "editor")
    links = edgar.get("/studio/releases/").links
    assert {workspace_page("releases/add", one) for one in ("acme", "elsewhere")} <= set(links)
    give_role("edgar", "elsewhere", "viewer")
    assert workspace_page("releases/add", "elsewhere") not in edgar.get("/studio/releases/").links


def test_the_number_of_queries_does_not_grow(cast: Cast) -> None:
    fill(cast.alice, "acme")
    fill(cast.charlie, "elsewhere")
    give_role("alice", "elsewhere", "publisher")
    alice = Visitor("alice")
    pages = [*(f"/studio/{page}/" for page in PAGES), "/studio/releases/?show=mine"]

    def count(page: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert alice.get(page).status == 200
        return len(queries)

    alice.get("/studio/name/")
    before = {page: count(page) for page in pages}
    for number in range(1, 3):
        fill(cast.alice, "acme", number)
        fill(cast.charlie, "elsewhere", number)
        Workspace.objects.create(id=f"more-{number}", name="More")
        give_role("alice", f"more-{number}", "publisher")
    assert {page: count(page) for page in pages} == before
