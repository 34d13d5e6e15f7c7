"""Unpublish, discard, make private or public, delete: confirmed first, with who would notice."""

from __future__ import annotations

from typing import Any

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import make_history
from tests.support.people import give_role
from tests.support.rollouts import arm, started, with_draft
from tests.support.served import published_agent, published_block, reference
from tests.support.studio import KINDS, Visitor, page_of

ASKING = ("unpublish", "discard", "delete")


def record(cast: Cast, kind: Kind) -> dict[str, Any]:
    return dict(cast.alice.get(kind.url("writer"), status="draft").body)


def test_unpublishing_stops_serving_and_retains_every_version(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    paula = Visitor("paula")
    assert "still get" not in paula.get(page_of(kind, "unpublish")).text
    stable = {"versionId": history.published, "released": True}
    assert cast.alice.put(kind.url("writer", "labels", "stable"), stable).status == 200
    asked = paula.get(page_of(kind, "unpublish"))
    assert "Applications that ask for the label stable still get its version." in asked.text
    assert "Applications that hold a lock keep" in asked.text and "Deleting it" in asked.text
    seen = paula.confirm(page_of(kind, "unpublish"), asked)
    assert seen.headers["Location"] == page_of(kind, "change")
    assert record(cast, kind)["status"] == "draft"
    assert len(kind.versions(cast.alice)) == 4


def test_deleting_shows_what_is_deleted_and_returns_to_the_list(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    paula = Visitor("paula")
    asked = paula.get(page_of(kind, "delete"))
    assert "4 versions and all labels" in asked.text and "Type the id “writer” to confirm" in asked.text
    wrong: list[dict[str, str]] = [{}, {"typed_id": "written"}]
    for typed in wrong:
        refused = paula.post(page_of(kind, "delete"), tag=asked.field("tag"), **typed)
        assert (refused.status, "Nothing was deleted. Type “writer”." in refused.text) == (400, True)
    done = paula.confirm(page_of(kind, "delete"), asked)
    assert done.headers["Location"] == KINDS[kind].address("changelist")
    assert cast.alice.get(kind.url("writer")).status == 404


def test_discarding_deletes_the_versions_since_the_publication(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    kind.save(cast.edgar, "writer", "more words", changeMessage="Say more")
    edgar = Visitor("edgar")
    asked = edgar.get(page_of(kind, "discard"))
    assert "Version 5 , saved by you : Say more" in asked.text and "Version 4 , saved by alice" in asked.text
    assert "Version 3" not in asked.text and "Auto-saved" not in asked.text
    edgar.confirm(page_of(kind, "discard"), asked)
    now = record(cast, kind)
    assert (now["latestVersionId"], now["activeVersionId"]) == (history.published, history.published)
    assert len(kind.versions(cast.alice)) == 3


def test_discarding_without_a_publication_goes_back_one_version(cast: Cast, kind: Kind) -> None:
    kind.make(cast.edgar)
    kind.save(cast.edgar, "writer", "two")
    edgar = Visitor("edgar")
    edgar.confirm(page_of(kind, "discard"))
    assert record(cast, kind)[kind.text] == "one"
    refused = edgar.confirm(page_of(kind, "discard"))
    assert (refused.status, "the only version" in refused.text) == (400, True)
    assert record(cast, kind)[kind.text] == "one"


def test_discarding_is_refused_if_a_version_has_a_label(cast: Cast, kind: Kind) -> None:
    history = make_history(kind, cast.alice)
    cast.alice.put(kind.url("writer", "labels", "next"), {"versionId": history.draft})
    kind.save(cast.edgar, "writer", "more words")
    refused = Visitor("edgar").confirm(page_of(kind, "discard"))
    assert (refused.status, "“next”" in refused.text) == (400, True)
    assert len(kind.versions(cast.alice)) == 5


def test_a_stale_confirmation_names_the_other_author_and_does_nothing(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    paula = Visitor("paula")
    for page in ASKING:
        tag = paula.get(page_of(kind, page)).field("tag")
        kind.save(cast.edgar, "writer", f"words before {page}")
        assert paula.post(page_of(kind, page)).status == 409  # without any tag
        seen = paula.post(page_of(kind, page), tag=tag)
        assert (seen.status, "edgar changed this in the meantime" in seen.text) == (409, True)
        assert seen.field("tag") != tag
    assert record(cast, kind)[kind.text] == "words before delete"
    assert record(cast, kind)["status"] == "published"


def test_a_confirmation_page_needs_the_right_of_its_action(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    tag, before = Visitor("alice").get(page_of(kind, "delete")).field("tag"), record(cast, kind)
    edgar, statuses = Visitor("edgar"), [403, 200, 403]
    assert [edgar.get(page_of(kind, page)).status for page in ASKING] == statuses
    refused = [page for page, status in zip(ASKING, statuses, strict=True) if status == 403]
    assert [edgar.post(page_of(kind, page), tag=tag).status for page in refused] == [403, 403]
    assert record(cast, kind) == before


def test_the_menu_offers_the_actions_that_the_role_allows(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    all_of_them = [*ASKING, "visibility"] if kind is AGENTS else [*ASKING]
    for name, offered in (("paula", all_of_them), ("edgar", ["discard"]), ("vera", [])):
        links = Visitor(name).get(page_of(kind, "usage")).links
        assert [page for page in (*ASKING, "visibility") if page_of(kind, page) in links] == offered


def test_dependents_are_named_and_hidden_ones_are_counted(cast: Cast) -> None:
    published_agent(cast.paula, visibility="public")
    published_agent(cast.paula, "lead", agents={"writer": {}}, name="Lead")
    published_agent(cast.charlie, "foreign", agents={"writer": {}}, workspaceId="elsewhere")
    for page in ("unpublish", "delete", "visibility"):
        text = Visitor("paula").get(page_of(AGENTS, page)).text
        assert "2 published agents refer to it" in text and "Lead" in text
        assert "And 1 agent in workspaces that you may not see" in text
        assert "foreign" not in text


def test_further_dependents_are_behind_a_link(cast: Cast) -> None:
    published_agent(cast.paula)
    for number in range(51):
        published_agent(cast.paula, f"u{number:02}", agents={"writer": {}})
    paula = Visitor("paula")
    asked = paula.get(page_of(AGENTS, "delete"))
    assert "51 published agents refer to it" in asked.text and "and 1 more" in asked.text
    [rest] = {link for link in asked.links if "page=2" in link}
    seen = paula.get(rest)
    shown = {link for link in seen.links if "/agent/u" in link}
    assert len(shown) == 1 and not shown & set(asked.links)
    assert "In what is live · 51" in seen.text and "more" not in seen.text.split("In what is live")[1]


def test_dependents_of_a_block_are_listed_by_published_version_and_draft(cast: Cast) -> None:
    published_block(cast.paula, "tone", "Warm.")
    published_agent(cast.paula, "lead", [reference("tone")], name="Lead")
    AGENTS.make(cast.edgar, "drafted", [reference("tone")], name="Drafted")  # type: ignore[arg-type]
    text = Visitor("edgar").get(page_of(PROMPT_BLOCKS, "usage", "tone")).text
    live, drafted = text.split("In what was saved last")
    assert "Lead" in live and "Drafted" not in live
    assert "Lead" in drafted and "Drafted" in drafted
    seen = Visitor("vera").get(page_of(PROMPT_BLOCKS, "usage", "tone")).text
    assert "Lead" in seen and "Drafted" not in seen and "saved last" not in seen


def test_an_agent_is_made_public_and_private_again(cast: Cast) -> None:
    make_history(AGENTS, cast.alice)
    paula = Visitor("paula")
    for visibility in ("public", "private"):
        asked = paula.get(page_of(AGENTS, "visibility"))
        assert f"Make {visibility}?" in asked.text
        paula.confirm(page_of(AGENTS, "visibility"), asked)
        assert record(cast, AGENTS)["visibility"] == visibility
    assert len(AGENTS.versions(cast.alice)) == 4
    PROMPT_BLOCKS.make(cast.alice)
    assert Visitor("alice").get(page_of(PROMPT_BLOCKS, "visibility")).status == 404


def test_deleting_a_code_defined_agent_deletes_only_the_override(cast: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    give_role("paula", "default", "publisher")
    paula = Visitor("paula")
    for page in (*ASKING, "visibility"):
        assert paula.get(page_of(AGENTS, page, "answers")).status == 404
    override = {"id": "answers", "instructions": "other", "autoPublish": True}
    assert cast.paula.post(AGENTS.path, override).status == 201
    assert "as its code defines it again" in paula.get(page_of(AGENTS, "unpublish", "answers")).text
    asked = paula.get(page_of(AGENTS, "delete", "answers"))
    assert "The agent itself stays" in asked.text
    paula.confirm(page_of(AGENTS, "delete", "answers"), asked)
    assert cast.paula.get("/agents/answers").body["instructions"] == "code"
    assert any("answers" in row for row in paula.list(AGENTS))


def test_what_is_not_live_is_deleted_without_its_id(cast: Cast, kind: Kind) -> None:
    kind.make(cast.paula)
    paula = Visitor("paula")
    asked = paula.get(page_of(kind, "delete"))
    assert "to confirm" not in asked.text
    paula.post(page_of(kind, "delete"), tag=asked.field("tag"))
    assert cast.alice.get(kind.url("writer"), status="draft").status == 404


def test_a_running_rollout_is_named_before_something_is_taken_down(cast: Cast, kind: Kind) -> None:
    _live, draft = with_draft(cast.alice, kind)
    started(cast.paula, kind, arm(draft))
    paula = Visitor("paula")
    for page in ("delete", "unpublish"):
        asked = paula.get(page_of(kind, page))
        assert "A rollout is running. Stop it first." in asked.text and "disabled" in asked.markup
        assert any("rollout" in link for link in asked.links)
        assert paula.confirm(page_of(kind, page), asked).status == 409
    assert cast.alice.get(kind.url("writer")).status == 200
