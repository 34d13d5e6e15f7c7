"""The audit log as a file for spreadsheets."""

from __future__ import annotations

import csv
import io

import pytest

from studio.activity import views
from tests.conftest import Cast
from tests.support.api import AGENTS
from tests.support.studio import Visitor, workspace_page

ALL, ACME = "/studio/activity/", workspace_page("activity")


def rows_of(client: Visitor, address: str, **query: str) -> list[dict[str, str]]:
    """Return the rows of the file at an address."""
    answer = client.get(address, {"format": "csv", **query})
    assert answer.status == 200
    assert (
        "attachment" in answer.headers["Content-Disposition"]
        and "no-store" in answer.headers["Cache-Control"]
    )
    text = answer.content.decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def test_the_file_has_what_the_page_shows_with_its_filter(cast: Cast) -> None:
    AGENTS.make(cast.edgar, autoPublish=False, name="=cmd()|'x'!A1")
    AGENTS.save(cast.edgar, text="two")
    alice = Visitor("alice")
    page = alice.get(ACME, type="agent.versionCreated").markup
    assert f'href="{ACME}?type=agent.versionCreated&amp;format=csv" download' in page
    [row] = rows_of(alice, ACME, type="agent.versionCreated")
    assert (row["actor"], row["type"], row["resourceId"]) == ("edgar", "agent.versionCreated", "writer")
    assert row["workspaceId"] == "acme" and row["time"].endswith("+00:00")
    assert '"changedFields"' in row["detail"] and "saved" in row["sentence"]
    everything = rows_of(alice, ALL)
    assert len(everything) > 1
    assert not any(cell.startswith(("=", "+", "@")) for row in everything for cell in row.values())


def test_sentences_name_resources_and_people_as_the_page_does(cast: Cast) -> None:
    AGENTS.make(cast.edgar, "refund-helper", name="Refund helper")
    [row] = rows_of(Visitor("alice"), ALL, type="agent.created")
    assert row["sentence"] == "edgar created agent Refund helper"
    assert row["resourceId"] == "refund-helper"


def test_a_cell_that_a_spreadsheet_would_run_has_an_apostrophe(cast: Cast) -> None:
    cast.alice.patch("/workspaces/acme", {"name": "=1+1"})
    AGENTS.make(cast.edgar, "=a")
    [row] = rows_of(Visitor("alice"), ACME, target="=a", type="agent.created")
    assert row["resourceId"] == "'=a"


@pytest.mark.database
def test_the_file_is_bounded(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    AGENTS.make(cast.edgar)
    for text in "abcd":
        AGENTS.save(cast.edgar, text=text)
    alice = Visitor("alice")
    count = len(rows_of(alice, ALL))
    assert count == 5
    monkeypatch.setattr(views, "_AT_ONCE", 2)
    assert len(rows_of(alice, ALL)) == count
    monkeypatch.setattr(views, "MAX_EVENTS", 3)
    *some, last = rows_of(alice, ALL)
    assert len(some) == 3 and last["time"].startswith("Older events are left out.")


def test_the_file_is_for_admins(cast: Cast) -> None:
    AGENTS.make(cast.edgar)
    for name in ("edgar", "paula"):
        assert "format=csv" not in Visitor(name).get(ACME).markup
        assert Visitor(name).get(ACME, format="csv").status == 403
    agent = "/studio/versioning/agent/writer/activity/"
    assert Visitor("alice").get(agent, format="csv").status == 403
