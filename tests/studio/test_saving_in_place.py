"""A form that a script sends: the same save, with an answer for the open page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import Kind
from tests.support.studio import PageResponse, Visitor, controls, page_of


class Script(Visitor):
    """A person whose browser saves without leaving the page."""

    def send(self, kind: Kind, form: dict[str, str], **typed: str) -> PageResponse:
        given = form | {name.replace("__", "."): text for name, text in typed.items()}
        address = page_of(kind, "change", "writer")
        answer: Any = self.post(address, given, headers={"Accept": "application/json"})
        return answer


@pytest.fixture
def edgar(cast: Cast, kind: Kind) -> Script:
    kind.make(cast.alice, autoPublish=True)
    return Script("edgar")


def told(answer: PageResponse, status: int = 200) -> dict[str, Any]:
    assert (answer.status, answer.headers["Content-Type"]) == (status, "application/json")
    found: dict[str, Any] = answer.json()
    return found


def numbers(cast: Cast, kind: Kind) -> list[int]:
    found = cast.alice.get(kind.url("writer", "versions")).body["versions"]
    return [version["versionNumber"] for version in found]


def test_a_save_answers_with_its_messages_and_what_the_form_saves_on(
    cast: Cast, kind: Kind, edgar: Script
) -> None:
    form = edgar.form(kind)
    first = told(edgar.send(kind, form, name="Once"))
    [message] = first["messages"]
    assert message["level"] == "success"
    assert message["html"].startswith("Version 2 is saved as a draft.")
    assert "/reviews/ask/" in message["html"]  # the next step that the page offers, too
    assert first["title"] == "Version 2"
    saves_on = {name: first[name] for name in ("tag", "base")} | {"csrfmiddlewaretoken": ""}
    fresh = controls(edgar.get(page_of(kind, "change")).markup, "edit-form") | {"csrfmiddlewaretoken": ""}
    assert fresh == form | saves_on | {"name": "Once"}
    assert "saved as a draft" not in edgar.get(page_of(kind, "change")).markup  # it was said already
    told(edgar.send(kind, form | saves_on, name="Twice"))
    assert numbers(cast, kind) == [3, 2, 1]
    news = edgar.get(first["news"]).json()
    assert news["changed"] is True
    last = told(edgar.send(kind, edgar.form(kind), name="Twice"))
    assert last["messages"] == [{"level": "info", "html": "Nothing was changed, so nothing was saved."}]
    assert edgar.get(last["news"]).json()["changed"] is False


def test_a_save_that_goes_on_names_the_next_page(cast: Cast, kind: Kind, edgar: Script) -> None:
    paula = Script("paula")
    answer = told(paula.send(kind, paula.form(kind), name="Once", then="publish"))
    assert list(answer) == ["next"] and "/publish/?version=" in answer["next"]
    assert "saved as a draft" in paula.get(answer["next"]).markup


def test_a_refusal_names_the_controls(cast: Cast, kind: Kind, edgar: Script) -> None:
    answer = told(edgar.send(kind, edgar.form(kind), name=" ", requestContextSchema="{"), 400)
    assert answer["problems"] == []
    assert answer["errors"]["name"] == ["Fill in this field."]
    assert list(answer["errors"]) == ["name", "requestContextSchema"]
    assert numbers(cast, kind) == [1]


def test_a_conflict_saves_nothing_unless_just_the_answer_was_lost(
    cast: Cast, kind: Kind, edgar: Script
) -> None:
    form = edgar.form(kind)
    told(edgar.send(kind, form, name="Once"))
    again = told(edgar.send(kind, form, name="Once"))
    assert again["messages"][0]["html"].startswith("Version 2 is saved as a draft.")
    assert told(edgar.send(kind, form, name="Else"), 409) == {"conflict": True}
    cast.alice.patch(kind.url("writer"), {"description": "Alice's"})
    assert told(edgar.send(kind, form, name="Once"), 409) == {"conflict": True}
    assert numbers(cast, kind) == [3, 2, 1]


def test_what_cannot_be_saved_is_said_in_a_sentence(cast: Cast, kind: Kind, edgar: Script) -> None:
    form = edgar.form(kind)
    vera = Script("vera")
    assert told(vera.send(kind, form, name="Once"), 403)["problems"][0].startswith("No access.")
    cast.alice.delete(kind.url("writer"))
    assert told(edgar.send(kind, form, name="Once"), 404)["problems"][0].startswith("Page not found.")
    edgar.client.logout()
    assert edgar.send(kind, form, name="Once").status == 302
