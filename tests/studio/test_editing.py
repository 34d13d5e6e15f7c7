"""The edit page: what it shows, what it saves, and what it keeps."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import make_history
from tests.support.configurations import FOR_GOLD, FULL_AGENT, FULL_BLOCK
from tests.support.forms import Person, controls
from tests.support.studio import words_of
from tests.support.window import KINDS

FULL = {AGENTS: FULL_AGENT, PROMPT_BLOCKS: FULL_BLOCK}
HOSTILE = "</textarea><script>alert('\"x\"')</script>{{ 7|add:7 }}"


@pytest.fixture
def edgar(cast: Cast) -> Person:
    return Person("edgar")


def versions(cast: Cast, kind: Kind) -> list[dict[str, Any]]:
    """Return the versions, newest first."""
    found: list[dict[str, Any]] = cast.alice.get(kind.url("writer", "versions")).body["versions"]
    return found


def draft(cast: Cast, kind: Kind) -> dict[str, Any]:
    body: dict[str, Any] = cast.alice.get(kind.url("writer"), status="draft").body
    return body


def test_saving_the_richest_form_untouched_makes_no_version(cast: Cast, kind: Kind, edgar: Person) -> None:
    cast.alice.post(kind.path, {**FULL[kind], "id": "writer", "metadata": {"team": "red", "n": 1.0}})
    before = draft(cast, kind)
    answer = edgar.save(kind)
    assert answer.status_code == 302
    assert len(versions(cast, kind)) == 1
    assert draft(cast, kind) == before


def test_a_save_is_a_draft_in_the_persons_name(cast: Cast, kind: Kind, edgar: Person) -> None:
    make_history(kind, cast.alice)
    live = cast.alice.get(kind.url("writer")).body
    assert edgar.save(kind, name="Renamed", changeMessage=" A better name ").status_code == 302
    newest = versions(cast, kind)[0]
    assert (newest["name"], newest["state"], newest["authorId"]) == ("Renamed", "draft", "edgar")
    assert (newest["changeMessage"], newest["changedFields"]) == ("A better name", ["name"])
    assert cast.alice.get(kind.url("writer")).body["name"] == live["name"]


def test_publish_saves_and_goes_on_to_the_page_that_asks(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    answer = Person("paula").save(kind, name="Renamed", then="publish")
    saved = versions(cast, kind)[0]
    assert answer.headers["Location"].endswith(f"/publish/?version={saved['id']}")
    assert saved["state"] == "draft"


def test_only_publishers_are_offered_to_publish(cast: Cast, kind: Kind, edgar: Person) -> None:
    make_history(kind, cast.alice)
    offer = b'value="publish"'
    assert offer in Person("paula").get(kind).content
    assert offer not in edgar.get(kind).content


def test_a_viewer_sees_what_is_live_and_can_save_nothing(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    vera = Person("vera")
    page = vera.get(kind).content.decode()
    assert "published words" in page
    assert not any(words in page for words in ("draft words", "historical words", "Save draft"))
    assert controls(page, "edit-form") == {}
    assert ">View</a>" in page and ">Edit</a>" not in page
    typed = Person("edgar").form(kind) | {"name": "Renamed"}
    assert vera.post(kind, typed).status_code == 403
    assert vera.post(kind, typed, "preview").status_code == 403
    refused = vera.get(kind, "history")
    assert refused.status_code == 403 and "Open writer" in words_of(refused)
    assert len(versions(cast, kind)) == 4


def test_a_stranger_finds_no_page(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    charlie = Person("charlie")
    for page in ("change", "preview", "choices", *(["try"] if KINDS[kind].is_run else [])):
        assert charlie.get(kind, page).status_code == 404


def test_a_prompt_block_does_not_run_by_itself(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice)
    address = "/studio/versioning/promptblock/writer/try/run/"
    assert Person("alice").client.post(address, {"messages": "Hello?"}).status_code == 404


def test_errors_stand_beside_their_fields_and_what_was_typed_stays(
    cast: Cast, kind: Kind, edgar: Person
) -> None:
    make_history(kind, cast.alice)
    answer = edgar.save(kind, name=" ", description="typed by edgar", requestContextSchema="{")
    page = answer.content.decode()
    assert answer.status_code == 400
    assert 'id="error-name"' in page and 'id="error-requestContextSchema"' in page
    typed = controls(page, "edit-form")
    assert (typed["description"], typed["requestContextSchema"]) == ("typed by edgar", "{")
    assert len(versions(cast, kind)) == 4
    assert edgar.post(kind, typed | {"name": "Writer", "requestContextSchema": ""}).status_code == 302


@pytest.mark.parametrize("text", ["[]", "5", '{"a": 1, "a": 2}', "{"])
def test_metadata_must_be_an_object(cast: Cast, kind: Kind, edgar: Person, text: str) -> None:
    make_history(kind, cast.alice)
    answer = edgar.save(kind, metadata=text)
    assert answer.status_code == 400 and b'id="error-metadata"' in answer.content


def test_metadata_is_changed_member_by_member_without_a_version(
    cast: Cast, kind: Kind, edgar: Person
) -> None:
    make_history(kind, cast.alice, metadata={"kept": 1, "changed": 1, "removed": 1})
    edgar.save(kind, metadata='{"kept": 1, "changed": 2, "new": 3}')
    assert draft(cast, kind)["metadata"] == {"kept": 1, "changed": 2, "new": 3}
    assert len(versions(cast, kind)) == 4


def test_tags_are_typed_as_words_and_saved_without_a_version(cast: Cast, kind: Kind, edgar: Person) -> None:
    make_history(kind, cast.alice, metadata={"kept": 1, "tags": ["red", "a b"]})
    before = len(versions(cast, kind))
    assert edgar.form(kind)["tags"] == "red, a b" and '"tags"' not in edgar.form(kind)["metadata"]
    assert edgar.save(kind, tags=" a b ,blue,, blue").status_code == 302
    assert draft(cast, kind)["metadata"] == {"kept": 1, "tags": ["a b", "blue"]}
    edgar.save(kind, metadata='{"more": 2}')
    assert draft(cast, kind)["metadata"] == {"more": 2, "tags": ["a b", "blue"]}
    edgar.save(kind, tags="")
    assert draft(cast, kind)["metadata"] == {"more": 2}
    assert len(versions(cast, kind)) == before
    refused = edgar.save(kind, tags="x" * 65)
    assert refused.status_code == 400 and b'id="error-tags"' in refused.content


def test_what_can_be_no_tag_is_edited_as_json(cast: Cast, kind: Kind, edgar: Person) -> None:
    make_history(kind, cast.alice, metadata={"tags": ["red", 7]})
    form = edgar.form(kind)
    assert "tags" not in form and '"red"' in form["metadata"]
    edgar.save(kind, metadata='{"tags": ["red"]}')
    assert draft(cast, kind)["metadata"] == {"tags": ["red"]}


def test_a_stale_save_is_refused_and_continues_on_top(cast: Cast, kind: Kind, edgar: Person) -> None:
    make_history(kind, cast.alice)
    opened = edgar.form(kind)
    cast.paula.patch(kind.url("writer"), {"name": "Paula's", "description": "Paula's words"})
    answer = edgar.save(kind, opened, name="Edgar's")
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "paula" in page and "Paula&#x27;s words" in page and "You both changed Name" in page
    assert len(versions(cast, kind)) == 5
    again = controls(page, "edit-form")
    assert (again["name"], again["description"]) == ("Edgar's", "Paula's words")
    assert edgar.post(kind, again).status_code == 302
    saved = draft(cast, kind)
    assert (saved["name"], saved["description"]) == ("Edgar's", "Paula's words")
    assert versions(cast, kind)[0]["changedFields"] == ["name"]


def test_the_second_of_ones_own_two_tabs_is_refused_too(cast: Cast, kind: Kind, edgar: Person) -> None:
    make_history(kind, cast.alice)
    first, second = edgar.form(kind), edgar.form(kind)
    assert edgar.save(kind, first, name="First").status_code == 302
    assert edgar.save(kind, second, description="Second").status_code == 409


def test_a_publication_in_between_is_told_and_loses_nothing(cast: Cast, kind: Kind, edgar: Person) -> None:
    history = make_history(kind, cast.alice)
    opened = edgar.form(kind)
    kind.publish(cast.paula, "writer", history.historical)
    answer = edgar.save(kind, opened, name="Edgar's")
    assert answer.status_code == 409 and b"something else changed" in answer.content
    assert edgar.post(kind, controls(answer.content.decode(), "edit-form")).status_code == 302
    assert draft(cast, kind)["name"] == "Edgar's"


def test_what_was_typed_survives_the_discarding_of_the_version_it_began_with(
    cast: Cast, kind: Kind, edgar: Person
) -> None:
    history = make_history(kind, cast.alice)
    opened = edgar.form(kind)
    cast.alice.delete(kind.url("writer", "versions", history.draft))
    answer = edgar.save(kind, opened, name="Edgar's")
    assert answer.status_code == 409 and b"is gone" in answer.content
    again = controls(answer.content.decode(), "edit-form")
    assert again["name"] == "Edgar's"


def test_a_prompt_is_text_wherever_it_stands(cast: Cast, kind: Kind, edgar: Person) -> None:
    kind.make(cast.alice, "writer", HOSTILE, name=HOSTILE)
    cast.alice.patch(kind.url("writer"), {"description": HOSTILE, "metadata": {"note": HOSTILE}})
    for page in ("change", "preview"):
        text = edgar.get(kind, page).content.decode()
        assert "<script>alert" not in text and "&lt;script&gt;alert" in text
    before = versions(cast, kind)
    assert edgar.save(kind).status_code == 302
    assert versions(cast, kind) == before


def test_the_preview_shows_what_is_typed_and_saves_nothing(cast: Cast, kind: Kind, edgar: Person) -> None:
    kind.make(cast.alice, "writer", "as saved")
    field = "instructions.text" if kind is AGENTS else "content"
    answer = edgar.post(kind, edgar.form(kind) | {field: "as typed <b>"}, "preview")
    assert b"as typed &lt;b&gt;" in answer.content and b"as saved" not in answer.content
    assert len(versions(cast, kind)) == 1


def test_the_preview_names_what_cannot_be_read(cast: Cast, kind: Kind, edgar: Person) -> None:
    kind.make(cast.alice, "writer", "as saved")
    answer = edgar.post(kind, edgar.form(kind) | {"context": "[1]"}, "preview")
    assert answer.status_code == 200 and b"must be a JSON object" in answer.content


def test_a_condition_is_built_and_decides_in_the_preview(cast: Cast, edgar: Person) -> None:
    cast.alice.post(
        AGENTS.path,
        {"id": "writer", "name": "Writer", "instructions": [{"type": "text", "content": "Be brief."}]},
    )
    added = {
        "type": "prompt_block",
        "content": "Be generous.",
        "rules.operator": "AND",
        "rules.conditions.n2.kind": "rule",
        "rules.conditions.n2.field": "tier",
        "rules.conditions.n2.operator": "equals",
        "rules.conditions.n2.type": "text",
        "rules.conditions.n2.value": "gold",
    }
    form = edgar.form(AGENTS) | {f"instructions.blocks.n1.{part}": text for part, text in added.items()}
    hidden = edgar.post(AGENTS, form | {"context": '{"tier": "iron"}'}, "preview").content.decode()
    shown = edgar.post(AGENTS, form | {"context": '{"tier": "gold"}'}, "preview").content.decode()
    assert "Be generous." not in hidden and "its conditions do not hold" in hidden
    assert "Be generous." in shown and "its conditions do not hold" not in shown
    edgar.post(AGENTS, form)
    assert draft(cast, AGENTS)["instructions"][1] == {
        "type": "prompt_block",
        "content": "Be generous.",
        "rules": FOR_GOLD,
    }


def test_a_row_that_names_no_prompt_block_yet_is_no_error_before_it_is_saved(
    cast: Cast, edgar: Person
) -> None:
    AGENTS.make(cast.alice, "writer", [{"type": "text", "content": "Be brief."}])  # type: ignore[arg-type]
    added = {
        "instructions.blocks.n1.type": "prompt_block_ref",
        "instructions.blocks.n1.id": " ",
        "model.provider": "echo",
        "model.name": "",
    }
    condition = {
        "instructions.blocks.n2.type": "prompt_block",
        "instructions.blocks.n2.content": "Be kind.",
        "instructions.blocks.n2.rules.operator": "AND",
        "instructions.blocks.n2.rules.conditions.n3.kind": "rule",
        "instructions.blocks.n2.rules.conditions.n3.field": "",
        "instructions.blocks.n2.rules.conditions.n3.operator": "equals",
        "instructions.blocks.n2.rules.conditions.n3.type": "text",
        "instructions.blocks.n2.rules.conditions.n3.value": "",
    }
    form = edgar.form(AGENTS)
    previewed = words_of(edgar.post(AGENTS, form | condition | dict(list(added.items())[:2]), "preview"))
    assert "Be kind." in previewed and edgar.post(AGENTS, form | condition).status_code == 400
    assert "This cannot be previewed" not in previewed and "Be brief." in previewed
    refused = edgar.post(AGENTS, form | added)
    assert refused.status_code == 400 and "Needs a prompt block: choose one" in words_of(refused)
    # Where there is no field to stand beside, problems say in words where they are.
    previewed = words_of(edgar.post(AGENTS, form | added | {"requestContextSchema": "{"}, "preview"))
    assert "Context schema: " in previewed and "Model, name: " in previewed


def test_a_form_for_the_context_is_made_from_its_schema(cast: Cast, kind: Kind, edgar: Person) -> None:
    schema = {
        "properties": {"user": {"properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}}
    }
    text = "{{ user.name }} is {{ user.age }}"
    words = [{"type": "text", "content": text}] if kind is AGENTS else text
    body = {"id": "writer", "name": "Writer", kind.text: words, "requestContextSchema": schema}
    cast.alice.post(kind.path, body)
    query = {"given.user.name": "Ada", "given.user.age": "36"}
    assert "Ada is 36" in words_of(edgar.get(kind, "preview", **query))
    refused = edgar.get(kind, "preview", **{"given.user.age": "many"})
    assert b'id="error-given.user.age"' in refused.content


def test_choices_are_what_the_caller_may_read(cast: Cast, edgar: Person) -> None:
    make_history(AGENTS, cast.alice)
    PROMPT_BLOCKS.make(cast.alice, "team/tone", "kind")
    PROMPT_BLOCKS.make(cast.charlie, "team/theirs", "unkind")
    found = edgar.get(AGENTS, "choices", of="prompt", q="team").json()["choices"]
    assert [choice["id"] for choice in found] == ["team/tone"]
    for text, count in (("WRITER", 1), ("W" * 201, 0)):
        found = edgar.get(AGENTS, "choices", of="agent", q=text).json()["choices"]
        assert len(found) == count
    for name in ("tone-of-voice", "a-tone", "tone"):
        PROMPT_BLOCKS.make(cast.alice, name, "kind")
    found = edgar.get(AGENTS, "choices", of="prompt", q="Tone").json()["choices"]
    assert [choice["id"] for choice in found] == ["tone", "tone-of-voice", "a-tone", "team/tone"]
    assert Person("vera").get(AGENTS, "choices", of="prompt").status_code == 403


@pytest.mark.parametrize("query", [{"of": "prompt", "q": "\x00"}, {"of": "nonsense"}, {"q": "%' --"}])
def test_odd_questions_for_choices_are_answered(cast: Cast, edgar: Person, query: dict[str, str]) -> None:
    make_history(AGENTS, cast.alice)
    assert edgar.get(AGENTS, "choices", **query).status_code == 200


def test_posts_that_no_page_made_are_refused_and_never_crash(cast: Cast, kind: Kind, edgar: Person) -> None:
    make_history(kind, cast.alice)
    form = edgar.form(kind)
    odd = [
        {"instructions.as": "blocks", "instructions.blocks.0.type": "nonsense"},
        {"instructions.as": "blocks"},
        {".".join(["rules"] + ["conditions.0"] * 20): "x", "rules.operator": "AND"},
        {"rules.operator": "XOR"},
        {
            "instructions.as": "blocks",
            "instructions.blocks.0.type": "prompt_block_ref",
            "instructions.blocks.0.id": "\x00",
        },
        {"name": "\x00"},
        {"base": "nonsense", "name": "x"},
        {"tag": "nonsense", "name": "x"},
        {"typed.path.children": "x"},
        {"": "x"},
    ]
    for typed in odd:
        assert edgar.post(kind, form | typed).status_code in {302, 400, 409}
