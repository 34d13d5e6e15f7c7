"""The home page: what needs me, what was published, what I did, and the search over everything."""

from __future__ import annotations

import re

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import make_history
from tests.support.people import give_role
from tests.support.window import Window, page_of

HOME = "/studio/"


def section(name: str, heading: str) -> str:
    """Return the words of a part of somebody's home page."""
    markup = Window.of(name).get(HOME).markup
    found = re.search(rf'<section[^>]*aria-labelledby="{heading}".*?</section>', markup, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", found[0]).split()) if found else ""


@pytest.fixture
def history(cast: Cast, kind: Kind) -> Kind:
    """A resource with a draft by edgar over a version that alice published."""
    make_history(kind, cast.alice)
    kind.save(cast.edgar, "writer", "words of edgar", changeMessage="Say it better")
    return kind


def test_drafts_that_wait_in_ones_workspaces_stand_first(cast: Cast, history: Kind) -> None:
    kind = history
    kind.make(cast.charlie, "theirs", workspaceId="elsewhere")
    for name, heading in (("edgar", "Drafts, not published yet"), ("paula", "Waiting to be published")):
        needing = section(name, "needing")
        assert heading in needing and "Say it better" in needing and "saved by edgar just now" in needing
        assert "theirs" not in needing
        assert page_of(kind, "compare") in Window.of(name).get(HOME).links
    assert "theirs" in section("charlie", "needing")


def test_what_is_published_does_not_wait(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    assert "everything that was saved is live" in section("alice", "needing")


def test_what_was_published_last_stands_with_by_whom(history: Kind) -> None:
    assert "published by alice just now" in section("edgar", "published")


def test_ones_own_edits_stand_once_a_resource(cast: Cast, history: Kind) -> None:
    history.save(cast.edgar, "writer", "more words of edgar", changeMessage="Say it best")
    mine = section("edgar", "mine")
    assert "Say it best" in mine and "Say it better" not in mine
    assert "have not saved anything" in section("paula", "mine")


def test_a_viewer_reads_what_is_live_and_of_no_draft(history: Kind) -> None:
    page = Window.of("vera").get(HOME)
    assert "needing" not in page.markup and "published by alice" in page.text
    for word in ("Say it better", "Unpublished changes", "edgar"):
        assert word not in page.text


def test_who_was_an_editor_once_sees_nothing_of_the_drafts_any_more(cast: Cast, history: Kind) -> None:
    give_role("edgar", "acme", "viewer")
    assert "Say it better" not in Window.of("edgar").get(HOME).text


def test_the_search_looks_through_both_kinds(cast: Cast) -> None:
    AGENTS.make(cast.edgar, "asks", "about parrots")
    PROMPT_BLOCKS.make(cast.edgar, "says", "nothing but parrots")
    rows = Window.of("edgar").get(HOME, q="PARROT").rows
    assert [row.split()[1] for row in rows] == ["asks", "says"]
    assert Window.of("vera").get(HOME, q="parrot").rows == []


def test_the_search_says_where_there_is_more(cast: Cast, kind: Kind) -> None:
    for number in range(21):
        kind.make(cast.edgar, f"n{number}")
    page = Window.of("edgar").get(HOME, q="n1 n2")
    assert page.rows == []
    page = Window.of("edgar").get(HOME, q="one & only")
    assert "“one & only”" in page.text
    page = Window.of("edgar").get(HOME, q="one")
    assert len(page.rows) == 20
    assert any(link.endswith("/?q=one") for link in page.links)


def test_a_search_that_is_too_long_is_refused_with_words(cast: Cast) -> None:
    AGENTS.make(cast.edgar, "writer", "x" * 300)
    assert len(Window.of("edgar").get(HOME, q="x" * 200).rows) == 1
    page = Window.of("edgar").get(HOME, q="x" * 201)
    assert page.rows == []
    assert "must not be longer than 200 characters" in page.text


@pytest.mark.parametrize("text", ["\x00", "x" * 5000, "<script>alert(1)</script>", "%27"])
def test_odd_searches_are_answered_as_text(cast: Cast, text: str) -> None:
    page = Window.of("edgar").get(HOME, q=text)
    assert page.status == 200 and "<script>alert" not in page.markup
