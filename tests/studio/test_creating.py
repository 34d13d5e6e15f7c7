"""Making an agent or a prompt block in the studio."""

from __future__ import annotations

import html
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Kind
from tests.support.people import give_role
from tests.support.window import KINDS, Seen, Window, page_of

GOOD = {"name": "Refund policy", "id": "policies/refunds", "workspace": "acme", "text": "Thirty days."}


def make(who: str, kind: Kind, **fields: str) -> Seen:
    """Send the form."""
    return Window.of(who).post(KINDS[kind].address("add"), **{**GOOD, **fields})


def test_what_is_made_is_a_draft_of_its_maker(cast: Cast, kind: Kind) -> None:
    seen = make("alice", kind, text="Thirty days.\r\nOr more.")
    assert (seen.status, seen.headers["Location"]) == (302, page_of(kind, "change", "policies/refunds"))
    made = cast.alice.get(kind.url("policies/refunds"), status="draft").body
    assert (made["name"], made[kind.text], made["authorId"]) == (
        GOOD["name"],
        "Thirty days.\nOr more.",
        "alice",
    )
    assert (made["status"], made["workspaceId"]) == ("draft", "acme")


def test_the_id_is_made_of_the_name_when_none_is_given(cast: Cast, kind: Kind) -> None:
    assert make("edgar", kind, id="").headers["Location"] == page_of(kind, "change", "refund-policy")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"name": " "}, "Name Must not be blank"),
        ({"id": "a//b"}, "Id Must"),
        ({"id": "versions"}, "Id Must"),
        ({"name": "…", "id": ""}, "Id Is required"),
    ],
    ids=["no name", "empty folder", "reserved id", "nothing to make an id of"],
)
def test_an_error_stands_beside_its_field_and_what_was_typed_stays(
    cast: Cast, kind: Kind, fields: dict[str, str], problem: str
) -> None:
    seen = make("edgar", kind, **fields)
    assert seen.status == 400
    assert problem in seen.text and "Nothing was saved" in seen.text
    for value in {**GOOD, **fields}.values():
        assert html.escape(value.strip()) in seen.markup
    assert cast.alice.get(kind.path, status="all").body["total"] == 0


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_agent_needs_instructions(cast: Cast, text: str) -> None:
    seen = make("edgar", AGENTS, text=text)
    assert (seen.status, "Instructions Must not be blank" in seen.text) == (400, True)


def test_an_id_that_is_taken_is_said_so(cast: Cast, kind: Kind) -> None:
    kind.make(cast.alice, "policies/refunds")
    seen = make("edgar", kind, text="Other words.")
    error = 'class="error">The id &#x27;policies/refunds&#x27; is taken.</p>'
    assert (seen.status, error in seen.markup, "Other words." in seen.markup) == (409, True, True)
    assert cast.alice.get(kind.url("policies/refunds"), status="draft").body[kind.text] == "one"


def test_a_workspace_must_be_ones_own(cast: Cast, kind: Kind) -> None:
    seen = make("edgar", kind, workspace="elsewhere")
    assert (seen.status, "elsewhere" in seen.text) == (403, True)
    assert cast.root.get(kind.path, status="all").body["total"] == 0


def test_only_workspaces_where_one_may_save_are_offered(cast: Cast, kind: Kind) -> None:
    give_role("edgar", "elsewhere", "viewer")
    assert 'value="elsewhere"' not in Window.of("edgar").get(KINDS[kind].address("add")).markup
    assert 'value="elsewhere"' in Window.of("root").get(KINDS[kind].address("add")).markup


def test_a_viewer_makes_nothing(cast: Cast, kind: Kind) -> None:
    assert Window.of("vera").get(KINDS[kind].address("add")).status == 403
    assert make("vera", kind).status == 403


def test_the_id_of_an_agent_that_code_defines_is_taken_elsewhere(cast: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    seen = make("edgar", AGENTS, id="answers")
    assert (seen.status, "defined in code" in seen.text) == (403, True)
