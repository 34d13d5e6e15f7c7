"""The comparison of two versions on its page, of stored resources and of overrides."""

from __future__ import annotations

import copy
import html
import re
from itertools import cycle
from typing import Any

import pytest
from django.utils import timezone

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Api, Kind
from tests.support.calls import make_history, undone
from tests.support.configurations import ALWAYS, FOR_GOLD, FULL_AGENT
from tests.support.studio import Visitor, page_of
from versioning.conf import get_editor

COMPARE = page_of(AGENTS, "compare")


def fields_on(answer: Any) -> dict[str, list[tuple[str, str]]]:
    """Return the parts of each changed field on the page, as (place, kind of change)."""
    return {
        field.title: [(change.title, change.op.value) for change in field.changes]
        for field in answer.context["fields"]
    }


def edit(api: Api, config: dict[str, Any], **changes: Any) -> None:
    answer = api.patch(AGENTS.url("writer"), {**config, **changes})
    assert answer.status == 200, answer.body


@pytest.fixture
def edgar(cast: Cast) -> Visitor:
    return Visitor("edgar")


def test_by_default_the_draft_is_compared_with_the_live_version(
    cast: Cast, kind: Kind, edgar: Visitor
) -> None:
    history = make_history(kind, cast.alice)
    for is_live in (False, True):  # with the draft as the live version, it is compared with the one before
        before, after = edgar.get(page_of(kind, "compare")).context["sides"]
        assert (before.title, after.title) == ("Version 3", "Version 4"), is_live
        kind.publish(cast.alice, "writer", history.draft)


def test_any_two_versions_are_compared(cast: Cast, kind: Kind, edgar: Visitor) -> None:
    history = make_history(kind, cast.alice)
    answer = edgar.get(page_of(kind, "compare"), **{"from": history.draft, "to": history.labelled})
    assert "<del>draft</del><ins>labelled</ins> words" in answer.markup
    assert [title.partition(" ·")[0] for _, title in answer.context["choices"]] == [
        "Version 4",
        "Version 3",
        "Version 2",
        "Version 1",
    ]


def test_a_block_that_was_moved_and_changed_is_the_same_block(cast: Cast, edgar: Visitor) -> None:
    invoice, other = "Mention the invoice number.", "Be kind to people at all times."
    before = [text_block(invoice), REF, {"type": "text", "content": other}]
    after = [
        {"type": "text", "content": "Quite another block."},
        REF,
        text_block("Mention the invoice number, if there is one."),
    ]
    AGENTS.make(cast.alice, instructions=before)
    edit(cast.alice, {"instructions": after})
    answer = edgar.get(COMPARE)
    assert fields_on(answer) == {
        "Instructions": [("Block 1", "added"), ("Block 3, block 1 before", "changed"), ("Block 3", "removed")]
    }
    assert "invoice number<ins>, if there is one</ins>." in answer.markup
    edit(cast.alice, {"instructions": [text_block(invoice), text_block(other)]})
    edit(cast.alice, {"instructions": [text_block(f"{other} Always."), text_block(f"{invoice} Once.")]})
    answer = edgar.get(COMPARE, **{"from": "previous"})
    places = ["Block 1, block 2 before", "Block 2"]
    assert fields_on(answer) == {"Instructions": [(place, "changed") for place in places]}


def test_a_missing_version_is_not_found(cast: Cast, kind: Kind, edgar: Visitor) -> None:
    make_history(kind, cast.alice)
    for query in [{"from": "unknown"}, {"to": "git-1"}, {"from": "code"}, {"to": "a\0b"}]:
        assert edgar.get(page_of(kind, "compare"), **query).status == 404


def test_every_field_is_compared_in_its_parts(cast: Cast, edgar: Visitor) -> None:
    AGENTS.make(cast.alice, **FULL_AGENT)
    changed = copy.deepcopy(FULL_AGENT)
    first, second = changed["instructions"]
    changed["instructions"] = [{"type": "prompt_block_ref", "id": "tone"}, first, {**second, "rules": ALWAYS}]
    changed["tools"]["clock"] = {"description": "What time it is"}
    del changed["tools"]["search"]
    changed["model"]["temperature"] = 1
    edit(cast.alice, changed, description=None, memory={"of": "memory"})
    answer = edgar.get(COMPARE)
    assert fields_on(answer) == {
        "Description": [("", "removed")],
        "Instructions": [("Block 1", "added"), ("Block 3 · when it is shown", "changed")],
        "Model": [("temperature", "changed")],
        "Tools": [("clock · description", "added"), ("search", "removed")],
        "Memory": [("nested", "removed")],
    }
    words = answer.words
    assert "5 fields differ" in words
    assert "The same in both: Name, Sub-agents, Workflows" in words


def test_an_added_tool_is_shown_with_its_condition_in_words(cast: Cast, edgar: Visitor) -> None:
    AGENTS.make(cast.alice)
    edit(cast.alice, {"tools": {"search": {"rules": FOR_GOLD}}})
    shown = edgar.get(COMPARE)
    assert fields_on(shown) == {"Tools": [("search", "added")]}
    assert "Offered when tier is gold" in shown.words
    edit(cast.alice, {"tools": {"search": {}, "find": {"rules": FOR_GOLD}}})
    first, second = (row["id"] for row in AGENTS.versions(cast.alice)[:2])
    answer = edgar.get(COMPARE, **{"from": second, "to": first})
    assert fields_on(answer) == {"Tools": [("search · when it is offered", "changed"), ("find", "added")]}
    assert "Offered when tier is gold. Always offered." in answer.words


def text_block(content: str, *conditions: dict[str, Any]) -> dict[str, Any]:
    rules = {"operator": "OR", "conditions": list(conditions)}
    return {"type": "prompt_block", "content": content, "rules": rules}


def about(topic: str) -> dict[str, Any]:
    return {"field": "topic", "operator": "equals", "value": topic}


REF = {"type": "prompt_block_ref", "id": "tone"}


def test_a_change_of_instructions_is_described_in_words_and_never_as_json(cast: Cast, edgar: Visitor) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", name="Tone")
    PROMPT_BLOCKS.make(cast.charlie, "hidden", name="Secrets of others", workspaceId="elsewhere")
    layouts = cycle(["inline", "side-by-side"])
    for before, after, words in [
        (
            "Greet {{ name }}.",
            [{"type": "text", "content": "Greet {{ name }}."}],
            "the text itself is the same. Its placeholders are filled in from now on",
        ),
        (
            [{"type": "text", "content": "Be kind."}],
            "Be brief.",
            "The instructions are now written as one text.",
        ),
        ([text_block("Be kind.")], [text_block("Be kind."), REF], "Now uses the prompt block Tone (tone)."),
        (
            [text_block("Be kind."), REF],
            [text_block("Be kind.")],
            "No longer uses the prompt block Tone (tone).",
        ),
        (
            [REF, text_block("Be kind.")],
            [{**REF, "id": "hidden"}, text_block("Be kind.")],
            "Uses the prompt block hidden instead of Tone (tone).",
        ),
        (
            [REF, text_block("Be kind.")],
            [text_block("Be kind."), REF],
            "The prompt block Tone (tone) was block 1 before.",
        ),
        (
            [{"type": "text", "content": "Be kind."}],
            [text_block("Be kind.", about("billing"))],
            "Always shown. Shown when topic is billing.",
        ),
        (
            [text_block("Be kind.", about("billing"))],
            [text_block("Be kind.", about("billing"), about("delivery"))],
            "Shown when topic is billing or delivery",
        ),
    ]:
        with undone():
            AGENTS.make(cast.alice, instructions=before)
            edit(cast.alice, {"instructions": after})
            shown = edgar.get(COMPARE, layout=next(layouts)).words
            assert words in re.sub(r"(?<!\S)\d+ (?=[A-Z])", "", shown)
            assert "{" not in shown.replace("{{ name }}", "") and "Secrets of others" not in shown


def test_a_value_that_became_conditional_is_shown_as_variants(cast: Cast, edgar: Visitor) -> None:
    small, large = ({"provider": "echo", "name": name} for name in ("small", "large"))
    AGENTS.make(cast.alice, model=small)
    edit(cast.alice, {"model": [{"value": small}, {"value": large, "rules": FOR_GOLD}]})
    answer = edgar.get(COMPARE)
    assert fields_on(answer) == {"Model": [("Variant 2", "added")]}
    words = answer.words
    assert "used now depends on conditions" in words
    assert "Used when tier is gold. 2 echo / large" in words


def test_the_layout_is_remembered_by_the_browser_and_overridden_by_the_url(
    cast: Cast, kind: Kind, edgar: Visitor
) -> None:
    make_history(kind, cast.alice)
    compare = page_of(kind, "compare")
    shown = [
        b'<table class="diff side-by-side"' in edgar.get(compare, **query).content
        for query in ({}, {"layout": "side-by-side"}, {}, {"layout": "inline"}, {}, {"layout": "else"})
    ]
    assert shown == [False, True, True, False, False, False]


def test_the_picker_and_the_columns_show_author_date_and_message(
    cast: Cast, kind: Kind, edgar: Visitor
) -> None:
    history = make_history(kind, cast.alice)
    kind.save(cast.edgar, text="later words", changeMessage="Be later")
    answer = edgar.get(page_of(kind, "compare"), **{"from": history.historical})
    day = f"{timezone.now():%a %-d %B}"
    titles = [html.unescape(one) for one in re.findall(r"<option[^>]*>([^<]*)</option>", answer.markup)]
    assert titles[0].startswith(f"Version 5 · {day}, ") and titles[0].endswith(" · draft · edgar · Be later")
    assert titles[3].endswith(" · alice · Instructions" if kind is AGENTS else " · alice · Text")
    content = answer.markup
    for version_id in (history.historical, answer.context["sides"][1].id):
        assert f'href="{page_of(kind, "version", "writer", version_id)}"' in content
    assert "Auto-saved" not in answer.words


HOSTILE = "</pre></del><script>alert(1)</script><img src=x onerror=alert(1)>"


def test_the_content_of_a_prompt_is_escaped_on_every_page(cast: Cast, kind: Kind) -> None:
    texts = {"name": HOSTILE, "changeMessage": HOSTILE}
    first = kind.make(cast.alice, text=HOSTILE, **texts)["latestVersionId"]
    kind.publish(cast.alice, "writer", first)
    kind.save(cast.alice, text=f"{HOSTILE} more\n" + "line\n" * 20 + HOSTILE, description=HOSTILE, **texts)
    paula = Visitor("paula")
    for page in ("history", "compare", "publish", f"versions/{first}", f"versions/{first}/delete"):
        text = paula.get(page_of(kind, page)).markup
        assert "&lt;script&gt;alert(1)" in text
        assert "<script>alert" not in text and "<img" not in text.partition("<main")[2]


# Overrides of agents that code defines


@pytest.fixture
def alice_of_the_code(cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Api:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    monkeypatch.setattr(get_editor().code, "workspace_id", "acme")
    return cast.alice


def page_of_answers(page: str) -> str:
    return page_of(AGENTS, page, "answers")


def test_an_agent_that_only_code_defines_has_no_history(alice_of_the_code: Api) -> None:
    paula = Visitor("paula")
    for page in ("history", "compare"):
        answer = paula.get(page_of_answers(page))
        assert (answer.status, "as its code defines it" in answer.words) == (200, True)
    assert paula.get(page_of_answers("publish")).status == 404


def test_a_first_override_is_compared_with_the_code(alice_of_the_code: Api) -> None:
    AGENTS.make(alice_of_the_code, "answers", "override words")
    paula = Visitor("paula")
    compared = paula.get(page_of_answers("compare"))
    assert [side.title for side in compared.context["sides"]] == ["The code", "Version 1"]
    shown = paula.get(page_of_answers("publish"))
    assert fields_on(shown)["Instructions"] == [("", "changed")]
    assert "Takes precedence over the code of this agent." in shown.words


def test_only_applied_fields_of_an_override_count_as_changes(alice_of_the_code: Api) -> None:
    AGENTS.make(alice_of_the_code, "answers", "code", model={"provider": "other", "name": "other"})
    shown = Visitor("paula").get(page_of_answers("publish"))
    assert fields_on(shown) == {}
    assert "model is stored but never applied" in shown.words


def test_a_version_that_was_taken_back_is_called_so_as_in_the_history(cast: Cast, kind: Kind) -> None:
    first = str(kind.make(cast.alice, autoPublish=True)["activeVersionId"])
    second = str(kind.save(cast.alice)["latestVersionId"])
    kind.publish(cast.alice, "writer", second)
    kind.publish(cast.alice, "writer", first)
    paula = Visitor("paula")
    seen = paula.get(page_of(kind, "compare"), **{"from": first, "to": second})
    assert seen.markup.count("Taken back</span>") == 1 and "Draft</span>" not in seen.markup
    assert "Taken back</span>" in paula.get(page_of(kind, "history")).markup
