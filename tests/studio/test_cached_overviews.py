"""The filters of lists are cached until a change, separately for each set of rights."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.people import give_role
from tests.support.studio import KINDS, Visitor

# Within a transaction, which may be taken back, nothing is cached.
pytestmark = pytest.mark.usefixtures("committed_db")


def offered(name: str, kind: Kind) -> dict[str, list[str]]:
    """Return the filters that a person's list offers: tags, labels, authors and folders."""
    markup = Visitor(name).get(KINDS[kind].address("changelist")).markup
    found = {"folder": re.findall(r'folders-name">(\w+)<', markup)}
    for field in ("tag", "label", "author"):
        (select,) = re.findall(rf'<select name="{field}".*?</select>', markup, re.DOTALL)
        found[field] = re.findall(r'<option value="([^"]+)"', select)
    return found


def test_the_filters_of_a_list_reflect_every_change(cast: Cast) -> None:
    kind = AGENTS
    version = kind.make(cast.alice, "one", autoPublish=True)["activeVersionId"]
    assert offered("edgar", kind) == {"folder": [], "tag": [], "label": [], "author": ["alice"]}
    assert cast.edgar.patch(kind.url("one"), {"metadata": {"tags": ["red"]}}).status == 200
    assert offered("edgar", kind)["tag"] == ["red"]
    assert cast.paula.put(kind.url("one", "labels", "stable"), {"versionId": version}).status == 200
    kind.make(cast.edgar, "team/two")
    assert offered("edgar", kind) == {
        "folder": ["team"],
        "tag": ["red"],
        "label": ["stable"],
        "author": ["alice", "edgar"],
    }
    assert offered("vera", kind) == {"folder": [], "tag": ["red"], "label": ["stable"], "author": ["alice"]}
    assert offered("charlie", kind) == {"folder": [], "tag": [], "label": [], "author": []}
    assert cast.alice.delete(kind.url("team/two")).status == 200
    assert offered("edgar", kind)["folder"] == []
    give_role("edgar", "acme", "viewer")
    assert offered("edgar", kind)["author"] == ["alice"]


def test_a_saved_draft_changes_only_the_authors(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "one", metadata={"tags": ["red"]})
    assert offered("edgar", kind)["author"] == ["alice"]
    assert cast.edgar.patch(kind.url("one"), {kind.text: "new"}).status == 200
    with CaptureQueriesContext(connection) as queries:
        assert offered("edgar", kind) == {"folder": [], "tag": ["red"], "label": [], "author": ["edgar"]}
    assert not any("versioning_agenttag" in (query["sql"] or "") for query in queries)
    assert cast.edgar.patch(kind.url("one"), {kind.text: "newer", "metadata": {"tags": []}}).status == 200
    assert offered("edgar", kind)["tag"] == []


def waiting(name: str, **query: str) -> list[str]:
    """Return the ids of the drafts on a person's list of those that wait, in its order."""
    markup = Visitor(name).get("/studio/waiting/", **query).markup
    return list(dict.fromkeys(re.findall(r'name="chosen" value="\w+:([^:"]+):', markup)))


def test_the_waiting_drafts_reflect_every_change(cast: Cast, kind: Kind) -> None:
    assert waiting("paula") == []
    first = kind.make(cast.edgar, "one")["latestVersionId"]
    kind.make(cast.paula, "two")
    assert (waiting("paula"), waiting("paula", whose="mine")) == (["two", "one"], ["two"])
    assert cast.edgar.patch(kind.url("one"), {kind.text: "newer"}).status == 200
    assert waiting("paula") == ["one", "two"]
    kind.publish(cast.paula, "two", cast.paula.get(kind.url("two"), status="draft").body["latestVersionId"])
    assert waiting("paula") == ["one"]
    kind.publish(cast.paula, "one", first)  # and the newer one waits
    assert waiting("paula") == ["one"] and waiting("charlie") == []
    assert cast.alice.delete(kind.url("one")).status == 200
    assert waiting("paula") == []
    give_role("paula", "acme", "viewer")
    kind.make(cast.edgar, "three")
    assert waiting("paula") == [] and waiting("edgar") == ["three"]


def listed(name: str, kind: Kind, **query: str) -> list[str]:
    """Return the ids in a person's list, in its order."""
    markup = Visitor(name).get(KINDS[kind].address("changelist"), **query).markup
    return list(dict.fromkeys(re.findall(r'name="chosen" value="\w+:([^:"]+):', markup)))


def test_filtered_and_ordered_lists_reflect_every_change(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, "one", **{"name": "B", kind.text: "red"})
    kind.make(cast.edgar, "two", **{"name": "C", kind.text: "blue"})
    for _ in range(2):  # the second time from memory
        assert listed("edgar", kind, q="red") == ["one"]
        assert listed("edgar", kind, order="name") == ["one", "two"]
    assert cast.edgar.patch(kind.url("two"), {kind.text: "red", "name": "A"}).status == 200
    assert listed("edgar", kind, q="red") == listed("edgar", kind, order="name") == ["two", "one"]
    assert listed("edgar", kind, tag="x") == []
    assert cast.edgar.patch(kind.url("one"), {"metadata": {"tags": ["x"]}}).status == 200
    assert listed("edgar", kind, tag="x") == ["one"] and listed("charlie", kind, tag="x") == []
    assert cast.alice.delete(kind.url("one")).status == 200
    assert listed("edgar", kind, tag="x") == [] and listed("edgar", kind, q="red") == ["two"]
