"""What waits to be published: all of it, of both kinds, and of no workspace that is not one's own."""

from __future__ import annotations

import re

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import make_history
from tests.support.override_files import Folder
from tests.support.people import give_role
from tests.support.window import KINDS, Seen, Window, page_of

WAITING = "/studio/waiting/"


def lines(seen: Seen) -> list[str]:
    """Return the drafts on the page, a line each."""
    found = re.findall(r'<li class="draft".*?</li>', seen.markup, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", one).split()) for one in found]


def heading(seen: Seen) -> str:
    found = re.search(r"<h1>(.*?)</h1>", seen.markup)
    assert found is not None
    return found[1]


def test_both_kinds_wait_changed_last_first(cast: Cast) -> None:
    for kind in (AGENTS, PROMPT_BLOCKS):
        make_history(kind, cast.alice)
        kind.make(cast.alice, "live", autoPublish=True)
    AGENTS.save(cast.edgar, text="words", description="of edgar", changeMessage="Say it better\n\nAt length")
    seen = Window.of("paula").get(WAITING)
    agent, block = lines(seen)
    assert heading(seen) == "Waiting to be published · 2"
    assert "Say it better" in agent and "At length" not in agent
    assert "Changes Description, Instructions" in agent and "Version 5 in place of Version 3" in agent
    assert "saved by edgar just now" in agent and "saved by alice" in block
    assert page_of(AGENTS, "compare") in "".join(seen.links)


def test_what_never_was_live_says_so(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    [line] = lines(Window.of("paula").get(WAITING))
    assert "Version 1 , nothing of it is live yet" in line


def test_what_was_unpublished_on_purpose_does_not_wait_until_something_is_saved(
    cast: Cast, kind: Kind
) -> None:
    kind.make(cast.alice, autoPublish=True)
    assert cast.alice.post(kind.url("writer", "unpublish")).status == 200
    paula, history = Window.of("paula"), page_of(kind, "history")
    assert heading(paula.get(WAITING)) == "Waiting to be published · 0"
    assert "Nothing waits to be published." in paula.get("/studio/").text
    listed = KINDS[kind].address("changelist")
    assert "writer" not in paula.get(listed, waiting="1").text
    assert "Unpublished" in paula.get(listed, state="unpublished").text
    seen = paula.get(history)
    assert "Version 1 was unpublished, and nothing was saved since" in seen.text
    assert page_of(kind, "discard") not in seen.links and "Draft" not in seen.text
    assert paula.get(page_of(kind, "discard")).status == 404
    assert "Nothing: it was unpublished" in paula.get(page_of(kind, "change")).text
    assert cast.alice.get(kind.url("writer"), status="draft").body["hasDraft"] is True
    kind.save(cast.edgar, text="better")
    [line] = lines(paula.get(WAITING))
    assert "Version 2 , nothing of it is live any more" in line
    kind.save(cast.alice, text="best", autoPublish=True)
    assert lines(paula.get(WAITING)) == []


def test_a_draft_that_was_there_when_the_live_version_was_unpublished_still_waits(
    cast: Cast, kind: Kind
) -> None:
    make_history(kind, cast.alice)
    assert cast.alice.post(kind.url("writer", "unpublish")).status == 200
    [line] = lines(Window.of("paula").get(WAITING))
    assert "Version 4 , nothing of it is live any more" in line


def test_a_copy_of_what_is_live_changes_nothing_and_does_not_wait(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    paula = Window.of("paula")
    tag = paula.get(page_of(kind, "history")).field("tag")
    paula.post(page_of(kind, "restore", "writer", history.published), tag=tag)
    seen = paula.get(page_of(kind, "history"))
    assert "Version 5 is a copy of Version 3 , and says the same as what is live" in seen.text
    assert "Version 5 was saved last, and says the same as what is live" in seen.text
    assert "Unpublished changes" not in seen.text
    assert lines(paula.get(WAITING)) == []
    listed = KINDS[kind].address("changelist")
    assert "Writer" in paula.get(listed, state="published").text
    assert "Writer" not in paula.get(listed, state="changed").text


def test_ones_own_and_those_of_others_are_told_apart(cast: Cast, kind: Kind) -> None:
    for number in range(3):
        kind.make(cast.edgar, f"e{number}")
    kind.make(cast.alice, "a0")
    edgar, paula = Window.of("edgar"), Window.of("paula")
    for window, mine, others in ((edgar, 3, 1), (paula, 0, 4)):
        seen = window.get(WAITING)
        assert f"All · 4 Mine · {mine} Others · {others}" in seen.text
        assert len(lines(window.get(WAITING, whose="mine"))) == mine
        assert len(lines(window.get(WAITING, whose="others"))) == others
        assert len(lines(window.get(WAITING, whose="nobody's"))) == 4


def test_the_pages_hold_each_of_them_once(cast: Cast) -> None:
    for number in range(30):
        for kind in (AGENTS, PROMPT_BLOCKS):
            kind.make(cast.edgar, f"r{number}")
    paula = Window.of("paula")
    first, second = (paula.get(WAITING, page=page) for page in ("1", "2"))
    assert [len(lines(one)) for one in (first, second)] == [50, 10]
    assert len({*re.findall('value="([a-zA-Z]+:[^"]*)"', first.markup + second.markup)}) == 60
    assert "Page 2 of 2" in second.text and "?page=1" in "".join(second.links)


def test_whoever_may_not_publish_sees_the_same_without_buttons(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    paula, edgar = (Window.of(name).get(WAITING) for name in ("paula", "edgar"))
    assert heading(paula) == heading(edgar) == "Waiting to be published · 1"
    assert lines(paula)[0] == lines(edgar)[0]
    assert ('name="chosen"' in paula.markup, 'name="chosen"' in edgar.markup) == (True, False)
    assert ("Publish chosen" in paula.text, "Publish chosen" in edgar.text) == (True, False)


def test_a_publisher_here_and_editor_there_chooses_what_they_may_publish(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "here")
    kind.make(cast.charlie, "there", workspaceId="elsewhere")
    give_role("paula", "elsewhere", "editor")
    seen = Window.of("paula").get(WAITING)
    found = dict(re.findall(r'name="chosen" value="\w+:(\w+):[^"]*"( disabled)?', seen.markup))
    assert found == {"here": "", "there": " disabled"}


def test_nothing_of_another_workspace_is_shown_or_counted(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "ours")
    kind.make(cast.charlie, "theirs", workspaceId="elsewhere", name="Secret plan")
    if kind is AGENTS:
        cast.charlie.post(kind.path, kind.body("public", id="public", visibility="public", autoPublish=True))
        kind.save(cast.charlie, "public", "Secret draft", changeMessage="Secret plan")
    seen = Window.of("edgar").get(WAITING)
    assert heading(seen) == "Waiting to be published · 1" and "All · 1" in seen.text
    assert "Secret plan" not in seen.markup and "theirs" not in seen.markup


def test_whoever_reads_no_drafts_is_not_told_of_any(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    edgar = Window.of("edgar")
    assert edgar.get(WAITING).status == 200
    give_role("edgar", "acme", "viewer")
    for window in (edgar, Window.of("vera")):
        seen = window.get(WAITING)
        assert (seen.status, "writer" in seen.text) == (403, False)


def test_a_draft_over_a_file_waits_as_any_other(cast: Cast, folder: Folder) -> None:
    give_role("paula", "default", "publisher")
    made = {"id": "answers", "instructions": "drafted", "workspaceId": "default"}
    assert cast.paula.post(AGENTS.path, made).status == 201
    AGENTS.make(cast.edgar)
    seen = Window.of("paula").get(WAITING)
    assert heading(seen) == "Waiting to be published · 2"
    assert [("answers" in line) for line in lines(seen)] == [False, True]
    assert lines(Window.of("paula").get(WAITING, whose="mine"))[0].count("answers") == 1
