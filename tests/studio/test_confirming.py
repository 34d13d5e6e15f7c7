"""Unpublish, discard, make private or public, delete: asked first, with who would notice."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import make_history
from tests.support.people import give_role
from tests.support.served import published_agent, published_block, reference
from tests.support.window import KINDS, Window, page_of

ASKING = ("unpublish", "discard", "delete")


def record(cast: Cast, kind: Kind) -> dict[str, Any]:
    return dict(cast.alice.get(kind.url("writer"), status="draft").body)


def test_unpublishing_takes_it_out_of_service_and_keeps_every_version(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    asked = Window.of("paula").get(page_of(kind, "unpublish")).text
    assert "Locks that applications hold go on" in asked and "Deleting it" in asked
    seen = Window.of("paula").confirm(page_of(kind, "unpublish"))
    assert seen.headers["Location"] == page_of(kind, "change")
    assert record(cast, kind)["status"] == "draft"
    assert len(kind.versions(cast.alice)) == 4


def test_deleting_says_how_much_goes_and_leads_to_the_list(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    paula = Window.of("paula")
    assert "4 versions and all labels" in paula.get(page_of(kind, "delete")).text
    assert paula.confirm(page_of(kind, "delete")).headers["Location"] == KINDS[kind].address("changelist")
    assert cast.alice.get(kind.url("writer")).status == 404


def test_opening_a_page_that_asks_for_confirmation_changes_nothing(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    before = record(cast, kind)
    for page in ASKING:
        assert Window.of("alice").get(page_of(kind, page)).status == 200
    assert record(cast, kind) == before


def test_discarding_removes_what_was_saved_since_the_publication(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    kind.save(cast.edgar, "writer", "more words", changeMessage="Say more")
    edgar = Window.of("edgar")
    asked = edgar.get(page_of(kind, "discard")).text
    assert "Version 5 , saved by edgar: Say more" in asked and "Version 4 , saved by alice" in asked
    assert "Version 3" not in asked and "Auto-saved" not in asked
    edgar.confirm(page_of(kind, "discard"))
    now = record(cast, kind)
    assert (now["latestVersionId"], now["activeVersionId"]) == (history.published, history.published)
    assert len(kind.versions(cast.alice)) == 3


def test_discarding_what_never_was_published_goes_back_one_version(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    kind.save(cast.edgar, "writer", "two")
    edgar = Window.of("edgar")
    edgar.confirm(page_of(kind, "discard"))
    assert record(cast, kind)[kind.text] == "one"
    refused = edgar.confirm(page_of(kind, "discard"))
    assert (refused.status, "the only version" in refused.text) == (400, True)
    assert record(cast, kind)[kind.text] == "one"


def test_discarding_keeps_all_when_one_of_them_carries_a_label(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    cast.alice.put(kind.url("writer", "labels", "next"), {"versionId": history.draft})
    kind.save(cast.edgar, "writer", "more words")
    refused = Window.of("edgar").confirm(page_of(kind, "discard"))
    assert (refused.status, "'next'" in refused.text) == (400, True)
    assert len(kind.versions(cast.alice)) == 5


def test_history_is_no_draft_of_an_older_version_that_was_published_again(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    kind.publish(cast.alice, "writer", history.draft)
    kind.publish(cast.alice, "writer", history.historical)
    seen = Window.of("alice").get(page_of(kind, "discard"))
    assert (seen.status, "Nothing was saved since version 2" in seen.text) == (404, True)


def test_there_is_no_draft_where_the_newest_is_live(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    assert Window.of("alice").get(page_of(kind, "discard")).status == 404


def test_who_changed_it_in_the_meantime_is_named_and_nothing_is_done(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    paula = Window.of("paula")
    for page in ASKING:
        tag = paula.get(page_of(kind, page)).field("tag")
        kind.save(cast.edgar, "writer", f"words before {page}")
        seen = paula.post(page_of(kind, page), tag=tag)
        assert (seen.status, "edgar changed this in the meantime" in seen.text) == (409, True)
        assert seen.field("tag") != tag
    assert record(cast, kind)[kind.text] == "words before delete"
    assert record(cast, kind)["status"] == "published"


@pytest.mark.parametrize(
    ("name", "statuses"),
    [("edgar", [403, 200, 403]), ("vera", [403, 403, 403]), ("charlie", [404, 404, 404])],
)
def test_only_who_has_the_right_is_asked_or_heard(
    cast: Cast, kind: Kind, name: str, statuses: list[int]
) -> None:
    make_history(kind, cast.alice)
    tag, before = Window.of("alice").get(page_of(kind, "delete")).field("tag"), record(cast, kind)
    window = Window.of(name)
    assert [window.get(page_of(kind, page)).status for page in ASKING] == statuses
    refused = [page for page, status in zip(ASKING, statuses, strict=True) if status != 200]
    assert all(window.post(page_of(kind, page), tag=tag).status in {403, 404} for page in refused)
    assert record(cast, kind) == before


def test_a_form_without_the_tag_does_nothing(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    before = record(cast, kind)
    for page in ASKING:
        assert Window.of("alice").post(page_of(kind, page)).status == 409
    assert record(cast, kind) == before


def test_the_menu_offers_what_one_may_do(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    pages = (*ASKING, "visibility")
    offered = {
        name: [page for page in pages if page_of(kind, page) in Window.of(name).get(usage(kind)).links]
        for name in ("paula", "edgar", "vera")
    }
    all_of_them = [*ASKING, "visibility"] if kind is AGENTS else [*ASKING]
    assert offered == {"paula": all_of_them, "edgar": ["discard"], "vera": []}


def usage(kind: Kind) -> str:
    return page_of(kind, "usage")


def test_those_who_use_it_are_named_and_the_hidden_ones_counted(cast: Cast) -> None:
    published_agent(cast.paula, visibility="public")
    published_agent(cast.paula, "lead", agents={"writer": {}})
    published_agent(cast.charlie, "foreign", agents={"writer": {}}, workspaceId="elsewhere")
    for page in ("unpublish", "delete", "visibility"):
        text = Window.of("paula").get(page_of(AGENTS, page)).text
        assert "2 published agents refer to it" in text and "lead" in text
        assert "And 1 agent in workspaces that you cannot see" in text
        assert "foreign" not in text


def test_the_button_stands_before_those_who_are_affected(cast: Cast) -> None:
    published_agent(cast.paula)
    published_agent(cast.paula, "lead", agents={"writer": {}})
    for page in ("unpublish", "delete"):
        markup = Window.of("paula").get(page_of(AGENTS, page)).markup
        button, users = markup.index("button-danger"), markup.index("/lead/change/")
        assert markup.index("1 published agent refers to it") < button < users


def test_more_users_than_a_page_holds_are_behind_a_link(cast: Cast) -> None:
    published_agent(cast.paula)
    for number in range(61):
        published_agent(cast.paula, f"u{number:02}", agents={"writer": {}})
    paula = Window.of("paula")
    asked = paula.get(page_of(AGENTS, "delete"))
    assert "61 published agents refer to it" in asked.text and "and 11 more" in asked.text
    [rest] = {link for link in asked.links if "page=2" in link}
    seen = paula.get(rest)
    shown = {link for link in seen.links if "/agent/u" in link}
    assert len(shown) == 11 and not shown & set(asked.links)
    assert "In what is live · 61" in seen.text and "more" not in seen.text.split("In what is live")[1]


def test_those_who_use_a_block_are_named_live_and_drafted(cast: Cast) -> None:
    published_block(cast.paula, "tone", "Warm.")
    published_agent(cast.paula, "lead", [reference("tone")])
    AGENTS.make(cast.edgar, "drafted", [reference("tone")])  # type: ignore[arg-type]
    text = Window.of("edgar").get(page_of(PROMPT_BLOCKS, "usage", "tone")).text
    live, drafted = text.split("In what was saved last")
    assert "lead" in live and "drafted" not in live
    assert "lead" in drafted and "drafted" in drafted
    seen = Window.of("vera").get(page_of(PROMPT_BLOCKS, "usage", "tone")).text
    assert "lead" in seen and "drafted" not in seen and "saved last" not in seen


def test_an_agent_is_made_public_and_private_again(cast: Cast) -> None:
    make_history(AGENTS, cast.alice)
    paula = Window.of("paula")
    for visibility in ("public", "private"):
        assert f"Make {visibility}?" in paula.get(page_of(AGENTS, "visibility")).text
        paula.confirm(page_of(AGENTS, "visibility"))
        assert record(cast, AGENTS)["visibility"] == visibility
    assert len(AGENTS.versions(cast.alice)) == 4


def test_blocks_have_no_visibility_to_change(cast: Cast) -> None:
    make_history(PROMPT_BLOCKS, cast.alice)
    assert Window.of("alice").get(page_of(PROMPT_BLOCKS, "visibility")).status == 404


def test_of_an_agent_that_code_defines_only_the_override_goes(cast: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    give_role("paula", "default", "publisher")
    paula = Window.of("paula")
    for page in (*ASKING, "visibility"):
        assert paula.get(page_of(AGENTS, page, "answers")).status == 404
    override = {"id": "answers", "instructions": "other", "autoPublish": True}
    assert cast.paula.post(AGENTS.path, override).status == 201
    assert "as its code says again" in paula.get(page_of(AGENTS, "unpublish", "answers")).text
    assert "The agent itself stays" in paula.get(page_of(AGENTS, "delete", "answers")).text
    paula.confirm(page_of(AGENTS, "delete", "answers"))
    assert cast.paula.get("/agents/answers").body["instructions"] == "code"
    assert any("answers" in row for row in paula.list(AGENTS))
