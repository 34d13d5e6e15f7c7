"""Duplicating: a copy with an id of its own, which nobody is served."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.calls import make_history
from tests.support.people import give_role
from tests.support.window import Window, page_of


def duplicate(window: Window, kind: Kind, resource_id: str = "writer", **changes: str) -> Any:
    """Send the form of the menu, with what it proposes but for these changes."""
    seen = window.get(page_of(kind, "usage", resource_id))
    fields = {"id": seen.field("id"), "proposed": seen.field("proposed"), **changes}
    return window.post(page_of(kind, "duplicate", resource_id), **fields)


def test_the_menu_copies_what_one_sees_under_the_proposed_id(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    done = duplicate(Window.of("edgar"), kind)
    assert (done.status, done.headers["Location"]) == (302, page_of(kind, "change", "writer-copy"))
    copy = cast.alice.get(kind.url("writer-copy"), status="draft").body
    assert (copy["name"], copy[kind.text], copy["activeVersionId"], copy["authorId"]) == (
        "Writer (copy)",
        "draft words",
        None,
        "edgar",
    )
    assert copy["workspaceId"] == "acme"


def test_the_proposal_moves_on_where_it_is_taken_and_another_id_does_not(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "team/writer")
    edgar = Window.of("edgar")
    found = [duplicate(edgar, kind, "team/writer").headers["Location"] for _ in range(3)]
    assert found == [page_of(kind, "change", f"team/writer-copy{end}") for end in ("", "-2", "-3")]
    taken = duplicate(edgar, kind, "team/writer", id="team/writer")
    assert (taken.status, "is taken" in taken.text) == (409, True)
    assert taken.field("id") == "team/writer"


@pytest.mark.parametrize("resource_id", ["", "a//b", "x" * 201, "a/export", "\x00"])
def test_an_id_that_cannot_be_stays_in_the_form(cast: Cast, kind: Kind, resource_id: str) -> None:
    kind.make(cast.alice)
    refused = duplicate(Window.of("edgar"), kind, id=resource_id)
    assert (refused.status, "Nothing was copied yet" in refused.text) == (400, True)
    assert len(Window.of("alice").list(kind)) == 1


def test_whoever_may_not_save_is_offered_nothing(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    seen = Window.of("vera").get(page_of(kind, "usage"))
    assert seen.status == 200 and page_of(kind, "duplicate") not in seen.markup
    for refused in (
        Window.of("vera").post(page_of(kind, "duplicate"), id="mine", workspace="acme"),
        Window.of("vera").get(page_of(kind, "duplicate")),
    ):
        assert refused.status == 403
    assert cast.alice.get(kind.url("mine"), status="draft").status == 404


def test_a_stranger_copies_what_is_published_of_a_public_agent_into_their_own(cast: Cast) -> None:
    make_history(AGENTS, cast.alice, visibility="public")
    charlie = Window.of("charlie")
    assert page_of(AGENTS, "duplicate") in charlie.get(page_of(AGENTS, "usage")).links
    form = charlie.get(page_of(AGENTS, "duplicate"))
    assert "elsewhere" in form.markup.lower() and "acme" not in form.text.lower().replace("acme/", "")
    done = charlie.post(page_of(AGENTS, "duplicate"), id="mine", workspace="elsewhere", name="Mine")
    assert done.status == 302
    copy = cast.charlie.get(AGENTS.url("mine"), status="draft").body
    assert (copy["instructions"], copy["visibility"], copy["name"]) == ("published words", "private", "Mine")
    refused = charlie.post(page_of(AGENTS, "duplicate"), id="other", workspace="acme")
    assert (refused.status, "acme" in refused.text) == (403, True)


def test_nothing_that_one_may_not_read_is_copied(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, autoPublish=True)
    give_role("vera", "elsewhere", "editor")
    charlie = Window.of("charlie")
    for resource_id in ("writer", "none"):
        refused = charlie.post(page_of(kind, "duplicate", resource_id), id="mine", workspace="elsewhere")
        assert refused.status == 404
    drafted = kind.save(cast.edgar, text="secret draft")
    assert drafted["hasDraft"]
    done = Window.of("vera").post(page_of(kind, "duplicate"), id="mine", workspace="elsewhere")
    assert done.status == 302
    assert cast.charlie.get(kind.url("mine"), status="draft").body[kind.text] == "one"


def test_the_menu_stands_on_every_page_of_a_resource(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    edgar = Window.of("edgar")
    for page in ("change", "history", "compare", "usage", "activity"):
        assert edgar.get(page_of(kind, page)).field("id") == "writer-copy"
