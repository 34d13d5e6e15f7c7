"""The filters of lists are cached until a change, separately for each set of rights."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.people import give_role
from tests.support.window import KINDS, Window

# Within a transaction, which may be taken back, nothing is cached.
pytestmark = pytest.mark.django_db(transaction=True)


def offered(name: str, kind: Kind) -> dict[str, list[str]]:
    """Return the filters that a person's list offers: tags, labels, authors and folders."""
    markup = Window.of(name).get(KINDS[kind].address("changelist")).markup
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
