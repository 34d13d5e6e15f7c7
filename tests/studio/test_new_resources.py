"""Agents and prompt blocks that are created in the studio, from a form or as a copy."""

from __future__ import annotations

import html
from typing import Any

from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.calls import make_history
from tests.support.people import give_role
from tests.support.studio import KINDS, PageResponse, Visitor, page_of

GOOD = {"name": "Refund policy", "id": "policies/refunds", "workspace": "acme", "text": "Thirty days."}


def make(who: str, kind: Kind, **fields: str) -> PageResponse:
    """Send the form."""
    return Visitor(who).post(KINDS[kind].address("add"), **{**GOOD, **fields})


def test_a_new_resource_is_a_draft_of_its_creator(cast: Cast, kind: Kind) -> None:
    seen = make("alice", kind, text="Thirty days.\r\nOr more.")
    assert (seen.status, seen.headers["Location"]) == (302, page_of(kind, "change", "policies/refunds"))
    made = cast.alice.get(kind.url("policies/refunds"), status="draft").body
    assert (made["name"], made[kind.text], made["authorId"]) == (
        GOOD["name"],
        "Thirty days.\nOr more.",
        "alice",
    )
    assert (made["status"], made["workspaceId"]) == ("draft", "acme")


def test_the_message_clips_a_long_name(cast: Cast, kind: Kind) -> None:
    window = Visitor("alice")
    seen = window.post(KINDS[kind].address("add"), **{**GOOD, "name": "n" * 200})
    assert f"“{'n' * 60}…” is saved as a draft" in window.get(seen.headers["Location"]).text


def test_without_an_id_it_is_derived_from_the_name(cast: Cast, kind: Kind) -> None:
    assert make("edgar", kind, id="").headers["Location"] == page_of(kind, "change", "refund-policy")


def test_an_error_is_shown_next_to_its_field_and_typed_values_are_preserved(cast: Cast, kind: Kind) -> None:
    for fields, problem in [
        ({"name": " "}, "Name Fill in this field."),
        ({"id": "a//b"}, "Id Must"),
        ({"id": "versions"}, "Id Must"),
        ({"name": "…", "id": ""}, "Id Is required"),
    ]:
        seen = make("edgar", kind, **fields)
        assert seen.status == 400
        assert problem in seen.text and 'role="alert"' not in seen.markup  # said once, at the field
        for value in {**GOOD, **fields}.values():
            assert html.escape(value.strip()) in seen.markup
        assert cast.alice.get(kind.path, status="all").body["total"] == 0


def test_a_taken_id_is_reported(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "policies/refunds")
    seen = make("edgar", kind, text="Other words.")
    error = 'class="error">The id “policies/refunds” is taken.</p>'
    assert (seen.status, error in seen.markup, "Other words." in seen.markup) == (409, True, True)
    assert cast.alice.get(kind.url("policies/refunds"), status="draft").body[kind.text] == "one"


def test_a_name_that_is_too_long_for_an_id_asks_for_a_shorter_id(cast: Cast, kind: Kind) -> None:
    seen = make("edgar", kind, name="Front desk " * 20, id="")
    assert seen.status == 400 and 'role="alert"' not in seen.markup
    assert "Cannot be generated, because the name is too long: enter a shorter id" in seen.text
    assert make("edgar", kind, name="Front desk " * 20, id="desk").status == 302


def test_a_resource_is_not_created_in_a_foreign_workspace(cast: Cast, kind: Kind) -> None:
    seen = make("edgar", kind, workspace="elsewhere")
    assert (seen.status, "elsewhere" in seen.text) == (403, True)
    assert cast.root.get(kind.path, status="all").body["total"] == 0


def test_only_workspaces_with_the_right_to_save_are_offered(cast: Cast, kind: Kind) -> None:
    give_role("edgar", "elsewhere", "viewer")
    assert 'value="elsewhere"' not in Visitor("edgar").get(KINDS[kind].address("add")).markup
    assert 'value="elsewhere"' in Visitor("root").get(KINDS[kind].address("add")).markup


def test_a_viewer_cannot_create_resources(cast: Cast, kind: Kind) -> None:
    assert Visitor("vera").get(KINDS[kind].address("add")).status == 403
    assert make("vera", kind).status == 403


def duplicate(window: Visitor, kind: Kind, resource_id: str = "writer", **changes: str) -> Any:
    """Send the form of the menu with its proposed values, except for these changes."""
    seen = window.get(page_of(kind, "usage", resource_id))
    fields = {"id": seen.field("id"), "proposed": seen.field("proposed"), **changes}
    return window.post(page_of(kind, "duplicate", resource_id), **fields)


def test_the_menu_copies_the_draft_under_the_proposed_id(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    done = duplicate(Visitor("edgar"), kind)
    assert (done.status, done.headers["Location"]) == (302, page_of(kind, "change", "writer-copy"))
    copy = cast.alice.get(kind.url("writer-copy"), status="draft").body
    assert (copy["name"], copy[kind.text], copy["activeVersionId"], copy["authorId"]) == (
        "Writer (copy)",
        "draft words",
        None,
        "edgar",
    )
    assert copy["workspaceId"] == "acme"


def test_a_taken_proposed_id_is_replaced_by_the_next_and_a_typed_one_is_refused(
    cast: Cast, kind: Kind
) -> None:
    kind.make(cast.alice, "team/writer")
    edgar = Visitor("edgar")
    found = [duplicate(edgar, kind, "team/writer").headers["Location"] for _ in range(3)]
    assert found == [page_of(kind, "change", f"team/writer-copy{end}") for end in ("", "-2", "-3")]
    taken = duplicate(edgar, kind, "team/writer", id="team/writer")
    assert (taken.status, "is taken" in taken.text) == (409, True)
    assert taken.field("id") == "team/writer"


def test_an_invalid_id_stays_in_the_form(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice)
    edgar = Visitor("edgar")
    for resource_id in ("", "a//b", "\x00"):
        refused = duplicate(edgar, kind, id=resource_id)
        assert (refused.status, 'class="error"' in refused.markup) == (400, True)
    assert len(Visitor("alice").list(kind)) == 1


def test_viewers_are_not_offered_a_copy(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    seen = Visitor("vera").get(page_of(kind, "usage"))
    assert seen.status == 200 and page_of(kind, "duplicate") not in seen.markup
    for refused in (
        Visitor("vera").post(page_of(kind, "duplicate"), id="mine", workspace="acme"),
        Visitor("vera").get(page_of(kind, "duplicate")),
    ):
        assert refused.status == 403
    assert cast.alice.get(kind.url("mine"), status="draft").status == 404


def test_a_non_member_copies_the_published_version_of_a_public_agent(cast: Cast) -> None:
    make_history(AGENTS, cast.alice, visibility="public")
    charlie = Visitor("charlie")
    assert page_of(AGENTS, "duplicate") in charlie.get(page_of(AGENTS, "usage")).links
    form = charlie.get(page_of(AGENTS, "duplicate"))
    assert "elsewhere" in form.markup.lower() and "acme" not in form.text.lower().replace("acme/", "")
    done = charlie.post(page_of(AGENTS, "duplicate"), id="mine", workspace="elsewhere", name="Mine")
    assert done.status == 302
    copy = cast.charlie.get(AGENTS.url("mine"), status="draft").body
    assert (copy["instructions"], copy["visibility"], copy["name"]) == ("published words", "private", "Mine")
    refused = charlie.post(page_of(AGENTS, "duplicate"), id="other", workspace="acme")
    assert (refused.status, "acme" in refused.text) == (403, True)


def test_unreadable_resources_and_drafts_are_not_copied(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    give_role("vera", "elsewhere", "editor")
    charlie = Visitor("charlie")
    for resource_id in ("writer", "none"):
        refused = charlie.post(page_of(kind, "duplicate", resource_id), id="mine", workspace="elsewhere")
        assert refused.status == 404
    drafted = kind.save(cast.edgar, text="secret draft")
    assert drafted["hasDraft"]
    done = Visitor("vera").post(page_of(kind, "duplicate"), id="mine", workspace="elsewhere")
    assert done.status == 302
    assert cast.charlie.get(kind.url("mine"), status="draft").body[kind.text] == "one"


def test_an_unusual_id_is_used_only_when_it_is_sent_again(cast: Cast, kind: Kind) -> None:
    unusual = "Großes Ä!/Und so"
    asked = make("edgar", kind, id=unusual)
    assert asked.status == 400 and "Nothing is saved yet" in asked.text
    assert "Suggestion: grosses-ae/und-so" in asked.text and asked.field("unusual") == unusual
    assert make("edgar", kind, id="Other one", unusual=unusual).status == 400
    assert cast.alice.get(kind.path, status="all").body["total"] == 0
    assert make("edgar", kind, id=unusual, unusual=unusual).status == 302
    assert make("edgar", kind, id="Usual_id-2.0").status == 302


def test_the_message_about_a_new_resource_has_the_beginning_of_a_long_name(cast: Cast, kind: Kind) -> None:
    edgar = Visitor("edgar")
    made = edgar.post(KINDS[kind].address("add"), **{**GOOD, "name": "Front desk " * 18})
    seen = edgar.get(made.headers["Location"])
    assert "…” is saved as a draft" in seen.text
