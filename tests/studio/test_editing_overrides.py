"""The edit page of agents that code defines: open fields, locked fields with the reason, stored fields."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.people import key_of, person
from tests.support.studio import Visitor, controls
from versioning.domain.access import Role

URL = AGENTS.url("answers")
ADDRESS = "/studio/versioning/agent/answers/change/"


@pytest.fixture
def framework(settings: Any, request: pytest.FixtureRequest) -> None:
    """The code-defined agents; by default everything may be overridden."""
    settings.EDITOR_FRAMEWORK = f"tests.support.code.{getattr(request, 'param', 'framework')}"


@pytest.fixture
def ada(db: None, framework: None) -> Visitor:
    """An admin of the workspace of the code."""
    person("ada", default=Role.ADMIN)
    return Visitor("ada")


@pytest.fixture
def api(ada: Visitor) -> Api:
    return key_of("ada")


def opened(ada: Visitor) -> dict[str, str]:
    return controls(page(ada), "edit-form")


def page(ada: Visitor) -> str:
    return ada.get(ADDRESS).markup


def limited(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("framework", [name], indirect=True)


def test_fields_that_the_code_owns_are_shown_and_not_editable(ada: Visitor) -> None:
    shown = page(ada)
    assert "Set by the code" in shown and "an override cannot change it" in shown
    fields = {name.partition(".")[0] for name in controls(shown, "edit-form")}
    assert fields.isdisjoint({"name", "description", "model", "agents", "memory"})
    assert {"instructions", "tools", "integrationTools", "mcpClients", "requestContextSchema"} <= fields


def test_the_first_save_begins_an_override_as_a_draft(ada: Visitor, api: Api) -> None:
    typed = opened(ada) | {"instructions.as": "text", "instructions.text": "override"}
    assert ada.post(ADDRESS, typed).status == 302
    record = api.get(URL, status="draft").body
    assert (record["instructions"], record["activeVersionId"], record["authorId"]) == (
        "override",
        None,
        "ada",
    )
    assert api.get("/agents/answers").body["instructions"] == "code"


def test_instructions_can_be_reset_to_those_of_the_code(ada: Visitor, api: Api) -> None:
    api.post(AGENTS.path, {"id": "answers", "instructions": "override", "tools": {"clock": {}}})
    assert ada.post(ADDRESS, opened(ada) | {"instructions.as": ""}).status == 302
    record = api.get(URL, status="draft").body
    assert "instructions" not in record and record["tools"] == {"clock": {}}


def test_the_second_of_two_concurrent_first_overrides_is_not_lost(ada: Visitor, api: Api) -> None:
    typed = opened(ada) | {"instructions.as": "text", "instructions.text": "mine"}
    api.post(AGENTS.path, {"id": "answers", "instructions": "theirs", "tools": {"clock": {}}})
    answer = ada.post(ADDRESS, typed)
    assert answer.status == 409
    again = controls(answer.markup, "edit-form")
    assert (again["instructions.text"], again["tools.offered.0.key"]) == ("mine", "clock")
    assert ada.post(ADDRESS, again | {"then": "replace"}).status == 302
    record = api.get(URL, status="draft").body
    assert (record["instructions"], record["tools"]) == ("mine", {"clock": {}})


def test_stored_fields_without_effect_are_preserved_by_a_save(ada: Visitor, api: Api) -> None:
    api.post(AGENTS.path, {"id": "answers", "instructions": "one", "memory": {"lastMessages": 3}})
    assert "Saved, but without effect" in page(ada)
    ada.post(ADDRESS, opened(ada) | {"instructions.text": "two"})
    record = api.get(URL, status="draft").body
    assert (record["instructions"], record["memory"]) == ("two", {"lastMessages": 3})


@limited("nothing")
def test_an_agent_that_owns_all_fields_has_no_editable_fields(ada: Visitor) -> None:
    shown = page(ada)
    assert "The code of this agent does not let an override change this." in shown
    fields = {name.partition(".")[0] for name in controls(shown, "edit-form")}
    unversioned = {"metadata", "metadataBefore", "tags", "tagsBefore"}
    assert fields == {"csrfmiddlewaretoken", "tag", "base", "changeMessage"} | unversioned


@limited("wording")
def test_a_posted_locked_field_is_refused(ada: Visitor, api: Api) -> None:
    typed = opened(ada) | {"tools.as": "controls", "tools.offered.0.key": "clock"}
    answer = ada.post(ADDRESS, typed)
    assert answer.status == 400 and b"Belongs to the code of this agent" in answer.content
    assert api.get(URL, status="draft").status == 404


def test_an_agent_with_the_same_id_in_another_workspace_is_no_override(cast: Cast, settings: Any) -> None:
    AGENTS.make(cast.charlie, "answers", "their own", name="Theirs", autoPublish=True)
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"  # the code takes the id only now
    shown = page(Visitor("charlie"))
    assert "Agents · Id: answers Theirs" in " ".join(re.sub(r"<[^>]+>", " ", shown).split())
    assert "Make public" in shown and "their own" in shown
    shown = shown.replace("description overrides the tool", "")  # which is about tools
    assert "override" not in shown and "Set by the code" not in shown
