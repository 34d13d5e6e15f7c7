"""The lists: their rows, their filters, and what a viewer does not learn from either."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import make_history
from tests.support.people import HOMES, give_role
from tests.support.served import reference, text
from tests.support.studio import KINDS, PageResponse, Visitor, page_of


def named(rows: list[str]) -> list[str]:
    """Return the ids of rows, sorted; every id in these tests is a separate word after the name."""
    return sorted(row.split()[1] for row in rows)


@pytest.fixture
def three(cast: Cast, kind: Kind) -> Kind:
    """One resource that is live, one that is live with newer edits, and one that never was live."""
    kind.make(cast.paula, "live", "live words", autoPublish=True)
    make_history(kind, cast.alice, "changed")
    kind.make(cast.edgar, "fresh", "fresh words")
    return kind


def test_a_row_shows_the_most_important_facts_for_editors(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice, "policies/refunds")
    kind.save(cast.edgar, "policies/refunds", "newest words")
    (row,) = Visitor("edgar").list(kind)
    said = ("Writer", "refunds", "newest words", "Unpublished changes", "first", "stable", "You , just now")
    assert [word for word in said if word not in row] == []
    assert "stored" not in row


def test_the_beginning_of_instructions_names_prompt_blocks(cast: Cast) -> None:
    def list_of_agents() -> tuple[str, int]:
        with CaptureQueriesContext(connection) as queries:
            [row] = Visitor("vera").list(AGENTS)
        return row, len(queries)

    PROMPT_BLOCKS.make(cast.paula, "tone", "Be brief.", name="Our <tone>", autoPublish=True)
    AGENTS.make(cast.paula, text="Hello.", autoPublish=True)
    _, before = list_of_agents()
    instructions = [reference("tone"), text("<b> [see below]")]
    saved = cast.paula.patch(AGENTS.url("writer"), {"instructions": instructions, "autoPublish": True})
    assert saved.status == 200
    row, queries = list_of_agents()
    assert "[ Our <tone> ] <b> [ see below ]" in row
    assert queries == before + 1


def test_a_column_with_identical_values_is_omitted(cast: Cast, kind: Kind) -> None:
    def columns(name: str) -> list[str]:
        markup = Visitor(name).get(KINDS[kind].address("changelist")).markup
        return re.findall(r'<th scope="col"[^>]*>(?:<a[^>]*>)?(\w[\w ]*)<', markup)

    always = ["Name", "State", "Last edit"]
    kind.make(cast.alice, "one", autoPublish=True)
    kind.make(cast.alice, "two", autoPublish=False, metadata={"tags": ["red"]})
    assert columns("edgar") == ["Name", "State", "Tags", "Last edit"]
    kind.make(cast.charlie, "theirs", autoPublish=True)
    label = {"versionId": latest(cast, kind, "two")}
    assert cast.alice.put(kind.url("two", "labels", "first"), label).status == 200
    assert columns("root") == ["Name", "State", "Labels", "Tags", "Workspace", "Last edit"]
    last = Visitor("root").list(kind)[-1]
    assert "Acme" in last and "acme" not in last
    assert columns("vera") == always
    if kind is AGENTS:
        kind.make(cast.alice, "open", visibility="public", autoPublish=True)
        assert columns("vera") == ["Name", "State", "Visibility", "Last edit"]


def latest(cast: Cast, kind: Kind, resource_id: str) -> str:
    version_id: str = kind.versions(cast.alice, resource_id)[0]["id"]
    return version_id


def test_a_list_is_narrowed_to_a_state(cast: Cast, three: Kind) -> None:
    three.make(cast.paula, "was", "live once", autoPublish=True)
    assert cast.paula.post(three.url("was", "unpublish")).status == 200
    three.save(cast.edgar, "was", "newer words")
    for state, found in [
        ("published", ["live"]),
        ("changed", ["changed"]),
        ("never_published", ["fresh"]),
        ("unpublished", ["was"]),
        ("not_live", ["fresh", "was"]),
    ]:
        assert named(Visitor("edgar").list(three, state=state)) == found


def test_a_row_distinguishes_never_published_from_unpublished(cast: Cast, three: Kind) -> None:
    edgar = Visitor("edgar")
    rows = " ".join(edgar.list(three))
    for words in (
        "live live words Published",
        "changed draft words Unpublished changes",
        "fresh fresh words Never published",
    ):
        assert f" {words} " in rows
    assert cast.edgar.post(three.url("live", "clone"), {"newId": "copy"}).status == 201
    assert cast.paula.post(three.url("live", "unpublish")).status == 200
    (row,) = edgar.list(three, state="unpublished")
    assert " live live words Unpublished " in row
    assert named(edgar.list(three, state="never_published")) == ["copy", "fresh"]


@pytest.mark.database
def test_a_list_is_narrowed_to_a_label_a_workspace_or_a_text(cast: Cast, three: Kind) -> None:
    three.make(cast.charlie, "other", "other words", workspaceId="elsewhere")
    root = Visitor("root")
    assert named(root.list(three, label="first")) == ["changed"]
    assert named(root.list(three, workspace="elsewhere")) == ["other"]
    assert named(root.list(three, q="FRESH")) == ["fresh"]
    assert root.list(three, label="fir") == root.list(three, q="no such words") == []


def options(page: PageResponse, field: str) -> list[str]:
    """Return the options of a filter of a list."""
    (select,) = re.findall(rf'<select name="{field}".*?</select>', page.markup, re.DOTALL)
    return re.findall(r'<option value="([^"]+)"', select)


def test_a_filter_offers_the_values_of_all_readable_resources(cast: Cast, three: Kind) -> None:
    three.make(cast.edgar, "policies/late", metadata={"tags": ["secret"]})
    three.make(cast.paula, "policies/open", autoPublish=True, metadata={"tags": ["red"]})
    three.make(cast.charlie, "theirs/one", autoPublish=True, metadata={"tags": ["theirs"]})
    pages = {
        name: Visitor(name).get(KINDS[three].address("changelist")) for name in ("edgar", "vera", "charlie")
    }
    offered = {
        name: [options(page, field) for field in ("author", "label", "tag")] for name, page in pages.items()
    }
    assert offered == {
        "edgar": [["alice", "edgar", "paula"], ["first", "stable"], ["red", "secret"]],
        "vera": [["alice", "paula"], ["stable"], ["red"]],
        "charlie": [["charlie"], [], ["theirs"]],
    }
    folders = {
        name: re.findall(r'folders-name">(\w+)</span> <span class="folders-count">(\d+)', page.markup)
        for name, page in pages.items()
    }
    assert folders == {
        "edgar": [("policies", "2")],
        "vera": [("policies", "1")],
        "charlie": [("theirs", "1")],
    }


def test_chips_narrow_a_list_with_one_click_and_can_be_combined(cast: Cast, three: Kind) -> None:
    edgar, address = Visitor("edgar"), KINDS[three].address("changelist")
    assert edgar.post(page_of(three, "star", "live"), starred="yes").status == 302
    chips = {
        "waiting=1": ["changed", "fresh"],
        "author=edgar": ["fresh"],
        "starred=1": ["live"],
        "labelled=1": ["changed"],
        "state=never_published": ["fresh"],
    }
    links = edgar.get(address).links
    assert {f"?{query}" for query in chips} <= {*links}
    for query, found in chips.items():
        name, value = query.split("=")
        assert named(edgar.list(three, **{name: value})) == found
    narrowed = edgar.get(address, waiting="1", q="words")
    assert "?q=words&author=edgar&waiting=1" in narrowed.links and "?q=words" in narrowed.links
    assert named(edgar.list(three, waiting="1", labelled="1", q="words")) == ["changed"]
    vera = Visitor("vera")
    assert not {"?waiting=1", "?state=never_published"} & set(vera.get(address).links)
    assert vera.list(three, waiting="1") == vera.list(three, starred="1") == []


def test_labels_of_drafts_do_not_count_as_labels_for_a_viewer(cast: Cast, kind: Kind) -> None:
    live = kind.make(cast.paula, "live", autoPublish=True)
    draft = kind.save(cast.edgar, "live")["latestVersionId"]
    label = kind.url("live", "labels", "next")
    assert cast.paula.put(label, {"versionId": draft}).status == 200
    for name, found in (("vera", []), ("edgar", ["live"])):
        assert named(Visitor(name).list(kind, labelled="1")) == found
    assert cast.paula.put(label, {"versionId": live["activeVersionId"]}).status == 200
    assert named(Visitor("vera").list(kind, labelled="1")) == ["live"]


@pytest.mark.database
def test_a_list_is_narrowed_to_tags_by_links_in_its_rows(cast: Cast, three: Kind) -> None:
    for name, tags in (("live", ["red", "a b"]), ("fresh", ["red"])):
        assert cast.alice.patch(three.url(name), {"metadata": {"tags": tags}}).status == 200
    edgar, address = Visitor("edgar"), KINDS[three].address("changelist")
    assert named(edgar.list(three, tag="red")) == ["fresh", "live"]
    assert named(edgar.list(three, tag="red, a b")) == ["live"]
    seen = edgar.get(address, tag="red")
    assert "?tag=red%2Ca+b" in seen.links and "#a b" in seen.text
    assert "?" in seen.links  # the chip of the tag, which takes it away


@pytest.mark.database
def test_a_list_is_sorted_by_its_headings_without_using_drafts_for_viewers(cast: Cast, kind: Kind) -> None:
    for name in ("Bee", "ant", "Cat"):
        kind.make(cast.paula, name.lower(), name=name, autoPublish=True)
    kind.save(cast.edgar, "ant", name="Zebra")
    orders = {
        "edgar": (["bee", "cat", "ant"], ["ant", "cat", "bee"]),
        "vera": (["ant", "bee", "cat"], ["cat", "bee", "ant"]),
    }
    for name, (forwards, backwards) in orders.items():
        window = Visitor(name)
        found = [
            [row.split()[1] for row in window.list(kind, order=order)]
            for order in ("name", "-name", "changed")
        ]
        changed = ["cat", "ant", "bee"] if name == "vera" else ["ant", "cat", "bee"]
        assert found == [forwards, backwards, changed], name
    seen = Visitor("vera").get(KINDS[kind].address("changelist"), order="name", q="e")
    assert "?q=e&order=-name" in seen.links and 'aria-sort="ascending"' in seen.markup


def test_a_folder_is_opened_and_left(cast: Cast, kind: Kind) -> None:
    for name in ("policies/refunds", "policies/returns/late", "policy"):
        kind.make(cast.edgar, name)
    edgar = Visitor("edgar")
    assert len(edgar.list(kind, folder="policies/")) == 2
    address = KINDS[kind].address("changelist")
    assert "?folder=policies%2F" in edgar.get(address).links
    assert "?q=one" in edgar.get(address, folder="policies/", q="one").links


@pytest.mark.database
def test_the_order_of_a_list_continues_on_further_pages(cast: Cast, kind: Kind) -> None:
    for number in range(53):
        kind.make(cast.edgar, f"n{number:02}", name=f"Name {number // 2:02}")
    edgar = Visitor("edgar")
    for order in ("id", "name"):
        first, second = (edgar.list(kind, order=order, page=page) for page in ("1", "2"))
        assert [row.split()[2] for row in first + second] == [f"n{number:02}" for number in range(53)]
        assert len(first) == 50
    kind.save(cast.edgar, "n07")
    assert edgar.list(kind, page="no number")[0].split()[2] == "n07"


def test_an_unknown_filter_value_is_refused_next_to_its_field(three: Kind) -> None:
    for field, value in [("state", "Historical"), ("workspace", "x"), ("order", "x")]:
        seen = Visitor("edgar").get(KINDS[three].address("changelist"), **{field: value})
        assert (seen.status, "Select a valid choice" in seen.text) == (200, True)


def test_a_viewer_sees_and_finds_only_live_versions_in_lists(cast: Cast, three: Kind) -> None:
    vera = Visitor("vera")
    rows = vera.list(three)
    assert named(rows) == ["changed", "live"]
    assert all("Published" in row for row in rows)
    (changed,) = (row for row in rows if "changed" in row)
    assert "stable" in changed and "first" not in changed
    assert vera.list(three, state="changed") == vera.list(three, state="not_live") == []
    assert named(vera.list(three, state="published")) == ["changed", "live"]
    three.save(cast.edgar, "live", "secret words", name="Secretname")
    assert vera.list(three, q="secret") == vera.list(three, author="edgar") == []
    assert vera.list(three, label="first") == []
    assert named(vera.list(three, author="paula")) == ["live"]
    assert "Secretname" not in vera.get(KINDS[three].address("changelist")).markup


def test_a_non_member_sees_published_public_agents_only(cast: Cast, three: Kind) -> None:
    charlie = Visitor("charlie")
    assert charlie.list(three) == []
    if three is AGENTS:
        make_history(AGENTS, cast.alice, "open", visibility="public")
        (row,) = charlie.list(AGENTS)
        assert "open" in row and "Published" in row


@pytest.fixture
def team(cast: Cast, settings: Any) -> Cast:
    """The cast of acme, with the same roles in the workspace of the code."""
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    for name in ("alice", "paula", "edgar", "vera"):
        give_role(name, "default", HOMES[name][1])
    return cast


def test_code_defined_agents_come_first_and_show_their_origin(team: Cast) -> None:
    AGENTS.make(team.paula, "a-stored-one", workspaceId="acme", autoPublish=True)
    override = {"id": "answers", "instructions": "overridden"}
    assert team.paula.post(AGENTS.path, {**override, "autoPublish": True}).status == 201
    AGENTS.save(team.edgar, "answers", "a draft")
    draft = {"id": "leads-notes", "instructions": "another draft", "autoPublish": False}
    assert team.edgar.post(AGENTS.path, draft).status == 201
    edgar = Visitor("edgar")
    rows = edgar.list(AGENTS)
    assert [row.split(" Default ")[0] for row in rows[:4]] == [
        "Answers answers a draft Unpublished changes code + override See what is live : Answers public",
        "Hidden hidden hidden code Published code private",
        "Lead leads-answers lead Published code public",
        "Lead of notes leads-notes another draft Unpublished changes code public",
    ]
    assert len(rows) == 5
    assert [row.split()[1] for row in edgar.list(AGENTS, state="changed")] == ["answers", "of"]
    assert edgar.list(AGENTS, state="not_live") == edgar.list(AGENTS, author="vera") == []
    assert len(edgar.list(AGENTS, q="another DRAFT")) == len(edgar.list(AGENTS, author="paula")) == 1


def test_an_empty_list_shows_editors_an_example_and_a_button(cast: Cast, kind: Kind) -> None:
    example = "{{ shop.name || 'our shop' }}" if kind is AGENTS else "Write plainly and warmly."
    address = KINDS[kind].address("changelist")
    editors, roots, viewers = (Visitor(name).get(address) for name in ("edgar", "root", "vera"))
    assert example in editors.text
    assert KINDS[kind].address("add") in editors.links and KINDS[kind].address("add") in roots.links
    assert "nothing here yet that you may read" in viewers.text
    assert KINDS[kind].address("add") not in viewers.links
    kind.make(cast.alice)
    assert example not in Visitor("edgar").get(address).text
