"""The home page, and the page of drafts that wait to be published."""

from __future__ import annotations

import datetime
import re

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from studio.models import Preferences
from studio.preferences import MAX_REMEMBERED
from tests.conftest import Cast
from tests.serving.test_query_counts import insert_resources
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import make_history
from tests.support.override_files import Folder
from tests.support.people import give_role
from tests.support.studio import KINDS, PageResponse, Visitor, page_of
from versioning.models import Event
from versioning.models.guarded import unguard

HOME = "/studio/"


def home(name: str) -> PageResponse:
    """Return a person's home page."""
    return Visitor(name).get(HOME)


def section(seen: PageResponse, heading: str) -> str:
    """Return the text of a section of a home page; what is for a person has several, `for-you-<key>`."""
    found = re.search(rf'<section[^>]*aria-labelledby="{heading}".*?</section>', seen.markup, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", found[0]).split()) if found else ""


@pytest.fixture
def history(cast: Cast, kind: Kind) -> Kind:
    """A resource with a draft by edgar over a version that alice published."""
    make_history(kind, cast.alice)
    kind.save(cast.edgar, "writer", "words of edgar", changeMessage="Say it better")
    return kind


def test_waiting_drafts_of_the_persons_workspaces_are_shown_first_with_their_number(
    cast: Cast, history: Kind
) -> None:
    kind = history
    kind.make(cast.charlie, "theirs", name="Theirs", workspaceId="elsewhere")
    paulas, edgars = home("paula"), home("edgar")
    for seen, said in ((edgars, "It is yours · someone who may publish"), (paulas, "It is someone else")):
        assert section(seen, "needing").startswith(f"Waiting to be published · 1 {said}")
        assert page_of(kind, "compare") in seen.links
    needing, own = section(paulas, "needing"), section(edgars, "for-you-drafts")
    assert "Say it better" in needing and "saved by edgar just now" in needing and "Theirs" not in needing
    assert own.startswith("Your drafts · 1") and "Say it better saved by you · just now" in own
    assert "Say it better" not in section(edgars, "needing") and "Theirs" not in own
    assert page_of(kind, "change", "theirs") in home("charlie").links
    # A viewer sees live versions, and no drafts.
    vera = home("vera")
    assert "needing" not in vera.markup and "alice published version 3" in vera.text
    for word in ("Say it better", "Unpublished changes", "edgar"):
        assert word not in vera.text


def test_the_home_page_shows_some_waiting_drafts_and_a_link_to_all(cast: Cast, kind: Kind) -> None:
    for number in range(7):
        kind.make(cast.edgar, f"e{number}")
        kind.make(cast.alice, f"a{number}")
    needing = section(home("paula"), "needing")
    assert "Waiting to be published · 14 None of them is yours" in needing and "All 14" in needing
    assert needing.count("View changes") == 5
    assert "7 of yours , 7 of others" in section(home("edgar"), "needing")


def test_recently_opened_or_edited_resources_are_listed_once_latest_first(cast: Cast, history: Kind) -> None:
    kind = history
    kind.make(cast.alice, "other")
    window = Visitor("edgar")
    assert "Writer" not in section(home("edgar"), "recent")  # it is among their drafts, at the top
    kind.publish(cast.alice, "writer", kind.versions(cast.alice)[0]["id"])
    assert re.findall(r"Writer .*? writer · (\w+)", section(home("edgar"), "recent")) == ["edited"]
    for page in ("change", "history", "change"):
        window.get(page_of(kind, page, "other"))
    recent = section(home("edgar"), "recent")
    assert recent.index("other · opened just now") < recent.index("writer · edited by you just now")
    window.get(page_of(kind, "change"))
    recent = section(home("edgar"), "recent")
    assert recent.index("writer · opened just now") < recent.index("other · opened just now")
    assert "appears here" in section(home("paula"), "recent")


def test_what_was_edited_at_the_same_time_has_the_order_of_the_log(cast: Cast, kind: Kind) -> None:
    """As after an import, which is one transaction."""
    names = [f"e{number}" for number in range(6)]
    for name in names:
        kind.make(cast.alice, name, autoPublish=True)
    unguard(Event.objects.all()).update(created_at=timezone.now())
    recent = section(home("alice"), "recent")
    assert sorted(names, key=recent.index) == names[::-1]


def test_only_the_latest_opened_pages_are_remembered_and_no_background_requests(
    cast: Cast, kind: Kind
) -> None:
    vera, names = Visitor("vera"), [f"r{number}." for number in range(MAX_REMEMBERED + 2)]
    insert_resources(kind, names)
    vera.get(page_of(kind, "change", names[-1]), headers={"X-Live": "1"})
    assert not Preferences.objects.filter(user__username="vera").exists()
    earlier = [
        (timezone.now() - datetime.timedelta(minutes=ago)).isoformat() for ago in range(MAX_REMEMBERED)
    ]
    opened = [[KINDS[kind].slug, name, at] for name, at in zip(names, earlier, strict=False)]
    Preferences.objects.change(User.objects.get(username="vera").pk, recent=opened)
    vera.get(page_of(kind, "change", names[-1]))
    found = Preferences.objects.get(user__username="vera").recent
    assert [one[1] for one in found] == [names[-1], *names[: MAX_REMEMBERED - 1]]
    recent = section(home("vera"), "recent")
    assert names[-1] in recent and names[0] in recent and names[10] not in recent


def test_the_home_page_drops_resources_that_became_unreadable(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "secret", name="Secret")
    edgar = Visitor("edgar")
    edgar.get(page_of(kind, "change", "secret"))
    edgar.post(page_of(kind, "star", "secret"), starred="yes")
    seen = edgar.get(HOME)
    assert "Secret" in section(seen, "recent") and "Secret" in section(seen, "starred")
    give_role("edgar", "acme", "viewer")
    assert "ecret" not in edgar.get(HOME).text
    give_role("edgar", "acme", "editor")
    cast.alice.delete(kind.url("secret"))
    kind.make(cast.charlie, "secret", workspaceId="elsewhere", autoPublish=True)
    seen = edgar.get(HOME)
    assert "ecret" not in section(seen, "recent") + section(seen, "starred")


def test_starred_resources_are_listed_newest_first(cast: Cast) -> None:
    vera = Visitor("vera")
    for kind in (AGENTS, PROMPT_BLOCKS):
        kind.make(cast.alice, autoPublish=True, name=kind.list_key)
        vera.post(page_of(kind, "star"), starred="yes")
    starred = section(vera.get(HOME), "starred")
    assert starred.index("promptBlocks") < starred.index("agents")
    assert "Nothing yet" in section(home("edgar"), "starred")


def test_actions_on_a_deleted_resource_with_the_same_id_are_not_recent(cast: Cast, kind: Kind) -> None:
    kind.publish(cast.alice, "writer", kind.make(cast.edgar)["latestVersionId"])
    Visitor("paula").get(page_of(kind, "change"))
    assert "edited" in section(home("edgar"), "recent") and "opened" in section(home("paula"), "recent")
    assert cast.alice.delete(kind.url("writer"), if_match="*").status == 200
    kind.make(cast.alice, "writer", name="Namesake")
    assert "Namesake" not in section(home("edgar"), "recent") + section(home("paula"), "recent")


WAITING = "/studio/waiting/"


def lines(seen: PageResponse) -> list[str]:
    found = re.findall(r'<li class="draft".*?</li>', seen.markup, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", one).split()) for one in found]


def heading(seen: PageResponse) -> str:
    found = re.search(r"<h1>(.*?)</h1>", seen.markup)
    assert found is not None
    return found[1]


def test_waiting_drafts_of_both_kinds_are_ordered_by_last_change(cast: Cast) -> None:
    for kind in (AGENTS, PROMPT_BLOCKS):
        make_history(kind, cast.alice)
        kind.make(cast.alice, "live", autoPublish=True)
    AGENTS.save(cast.edgar, text="words", description="of edgar", changeMessage="Say it better\n\nAt length")
    seen = Visitor("paula").get(WAITING)
    agent, block = lines(seen)
    assert heading(seen) == "Waiting to be published · 2"
    assert "Say it better" in agent and "At length" not in agent
    assert "Changes Description, Instructions" in agent and "Version 5 in place of version 3" in agent
    assert "saved by edgar just now" in agent and "saved by alice" in block
    assert page_of(AGENTS, "compare") in "".join(seen.links)


def test_an_unpublished_resource_waits_only_after_another_save(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    assert cast.alice.post(kind.url("writer", "unpublish")).status == 200
    paula, history = Visitor("paula"), page_of(kind, "history")
    assert heading(paula.get(WAITING)) == "Waiting to be published · 0"
    assert "Nothing is waiting to be published." in paula.get("/studio/").text
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
    assert "Version 2 , nothing is live at the moment" in line
    kind.save(cast.alice, text="best", autoPublish=True)
    assert lines(paula.get(WAITING)) == []


def test_a_version_replaced_by_an_older_one_does_not_wait(cast: Cast, kind: Kind) -> None:
    first = kind.make(cast.alice, autoPublish=True)["latestVersionId"]
    second = kind.save(cast.alice, text="worse", autoPublish=True)["latestVersionId"]
    paula, history = Visitor("paula"), page_of(kind, "history")
    asked = paula.get(page_of(kind, "publish"), version=first)
    assert "This goes back to an older version. Version 2 stays in the history" in asked.text
    kind.publish(cast.paula, "writer", first)
    assert lines(paula.get(WAITING)) == []
    listed = KINDS[kind].address("changelist")
    assert "Writer" not in paula.get(listed, state="changed").text
    seen = paula.get(history)
    assert "Version 2 was taken back; nothing new has been saved." in seen.text
    assert page_of(kind, "discard") not in seen.links and "Taken back" in seen.text
    assert "goes back" not in paula.get(page_of(kind, "publish"), version=second).text
    third = kind.save(cast.edgar, text="better")["latestVersionId"]
    assert len(lines(paula.get(WAITING))) == 1
    assert (
        "Version 3 was saved after it, and stays a draft"
        in paula.get(page_of(kind, "publish"), version=second).text
    )
    # Going back further, and the deletion of the draft, change nothing about that.
    kind.publish(cast.paula, "writer", second)
    kind.publish(cast.paula, "writer", first)
    assert cast.alice.delete(kind.url("writer", "versions", third)).status == 200
    assert lines(paula.get(WAITING)) == []


def test_a_copy_of_the_live_version_does_not_wait(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    paula = Visitor("paula")
    tag = paula.get(page_of(kind, "history")).field("tag")
    paula.post(page_of(kind, "restore", "writer", history.published), tag=tag)
    seen = paula.get(page_of(kind, "history"))
    assert "Version 5 is a copy of Version 3 , and is the same as what is live" in seen.text
    assert "Version 5 was saved last, and is the same as what is live" in seen.text
    assert "Unpublished changes" not in seen.text
    assert lines(paula.get(WAITING)) == []
    listed = KINDS[kind].address("changelist")
    assert "Writer" in paula.get(listed, state="published").text
    assert "Writer" not in paula.get(listed, state="changed").text


def test_own_drafts_and_those_of_others_are_counted_separately(cast: Cast, kind: Kind) -> None:
    for number in range(3):
        kind.make(cast.edgar, f"e{number}")
    kind.make(cast.alice, "a0")
    assert "All · 4 Mine · 0 Others · 4" in Visitor("paula").get(WAITING).text
    edgar = Visitor("edgar")
    for whose, number in (("mine", 3), ("others", 1), ("nobody's", 4)):
        seen = edgar.get(WAITING, whose=whose)
        assert len(lines(seen)) == number and "All · 4 Mine · 3 Others · 1" in seen.text


def test_each_waiting_draft_is_on_exactly_one_page(cast: Cast) -> None:
    for number in range(15):
        for kind in (AGENTS, PROMPT_BLOCKS):
            kind.make(cast.edgar, f"r{number}")
    paula = Visitor("paula")
    first, second = (paula.get(WAITING, page=page) for page in ("1", "2"))
    assert [len(lines(one)) for one in (first, second)] == [25, 5]
    assert len({*re.findall('value="([a-zA-Z]+:[^"]*)"', first.markup + second.markup)}) == 30
    assert "Page 2 of 2" in second.text and "?page=1" in "".join(second.links)


def test_editors_choose_waiting_drafts_and_publish_none(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    paula, edgar = (Visitor(name).get(WAITING) for name in ("paula", "edgar"))
    assert heading(paula) == heading(edgar) == "Waiting to be published · 1"
    assert lines(paula)[0] == lines(edgar)[0]
    for words, is_for_edgar in (
        ("Publish chosen…", False),
        ("Publish as one release…", False),
        ("Ask for review…", True),
        ("Add to release…", True),
    ):
        assert (words in paula.text, words in edgar.text) == (True, is_for_edgar), words


def test_waiting_drafts_stand_below_the_names_of_their_workspaces(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "here")
    kind.make(cast.charlie, "there", workspaceId="elsewhere")
    give_role("paula", "elsewhere", "editor")
    seen = Visitor("paula").get(WAITING)
    found = re.findall(r'<h2[^>]*>(\w+)</h2>|name="chosen" value="\w+:(\w+):', seen.markup)
    assert ["".join(one) for one in found] == ["Elsewhere", "there", "Acme", "here"]
    assert "Acme" not in Visitor("edgar").get(WAITING).text


def test_waiting_drafts_of_another_workspace_are_neither_shown_nor_counted(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "ours")
    kind.make(cast.charlie, "theirs", workspaceId="elsewhere", name="Secret plan")
    if kind is AGENTS:
        cast.charlie.post(kind.path, kind.body("public", id="public", visibility="public", autoPublish=True))
        kind.save(cast.charlie, "public", "Secret draft", changeMessage="Secret plan")
    seen = Visitor("edgar").get(WAITING)
    assert heading(seen) == "Waiting to be published · 1" and "All · 1" in seen.text
    assert "Secret plan" not in seen.markup and "theirs" not in seen.markup


def test_viewers_do_not_see_waiting_drafts(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    edgar = Visitor("edgar")
    assert edgar.get(WAITING).status == 200
    give_role("edgar", "acme", "viewer")
    seen = edgar.get(WAITING)
    assert (seen.status, "writer" in seen.text) == (403, False)


def test_a_draft_over_a_file_waits_like_any_other(cast: Cast, folder: Folder) -> None:
    give_role("paula", "default", "publisher")
    made = {"id": "answers", "instructions": "drafted", "workspaceId": "default"}
    assert cast.paula.post(AGENTS.path, made).status == 201
    AGENTS.make(cast.edgar)
    seen = Visitor("paula").get(WAITING)
    assert heading(seen) == "Waiting to be published · 2"
    assert [("Answers" in line) for line in lines(seen)] == [False, True]
    assert lines(Visitor("paula").get(WAITING, whose="mine"))[0].count("Answers") == 2
