"""Polling by open pages, and the answers: as much as their readers may see."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.studio.test_activity import ACME, prefix_of, sentences
from tests.support.api import AGENTS, Kind
from tests.support.calls import make_history
from tests.support.interruptions import read_while
from tests.support.reviews import ask
from tests.support.studio import KINDS, Visitor, page_of, poll_address, workspace_page
from versioning.models import LogPosition, events

pytestmark = pytest.mark.usefixtures("cast")


@pytest.fixture
def alice() -> Visitor:
    return Visitor("alice")


def live(visitor: Visitor, after: int, **scope: str) -> dict[str, Any]:
    answer = visitor.get("/studio/activity/live/", after=str(after), **scope)
    assert answer.status == 200, answer.content
    return dict(answer.json())


def test_an_open_page_is_notified_of_changes_that_its_reader_may_see(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    before = events.position()
    kind.save(cast.edgar, "writer", "draft words")
    saved = events.position()
    scope = {"resource_kind": KINDS[kind].slug, "resource_id": "writer"}
    changed = {
        name: live(Visitor(name), before, **scope)["changed"]
        for name in ("alice", "edgar", "vera", "charlie")
    }
    assert changed == {"alice": True, "edgar": True, "vera": False, "charlie": False}
    assert live(Visitor("vera"), before) == {"changed": False, "next": saved, "unread": 0}
    assert live(Visitor("edgar"), saved) == {"changed": False, "next": saved}
    assert live(Visitor("edgar"), before, workspace_id="acme")["changed"] is True
    assert live(Visitor("edgar"), before, workspace_id="elsewhere")["changed"] is False
    assert (
        live(Visitor("edgar"), before, resource_kind=KINDS[kind].slug, resource_id="other")["changed"]
        is False
    )
    assert live(Visitor("edgar"), saved + 7)["changed"] is True  # another database


def test_invalid_polling_requests_are_refused(alice: Visitor) -> None:
    for query in [
        {"after": "-1"},
        {"after": "now"},
        {"after": "0", "resource_kind": "x"},
        {"after": "0", "resource_id": "\0"},
    ]:
        assert alice.get("/studio/activity/live/", **query).status == 400


def since(name: str, kind: Kind, after: int, **query: str) -> Any:
    return Visitor(name).get(page_of(kind, "since"), after=str(after), **query)


def test_an_open_edit_page_shows_changes_and_their_authors(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    before = events.position()
    kind.save(cast.edgar, "writer", "words of edgar")
    edgar = Visitor("edgar")
    edgar.post(page_of(kind, "restore", "writer", history.labelled), tag="*")
    cast.paula.post(kind.url("writer", "versions", history.draft, "activate"))
    told = {name: list(sentences(since(name, kind, before).markup)) for name in ("edgar", "paula", "vera")}
    saved = f"saved draft 5: {'Instructions' if kind is AGENTS else 'Text'}"
    published, restored = "published version 4 in place of version 3", "restored version 1 as draft 6"
    assert told == {
        "edgar": [f"paula {published}", f"You, in another window, {restored}", f"You {saved}"],
        "paula": [f"You {published}", f"edgar {restored}", f"edgar {saved}"],
        "vera": [f"paula {published}"],
    }
    assert f"by key {prefix_of('edgar')}" in since("edgar", kind, before).words


def test_an_edit_page_links_to_versions_saved_meanwhile(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    before = events.position()
    latest = kind.save(cast.edgar, "writer", "words of edgar")["resolvedVersionId"]
    compare = f"{page_of(kind, 'compare')}?from={history.draft}&amp;to={latest}"
    assert compare in since("paula", kind, before, base=history.draft).markup
    for name, base in (("vera", history.draft), ("paula", latest), ("paula", "gone"), ("paula", "")):
        shown = since(name, kind, before, base=base)
        assert shown.status == 200 and "See the difference" not in shown.markup


def test_an_edit_page_shows_that_its_resource_was_deleted(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    before = events.position()
    cast.alice.delete(kind.url("writer"))
    shown = since("edgar", kind, before)
    assert "alice deleted this" in shown.words and "cannot be saved" in shown.words
    assert since("charlie", kind, before).words == ""


def test_a_background_request_does_not_use_up_messages(alice: Visitor) -> None:
    alice.post(workspace_page("rename"), {"name": "Renamed"})
    assert "called Renamed" not in alice.get(ACME, headers={"X-Live": "1"}).words
    assert "called Renamed" in alice.get(workspace_page("members")).words


@pytest.mark.parametrize("name", ["change", "history", "publish", "reviews/{review}"])
def test_a_page_misses_no_change_made_while_it_was_rendered(cast: Cast, kind: Kind, name: str) -> None:
    """The position in the log is read before the content of the page."""
    kind.make(cast.alice)
    address = page_of(kind, name.format(review=ask(cast.edgar, kind)["id"]))

    alice, seen = Visitor("alice"), 0
    rename = lambda number: kind.save(cast.edgar, "writer", name=f"Writer {number}")  # noqa: E731
    for number, shown in read_while(alice, address, LogPosition, rename):
        seen += 1
        assert f"Writer {number}" in shown or alice.get(poll_address(shown)).json()["changed"] is True
    assert seen > 0
