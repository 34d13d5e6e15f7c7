"""The home page: what waits, what one had in hand lately, what one has starred, and what happened."""

from __future__ import annotations

import re

import pytest

from studio.models import Preferences
from studio.preferences.recent import MAX_REMEMBERED
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


def test_drafts_that_wait_in_ones_workspaces_stand_first_with_their_number(cast: Cast, history: Kind) -> None:
    kind = history
    kind.make(cast.charlie, "theirs", workspaceId="elsewhere")
    for name, said in (
        ("edgar", "It is yours · somebody who may publish"),
        ("paula", "It is somebody else"),
    ):
        needing = section(name, "needing")
        assert needing.startswith(f"Waiting to be published · 1 {said}")
        assert "Say it better" in needing and "saved by edgar just now" in needing
        assert "theirs" not in needing
        assert page_of(kind, "compare") in Window.of(name).get(HOME).links
    assert "theirs" in section("charlie", "needing")


def test_there_is_more_than_what_stands_on_the_page(cast: Cast, kind: Kind) -> None:
    for number in range(7):
        kind.make(cast.edgar, f"e{number}")
        kind.make(cast.alice, f"a{number}")
    needing = section("paula", "needing")
    assert "Waiting to be published · 14 None of them is yours" in needing and "All 14" in needing
    assert needing.count("See what would change") == 5
    assert "7 of yours , 7 of others" in section("edgar", "needing")


def test_what_is_published_does_not_wait(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    assert "Nothing waits to be published." in section("alice", "needing")


def test_what_one_opened_or_edited_stands_once_the_latest_first(cast: Cast, history: Kind) -> None:
    kind = history
    kind.make(cast.alice, "other")
    window = Window.of("edgar")
    assert re.findall(r"Writer .*? writer · (\w+)", section("edgar", "recent")) == ["edited"]
    for page in ("change", "history", "change"):
        window.get(page_of(kind, page, "other"))
    recent = section("edgar", "recent")
    assert recent.index("other · opened just now") < recent.index("writer · edited by you just now")
    window.get(page_of(kind, "change"))
    recent = section("edgar", "recent")
    assert recent.index("writer · opened just now") < recent.index("other · opened just now")
    assert "stands here" in section("paula", "recent")


def test_what_was_opened_is_forgotten_in_time_and_not_noted_in_the_background(cast: Cast, kind: Kind) -> None:
    vera = Window.of("vera")
    for number in range(MAX_REMEMBERED + 2):
        kind.make(cast.alice, f"r{number}", autoPublish=True)
        vera.get(page_of(kind, "change", f"r{number}"))
    vera.client.get(page_of(kind, "change", "r0"), headers={"X-Live": "1"})
    found = Preferences.objects.get(user__username="vera").recent
    assert [one[1] for one in found] == [f"r{number}" for number in range(MAX_REMEMBERED + 1, 1, -1)]
    assert "r21" in section("vera", "recent") and "r13" not in section("vera", "recent")


def test_nothing_stands_there_any_more_that_one_may_not_read(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "secret")
    edgar = Window.of("edgar")
    edgar.get(page_of(kind, "change", "secret"))
    edgar.post(page_of(kind, "star", "secret"), starred="yes")
    assert "secret" in section("edgar", "recent") and "secret" in section("edgar", "starred")
    give_role("edgar", "acme", "viewer")
    assert "secret" not in edgar.get(HOME).text
    give_role("edgar", "acme", "editor")
    cast.alice.delete(kind.url("secret"))
    kind.make(cast.charlie, "secret", workspaceId="elsewhere", autoPublish=True)
    assert "secret" not in section("edgar", "recent") + section("edgar", "starred")


def test_what_is_starred_stands_there_the_newest_first(cast: Cast) -> None:
    vera = Window.of("vera")
    for kind in (AGENTS, PROMPT_BLOCKS):
        kind.make(cast.alice, autoPublish=True, name=kind.list_key)
        vera.post(page_of(kind, "star"), starred="yes")
    starred = section("vera", "starred")
    assert starred.index("promptBlocks") < starred.index("agents")
    assert "Nothing yet" in section("edgar", "starred")


def test_a_viewer_reads_what_is_live_and_of_no_draft(history: Kind) -> None:
    page = Window.of("vera").get(HOME)
    assert "needing" not in page.markup and "alice published version 3" in page.text
    for word in ("Say it better", "Unpublished changes", "edgar"):
        assert word not in page.text


def test_who_was_an_editor_once_sees_nothing_of_the_drafts_any_more(cast: Cast, history: Kind) -> None:
    give_role("edgar", "acme", "viewer")
    assert "Say it better" not in Window.of("edgar").get(HOME).text


def test_what_was_done_to_a_namesake_before_is_not_recent(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    Window.of("paula").get(page_of(kind, "change"))
    assert "edited" in section("edgar", "recent") and "opened" in section("paula", "recent")
    assert cast.alice.delete(kind.url("writer"), if_match="*").status == 200
    kind.make(cast.alice, "writer", name="Namesake")
    assert "Namesake" not in section("edgar", "recent") + section("paula", "recent")
