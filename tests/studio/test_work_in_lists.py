"""What is at work on a resource, in lists: in review, changes requested, scheduled, on a share."""

from __future__ import annotations

import datetime
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from capabilities.schedules.models import Schedule
from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.reviews import ask, reference, say
from tests.support.rollouts import arm, started
from tests.support.studio import KINDS, Visitor, page_of, workspace_page

LATER = (timezone.now() + datetime.timedelta(days=30)).replace(second=0, microsecond=0).isoformat()
WORDS = {
    "reviewed": "In review",
    "returned": "Changes requested",
    "scheduled": "Scheduled",
    "together": "Scheduled",
    "shared": "On 10%",
}
FILTERS = {
    "review=open": {"reviewed", "returned"},
    "review=changes": {"returned"},
    "scheduled=waiting": {"scheduled", "together"},
    "share=running": {"shared"},
}


@pytest.fixture
def links(cast: Cast, kind: Kind) -> dict[str, str]:
    """Where the chip of each resource leads; nothing is at work on the resource `plain`."""
    versions = {name: kind.make(cast.paula, name)["latestVersionId"] for name in ("plain", *WORDS)}
    reviewed, returned = ask(cast.paula, kind, "reviewed"), ask(cast.paula, kind, "returned")
    assert say(cast.alice, returned, "requestChanges", body="No").status == 200
    about = {"resource": reference(kind, "scheduled"), "versionId": versions["scheduled"], "runAt": LATER}
    assert cast.paula.post("/schedules", about).status == 201
    items = [{"resource": reference(kind, "together")}]
    release = cast.paula.post("/releases", {"workspaceId": "acme", "title": "Autumn", "items": items}).body
    assert cast.paula.post("/schedules", {"releaseId": release["id"], "runAt": LATER}).status == 201
    kind.publish(cast.paula, "shared", versions["shared"])
    other = kind.save(cast.paula, "shared", "other")["latestVersionId"]
    rollout = started(cast.paula, kind, arm(other, weight=1000), resource_id="shared")
    return {
        "reviewed": page_of(kind, "review", "reviewed", reviewed["id"]),
        "returned": page_of(kind, "review", "returned", returned["id"]),
        "scheduled": page_of(kind, "history", "scheduled"),
        "together": workspace_page(f"releases/{release['id']}"),
        "shared": page_of(kind, "rollout", "shared", rollout["id"]),
    }


def chips(name: str, kind: Kind, **query: str) -> dict[str, tuple[str, str]]:
    """Return the word and the address of the chip that links to what is at work, by resource."""
    markup = Visitor(name).get(KINDS[kind].address("changelist"), **query).markup
    rows = re.findall(r'<tr>(.*?class="soft rows-id">.*?)</tr>', markup, re.DOTALL)
    found = {}
    for row in rows:
        [resource_id] = re.findall(r'class="soft rows-id">(\w+)<', row)
        linked = re.findall(r'<a class="chip [^"]*" href="([^"]+)"[^>]*>([^<]+)</a>', row)
        found[resource_id] = linked[0][::-1] if linked else ("", "")
    return found


def test_lists_say_what_is_at_work_with_a_link_to_it(kind: Kind, links: dict[str, str]) -> None:
    expected = {name: (WORDS[name], address) for name, address in links.items()}
    assert chips("edgar", kind) == expected | {"plain": ("", "")}
    Schedule.objects.update(known_problems="review_required")  # as a worker notes it
    failing = chips("paula", kind)
    assert failing["scheduled"][0] == failing["together"][0] == "Will fail"
    assert chips("vera", kind) == {"shared": ("", "")}
    assert chips("charlie", kind) == {}


def test_lists_are_narrowed_to_what_is_at_work_with_one_click(kind: Kind, links: dict[str, str]) -> None:
    address = KINDS[kind].address("changelist")
    offered = {name: Visitor(name).get(address).links for name in ("edgar", "vera")}
    for query, expected in FILTERS.items():
        assert (f"?{query}" in offered["edgar"], f"?{query}" in offered["vera"]) == (True, False)
        name, _equals, value = query.partition("=")
        assert chips("edgar", kind, **{name: value}).keys() == expected
        assert chips("vera", kind, **{name: value}) == {}
    nonsense = dict.fromkeys(("review", "scheduled", "share"), "nonsense")
    assert chips("edgar", kind, **nonsense).keys() == {"plain", *WORDS}


def test_the_work_of_another_workspace_is_neither_shown_nor_found(cast: Cast, kind: Kind) -> None:
    kind.make(cast.charlie, "theirs", workspaceId="elsewhere", autoPublish=True)
    if kind is AGENTS:
        cast.charlie.patch(kind.url("theirs"), {"visibility": "public"})
    draft = kind.save(cast.charlie, "theirs", "two")["latestVersionId"]
    ask(cast.charlie, kind, "theirs")
    about = {"resource": reference(kind, "theirs"), "versionId": draft, "runAt": LATER}
    assert cast.charlie.post("/schedules", about).status == 201
    assert set(chips("charlie", kind)) == {"theirs"}
    assert chips("edgar", kind).get("theirs", ("", "")) == ("", "")
    for query in FILTERS:
        name, _equals, value = query.partition("=")
        assert "theirs" not in chips("edgar", kind, **{name: value})


def test_the_number_of_queries_does_not_grow(cast: Cast, kind: Kind) -> None:
    paula, address = Visitor("paula"), KINDS[kind].address("changelist")

    def add(number: int) -> None:
        version = kind.make(cast.edgar, f"r{number}")["latestVersionId"]
        ask(cast.edgar, kind, f"r{number}")
        about = {"resource": reference(kind, f"r{number}"), "versionId": version, "runAt": LATER}
        assert cast.paula.post("/schedules", about).status == 201

    def count(**query: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert paula.get(address, **query).status == 200
        return len(queries)

    add(0)
    paula.get(address)
    asked: list[dict[str, str]] = [{}, {"review": "changes"}, {"review": "open"}, {"scheduled": "waiting"}]
    before = [count(**query) for query in asked]
    for number in range(1, 3):
        add(number)
    assert [count(**query) for query in asked] == before
