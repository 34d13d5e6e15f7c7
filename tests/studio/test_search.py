"""The search page, and the suggestions while a person types."""

from __future__ import annotations

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.studio import PageResponse, Visitor, page_of

SEARCH = "/studio/search/"
SUGGESTIONS = "/studio/search/suggestions/"


def search(name: str, text: str, **query: str) -> PageResponse:
    return Visitor(name).get(SEARCH, q=text, **query)


def results(page: PageResponse) -> list[str]:
    return [link for link in page.links if "/change/" in link or "/versions/" in link]


@pytest.mark.database
def test_both_kinds_are_found_and_counted(cast: Cast) -> None:
    AGENTS.make(cast.edgar, "asks", "about parrots", name="Asks")
    PROMPT_BLOCKS.make(cast.edgar, "says", "nothing but parrots", name="Says")
    page = search("edgar", "PARROT")
    assert "All 2 Agents 1 Prompt blocks 1" in page.text
    assert "<mark>parrot</mark>s" in page.markup
    alone = search("edgar", "parrot", kind="promptBlock")
    assert results(alone) == [f"{page_of(PROMPT_BLOCKS, 'change', 'says')}?find=parrot"]
    assert "All 2 Agents 1 Prompt blocks 1" in alone.text
    assert "Nothing that you may read" in search("vera", "parrot").text


def test_a_search_finds_ids(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, "birds/parrots", "about others", name="Others")
    marked = "birds/<mark>parrot</mark>s"
    assert marked in search("edgar", "parrot").markup
    assert marked in Visitor("edgar").get(SUGGESTIONS, q="parrot").markup
    assert marked not in Visitor("edgar").get(SUGGESTIONS, q="others").markup


def test_a_hit_links_to_the_page_with_the_text(cast: Cast, kind: Kind) -> None:
    live = kind.make(cast.alice, text="about parrots", autoPublish=True)["latestVersionId"]
    kind.save(cast.alice, text="about pelicans, and so on")
    assert results(search("edgar", "pelicans and")) == [f"{page_of(kind, 'change')}?find=pelicans%2C+and"]
    page = search("edgar", "parrots")
    assert results(page) == [f"{page_of(kind, 'version', 'writer', live)}?find=parrots"]
    assert "the draft no longer has it" in page.text
    assert results(search("vera", "parrots")) == [f"{page_of(kind, 'change')}?find=parrots"]


def test_texts_of_prompts_and_queries_are_escaped(cast: Cast, kind: Kind) -> None:
    script = "<script>alert('parrots')</script>"
    kind.make(cast.edgar, text=script, name=script, description=script)
    for page in (search("edgar", "parrots"), Visitor("edgar").get(SUGGESTIONS, q="parrots")):
        assert "<script>alert" not in page.markup
        assert "alert(&#x27;<mark>parrots</mark>&#x27;)" in page.markup
    assert "<script>alert" not in search("edgar", script).markup


@pytest.mark.database
def test_pages_of_results(cast: Cast, kind: Kind) -> None:
    for number in range(21):
        kind.make(cast.edgar, f"n{number}", "about parrots")
    first, second = search("edgar", "parrots"), search("edgar", "parrots", page="2")
    assert (len(results(first)), len(results(second))) == (20, 1)
    assert not set(results(first)) & set(results(second))
    assert "?q=parrots&page=2" in first.links
    assert len(results(search("edgar", "parrots", page="99"))) == 1


def test_a_too_long_search_is_refused_with_a_message(cast: Cast) -> None:
    AGENTS.make(cast.edgar, "writer", "x" * 300)
    assert len(results(search("edgar", "x" * 200))) == 1
    page = search("edgar", "x" * 201)
    assert results(page) == [] and "a search can have up to 200 characters" in page.text
    assert Visitor("edgar").get(SUGGESTIONS, q="x" * 201).markup.strip() == ""


@pytest.mark.database
def test_suggestions_begin_with_names_and_follow_the_rights_of_the_reader(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar, "named", name="Parrots of the world")
    kind.make(cast.edgar, "told", "tales of parrots", name="Tales")
    markup = Visitor("edgar").get(SUGGESTIONS, q="parro").markup
    assert markup.index("<mark>Parro</mark>ts of the world") < markup.index("Tales")
    kind.make(cast.edgar, "a-parrot-of-the-world", name="Another")
    typed = Visitor("edgar").get(SUGGESTIONS, q="Parrots of the world").markup
    assert typed.index(page_of(kind, "change", "named")) == typed.index("/studio/versioning/")
    for name in ("vera", "charlie"):
        assert Visitor(name).get(SUGGESTIONS, q="parro").markup.strip() == ""


def test_the_former_url_of_the_search_redirects(cast: Cast) -> None:
    moved = Visitor("edgar").get("/studio/", q="a b&c")
    assert moved.status == 302 and moved.headers["Location"] == f"{SEARCH}?q=a+b%26c"
