"""The edit page: what it shows, saves and preserves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Kind
from tests.support.calls import make_history
from tests.support.configurations import FOR_GOLD, FULL_AGENT, FULL_BLOCK
from tests.support.studio import Visitor, controls, page_of

FULL = {AGENTS: FULL_AGENT, PROMPT_BLOCKS: FULL_BLOCK}
HOSTILE = "</textarea><script>alert('\"x\"')</script>{{ 7|add:7 }}"


@pytest.fixture
def edgar(cast: Cast) -> Visitor:
    return Visitor("edgar")


def versions(cast: Cast, kind: Kind) -> list[dict[str, Any]]:
    """Return the versions, newest first."""
    found: list[dict[str, Any]] = cast.alice.get(kind.url("writer", "versions")).body["versions"]
    return found


def draft(cast: Cast, kind: Kind) -> dict[str, Any]:
    body: dict[str, Any] = cast.alice.get(kind.url("writer"), status="draft").body
    return body


def test_saving_the_richest_form_untouched_makes_no_version(cast: Cast, kind: Kind, edgar: Visitor) -> None:
    cast.alice.post(kind.path, {**FULL[kind], "id": "writer", "metadata": {"team": "red", "n": 1.0}})
    before = draft(cast, kind)
    answer = edgar.save(kind)
    assert answer.status == 302
    assert len(versions(cast, kind)) == 1
    assert draft(cast, kind) == before


def test_a_save_is_a_draft_in_the_persons_name(cast: Cast, kind: Kind, edgar: Visitor) -> None:
    make_history(kind, cast.alice)
    live = cast.alice.get(kind.url("writer")).body
    assert edgar.save(kind, name="Renamed", changeMessage=" A better name ").status == 302
    newest = versions(cast, kind)[0]
    assert (newest["name"], newest["state"], newest["authorId"]) == ("Renamed", "draft", "edgar")
    assert (newest["changeMessage"], newest["changedFields"]) == ("A better name", ["name"])
    assert cast.alice.get(kind.url("writer")).body["name"] == live["name"]


def test_publish_saves_and_continues_to_the_confirmation(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    answer = Visitor("paula").save(kind, name="Renamed", then="publish")
    saved = versions(cast, kind)[0]
    assert answer.headers["Location"].endswith(f"/publish/?version={saved['id']}")
    assert saved["state"] == "draft"


def test_a_viewer_sees_the_live_version_and_can_save_nothing(cast: Cast, kind: Kind) -> None:
    make_history(kind, cast.alice)
    vera = Visitor("vera")
    page = vera.get(page_of(kind, "change")).markup
    assert "published words" in page
    assert not any(words in page for words in ("draft words", "historical words", "Save draft"))
    assert controls(page, "edit-form") == {}
    assert ">View</a>" in page and ">Edit</a>" not in page
    typed = Visitor("edgar").form(kind) | {"name": "Renamed"}
    assert vera.post(page_of(kind, "change"), typed).status == 403
    assert vera.post(page_of(kind, "preview"), typed).status == 403
    refused = vera.get(page_of(kind, "history"))
    assert refused.status == 403 and "Open Writer" in refused.words
    assert len(versions(cast, kind)) == 4


def test_errors_are_shown_next_to_their_fields_and_typed_values_are_preserved(
    cast: Cast, kind: Kind, edgar: Visitor
) -> None:
    make_history(kind, cast.alice)
    answer = edgar.save(kind, name=" ", description="typed by edgar", requestContextSchema="{")
    page = answer.markup
    assert answer.status == 400
    assert 'aria-describedby="error-name"' in page and 'aria-describedby="error-requestContextSchema"' in page
    typed = controls(page, "edit-form")
    assert (typed["description"], typed["requestContextSchema"]) == ("typed by edgar", "{")
    assert len(versions(cast, kind)) == 4
    assert (
        edgar.post(page_of(kind, "change"), typed | {"name": "Writer", "requestContextSchema": ""}).status
        == 302
    )


def test_metadata_is_changed_member_by_member_without_a_version(
    cast: Cast, kind: Kind, edgar: Visitor
) -> None:
    make_history(kind, cast.alice, metadata={"kept": 1, "changed": 1, "removed": 1})
    edgar.save(kind, metadata='{"kept": 1, "changed": 2, "new": 3}')
    assert draft(cast, kind)["metadata"] == {"kept": 1, "changed": 2, "new": 3}
    assert len(versions(cast, kind)) == 4


def test_tags_are_typed_as_words_and_saved_without_a_version(cast: Cast, kind: Kind, edgar: Visitor) -> None:
    make_history(kind, cast.alice, metadata={"kept": 1, "tags": ["red", "a b"]})
    before = len(versions(cast, kind))
    assert edgar.form(kind)["tags"] == "red, a b" and '"tags"' not in edgar.form(kind)["metadata"]
    assert edgar.save(kind, tags=" a b ,blue,, blue").status == 302
    assert draft(cast, kind)["metadata"] == {"kept": 1, "tags": ["a b", "blue"]}
    edgar.save(kind, metadata='{"more": 2}')
    assert draft(cast, kind)["metadata"] == {"more": 2, "tags": ["a b", "blue"]}
    edgar.save(kind, tags="")
    assert draft(cast, kind)["metadata"] == {"more": 2}
    assert len(versions(cast, kind)) == before
    refused = edgar.save(kind, tags="x" * 65)
    assert refused.status == 400 and b'aria-describedby="error-tags"' in refused.content


def test_a_stale_save_is_refused_and_continues_on_top(cast: Cast, kind: Kind, edgar: Visitor) -> None:
    make_history(kind, cast.alice)
    opened = edgar.form(kind)
    cast.paula.patch(kind.url("writer"), {"name": "Paula's", "description": "Paula's words"})
    answer = edgar.save(kind, opened, name="Edgar's")
    page = answer.markup
    assert answer.status == 409
    assert "paula" in page and "Paula&#x27;s words" in page and "You both changed Name" in page
    assert len(versions(cast, kind)) == 5
    again = controls(page, "edit-form")
    assert (again["name"], again["description"]) == ("Edgar's", "Paula's words")
    for then in ("edit", "publish", ""):  # saving once more, such as with Ctrl+S, replaces nothing
        refused = edgar.post(page_of(kind, "change"), again | {"then": then})
        assert refused.status == 409 and "You both changed Name" in refused.markup
        assert controls(refused.markup, "edit-form")["name"] == "Edgar's"
    assert len(versions(cast, kind)) == 5
    assert edgar.post(page_of(kind, "change"), again | {"then": "replace"}).status == 302
    saved = draft(cast, kind)
    assert (saved["name"], saved["description"]) == ("Edgar's", "Paula's words")
    assert versions(cast, kind)[0]["changedFields"] == ["name"]


def test_a_publication_in_between_is_reported_and_no_typed_text_is_lost(
    cast: Cast, kind: Kind, edgar: Visitor
) -> None:
    history = make_history(kind, cast.alice)
    opened = edgar.form(kind)
    kind.publish(cast.paula, "writer", history.historical)
    answer = edgar.save(kind, opened, name="Edgar's")
    assert answer.status == 409 and b"something else has" in answer.content
    assert edgar.post(page_of(kind, "change"), controls(answer.markup, "edit-form")).status == 302
    assert draft(cast, kind)["name"] == "Edgar's"


def test_a_prompt_is_escaped_everywhere(cast: Cast, kind: Kind, edgar: Visitor) -> None:
    kind.make(cast.alice, "writer", HOSTILE, name=HOSTILE)
    cast.alice.patch(kind.url("writer"), {"description": HOSTILE, "metadata": {"note": HOSTILE}})
    for page in ("change", "preview"):
        text = edgar.get(page_of(kind, page)).markup
        assert "<script>alert" not in text and "&lt;script&gt;alert" in text
    before = versions(cast, kind)
    assert edgar.save(kind).status == 302
    assert versions(cast, kind) == before


def test_the_preview_shows_the_typed_text_and_saves_nothing(cast: Cast, kind: Kind, edgar: Visitor) -> None:
    kind.make(cast.alice, "writer", "as saved")
    field = "instructions.text" if kind is AGENTS else "content"
    answer = edgar.post(page_of(kind, "preview"), edgar.form(kind) | {field: "as typed <b>"})
    assert b"as typed &lt;b&gt;" in answer.content and b"as saved" not in answer.content
    assert len(versions(cast, kind)) == 1


def test_a_condition_is_built_and_decides_in_the_preview(cast: Cast, edgar: Visitor) -> None:
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
    hidden = edgar.post(page_of(AGENTS, "preview"), form | {"context": '{"tier": "iron"}'}).markup
    shown = edgar.post(page_of(AGENTS, "preview"), form | {"context": '{"tier": "gold"}'}).markup
    assert "Be generous." not in hidden and "its conditions do not hold" in hidden
    assert "Be generous." in shown and "its conditions do not hold" not in shown
    edgar.post(page_of(AGENTS, "change"), form)
    assert draft(cast, AGENTS)["instructions"][1] == {
        "type": "prompt_block",
        "content": "Be generous.",
        "rules": FOR_GOLD,
    }


def test_an_unfinished_row_is_an_error_when_it_is_saved_and_not_in_the_preview(
    cast: Cast, edgar: Visitor
) -> None:
    AGENTS.make(cast.alice, "writer", [{"type": "text", "content": "Be brief."}])  # type: ignore[arg-type]
    row = {"instructions.blocks.n1.type": "prompt_block_ref", "instructions.blocks.n1.id": " "}
    condition = {"kind": "rule", "field": "", "operator": "equals", "type": "text", "value": ""}
    block = {"type": "prompt_block", "content": "Be kind.", "rules.operator": "AND"}
    block |= {f"rules.conditions.n3.{name}": value for name, value in condition.items()}
    block = {f"instructions.blocks.n2.{name}": value for name, value in block.items()}
    form = edgar.form(AGENTS)
    previewed = edgar.post(page_of(AGENTS, "preview"), form | block | row).words
    assert "Be kind." in previewed and "This cannot be previewed" not in previewed
    assert edgar.post(page_of(AGENTS, "change"), form | block).status == 400
    refused = edgar.post(page_of(AGENTS, "change"), form | row)
    assert refused.status == 400 and "Needs a prompt block: choose one" in refused.words
    # Problems without a visible field describe their place in words.
    model = {"model.provider": "echo", "model.name": "", "requestContextSchema": "{"}
    previewed = edgar.post(page_of(AGENTS, "preview"), form | row | model).words
    assert "Context schema: " in previewed and "Model, name: " in previewed


def test_choices_contain_only_readable_resources(cast: Cast, edgar: Visitor) -> None:
    make_history(AGENTS, cast.alice)
    PROMPT_BLOCKS.make(cast.alice, "team/tone", "kind")
    PROMPT_BLOCKS.make(cast.charlie, "team/theirs", "unkind")
    found = edgar.get(page_of(AGENTS, "choices"), of="prompt", q="team").json()["choices"]
    assert [choice["id"] for choice in found] == ["team/tone"]
    for text, count in (("WRITER", 1), ("W" * 201, 0)):
        found = edgar.get(page_of(AGENTS, "choices"), of="agent", q=text).json()["choices"]
        assert len(found) == count
    for name in ("tone-of-voice", "a-tone", "tone"):
        PROMPT_BLOCKS.make(cast.alice, name, "kind")
    found = edgar.get(page_of(AGENTS, "choices"), of="prompt", q="Tone").json()["choices"]
    assert [choice["id"] for choice in found] == ["tone", "tone-of-voice", "a-tone", "team/tone"]
    assert Visitor("vera").get(page_of(AGENTS, "choices"), of="prompt").status == 403


def test_malformed_posts_are_refused_and_never_crash(cast: Cast, kind: Kind, edgar: Visitor) -> None:
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
        assert edgar.post(page_of(kind, "change"), form | typed).status in {302, 400, 409}
