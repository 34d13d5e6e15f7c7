"""After a conflict: both edits together, where they do not overlap."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import Kind
from tests.support.studio import PageResponse, Visitor, controls, page_of

TEXT = "Be kind.\n\nSay why.\n\nBe brief."
BOTH = '<button class="button button-primary" type="submit" form="edit-form" name="then" value="{}"'


@pytest.fixture
def edgar(cast: Cast, kind: Kind) -> Visitor:
    kind.make(cast.alice, text=TEXT, autoPublish=True)
    return Visitor("edgar")


def text_control(kind: Kind) -> str:
    return "instructions.text" if kind.text == "instructions" else kind.text


def form_of(answer: PageResponse) -> dict[str, str]:
    return controls(answer.markup, "edit-form")


def typed(kind: Kind, edgar: Visitor, text: str, **more: str) -> dict[str, str]:
    return edgar.form(kind) | {text_control(kind): text} | more


def draft(cast: Cast, kind: Kind) -> dict[str, Any]:
    body: dict[str, Any] = cast.alice.get(kind.url("writer"), status="draft").body
    return body


def test_edits_of_different_lines_are_put_together_and_shown_before_they_are_saved(
    cast: Cast, kind: Kind, edgar: Visitor
) -> None:
    form = typed(kind, edgar, TEXT.replace("kind", "very kind"), name="Renamed")
    cast.alice.patch(kind.url("writer"), {kind.text: f"{TEXT}\nThank them.", "description": "Alice's"})
    conflict = edgar.post(page_of(kind, "change"), form)
    assert conflict.status == 409
    assert BOTH.format("both") in conflict.markup
    assert "you have to choose" not in conflict.words
    both = edgar.post(page_of(kind, "change"), form_of(conflict) | {"then": "both"})
    assert both.status == 200
    assert "Both are in the form now. Nothing is saved yet" in both.words
    assert draft(cast, kind)["name"] != "Renamed"
    page = both.markup
    shown = page[page.index("What saving both would change now") : page.index('id="edit-form"')]
    assert "Renamed" in shown and "very" in shown
    saved = form_of(both)
    assert "began" not in saved
    assert edgar.post(page_of(kind, "change"), saved).status == 302
    after = draft(cast, kind)
    assert after[kind.text] == f"{TEXT}\nThank them.".replace("kind", "very kind")
    assert (after["name"], after["description"]) == ("Renamed", "Alice's")


def test_edits_of_different_fields_are_in_the_form_already(cast: Cast, kind: Kind, edgar: Visitor) -> None:
    form = edgar.form(kind) | {"name": "Renamed"}
    cast.alice.patch(kind.url("writer"), {kind.text: "Alice's words"})
    conflict = edgar.post(page_of(kind, "change"), form)
    assert BOTH.format("edit") in conflict.markup
    assert edgar.post(page_of(kind, "change"), form_of(conflict) | {"then": "edit"}).status == 302
    assert (draft(cast, kind)["name"], draft(cast, kind)[kind.text]) == ("Renamed", "Alice's words")


def test_where_both_changed_the_same_place_one_has_to_choose(cast: Cast, kind: Kind, edgar: Visitor) -> None:
    form = typed(kind, edgar, TEXT.replace("kind", "very kind"), name="Renamed")
    cast.alice.patch(kind.url("writer"), {kind.text: TEXT.replace("kind", "stern"), "name": "Else"})
    conflict = edgar.post(page_of(kind, "change"), form)
    said = conflict.words
    assert BOTH.format("both") not in conflict.markup
    assert BOTH.format("both-ours") in conflict.markup
    assert "Yours Be very kind. The other Be stern." in said
    title = "Instructions" if kind.text == "instructions" else "Text"
    assert f"In Name, {title} the same place was changed, so you have to choose." in said
    # The button is not offered; what would press it all the same gets the same page.
    again = edgar.post(page_of(kind, "change"), form_of(conflict) | {"then": "both"})
    assert again.status == 409 and "you have to choose" in again.words
    assert form_of(again)[text_control(kind)].startswith("Be very kind.")


@pytest.mark.parametrize(("then", "wording"), [("both-ours", "very kind"), ("both-theirs", "stern")])
def test_both_are_taken_with_the_wording_of_one_where_they_clash(
    cast: Cast, kind: Kind, edgar: Visitor, then: str, wording: str
) -> None:
    form = typed(kind, edgar, TEXT.replace("kind", "very kind").replace("Say why", "Tell why"))
    theirs = f"{TEXT}\nThank them.".replace("kind", "stern")
    cast.alice.patch(kind.url("writer"), {kind.text: theirs})
    clash = form_of(edgar.post(page_of(kind, "change"), form))
    both = edgar.post(page_of(kind, "change"), clash | {"then": then})
    expected = f"{TEXT}\nThank them.".replace("kind", wording).replace("Say why", "Tell why")
    assert form_of(both)[text_control(kind)].replace("\r\n", "\n") == expected
    assert edgar.post(page_of(kind, "change"), form_of(both) | {"then": "edit"}).status == 302
    assert draft(cast, kind)[kind.text] == expected


def test_what_a_third_person_saves_meanwhile_is_taken_too(cast: Cast, kind: Kind, edgar: Visitor) -> None:
    form = typed(kind, edgar, TEXT.replace("kind", "very kind"))
    cast.alice.patch(kind.url("writer"), {kind.text: f"{TEXT}\nThank them."})
    conflict = edgar.post(page_of(kind, "change"), form)
    cast.paula.patch(kind.url("writer"), {kind.text: f"{TEXT}\nThank them.".replace("Say why", "Ask why")})
    both = edgar.post(page_of(kind, "change"), form_of(conflict) | {"then": "both"})
    expected = f"{TEXT}\nThank them.".replace("Say why", "Ask why").replace("kind", "very kind")
    assert form_of(both)[text_control(kind)].replace("\r\n", "\n") == expected


@pytest.mark.parametrize("began", ["", "no-such-version", "\0", "7c1f0e2a-0000-4000-8000-000000000000"])
def test_a_form_of_no_version_is_a_conflict_or_refused(
    cast: Cast, kind: Kind, edgar: Visitor, began: str
) -> None:
    form = typed(kind, edgar, "Other words.") | {"then": "both", "began": began}
    assert edgar.post(page_of(kind, "change"), form).status in {200, 400, 409}
    assert draft(cast, kind)[kind.text] == TEXT
