"""The comparison of two versions on its page, of stored resources and of overrides."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Api, Kind
from tests.support.calls import make_history
from tests.support.configurations import FOR_GOLD, FULL_AGENT
from tests.support.studio import Visitor, page_of, words_of
from versioning.conf import get_editor

COMPARE = page_of(AGENTS, "compare")


def fields_on(answer: Any) -> dict[str, list[tuple[str, str]]]:
    """Return what the page tells: the parts of each changed field, as (where, what became of it)."""
    return {
        field.title: [(part.title, part.op.value) for part in field.parts]
        for field in answer.context["fields"]
    }


def edit(api: Api, config: dict[str, Any], **changes: Any) -> None:
    answer = api.patch(AGENTS.url("writer"), {**config, **changes})
    assert answer.status == 200, answer.body


@pytest.fixture
def edgar(cast: Cast) -> Visitor:
    return Visitor("edgar")


def test_without_a_choice_the_draft_is_compared_with_what_is_live(
    cast: Cast, kind: Kind, edgar: Visitor
) -> None:
    make_history(kind, cast.alice)
    before, after = edgar.get(page_of(kind, "compare")).context["sides"]
    assert (before.title, after.title) == ("Version 3", "Version 4")


def test_any_two_versions_are_compared(cast: Cast, kind: Kind, edgar: Visitor) -> None:
    history = make_history(kind, cast.alice)
    answer = edgar.get(page_of(kind, "compare"), **{"from": history.draft, "to": history.labelled})
    assert "<del>draft</del><ins>labelled</ins> words" in answer.content.decode()
    assert [title.partition(" ·")[0] for _, title in answer.context["choices"]] == [
        "Version 4",
        "Version 3",
        "Version 2",
        "Version 1",
    ]


def test_a_moved_block_is_called_moved(cast: Cast, edgar: Visitor) -> None:
    blocks = [{"type": "text", "content": text} for text in ("one", "two", "three")]
    AGENTS.make(cast.alice, instructions=blocks)
    edit(cast.alice, {"instructions": [*blocks[1:], blocks[0]]})
    answer = edgar.get(COMPARE)
    assert fields_on(answer) == {"Instructions": [("Block 3", "moved")]}
    assert "stood at 1 before" in words_of(answer)


def test_without_a_draft_what_is_live_is_compared_with_the_one_before(
    cast: Cast, kind: Kind, edgar: Visitor
) -> None:
    history = make_history(kind, cast.alice)
    kind.publish(cast.alice, "writer", history.draft)
    before, after = edgar.get(page_of(kind, "compare")).context["sides"]
    assert (before.title, after.title) == ("Version 3", "Version 4")


def test_a_single_version_has_nothing_to_be_compared_with(cast: Cast, kind: Kind, edgar: Visitor) -> None:
    kind.make(cast.alice)
    assert "There is only one version so far" in words_of(edgar.get(page_of(kind, "compare")))


@pytest.mark.parametrize("query", [{"from": "unknown"}, {"to": "git-1"}, {"from": "code"}, {"to": "a\0b"}])
def test_a_version_that_is_not_there_is_not_found(
    cast: Cast, kind: Kind, edgar: Visitor, query: dict[str, str]
) -> None:
    make_history(kind, cast.alice)
    assert edgar.get(page_of(kind, "compare"), **query).status_code == 404


def test_every_field_is_told_in_its_parts(cast: Cast, edgar: Visitor) -> None:
    AGENTS.make(cast.alice, **FULL_AGENT)
    changed = copy.deepcopy(FULL_AGENT)
    first, second = changed["instructions"]
    either = {**second["rules"], "operator": "OR"}
    changed["instructions"] = [{"type": "prompt_block_ref", "id": "tone"}, first, {**second, "rules": either}]
    changed["tools"]["clock"] = {"description": "What time it is"}
    del changed["tools"]["search"]
    changed["model"]["temperature"] = 1
    edit(cast.alice, changed, description=None, memory={"of": "memory"})
    answer = edgar.get(COMPARE)
    assert fields_on(answer) == {
        "Description": [("", "removed")],
        "Instructions": [
            ("Block 1", "added"),
            ("Block 3 · when it is shown", "changed"),
        ],
        "Model": [("temperature", "changed")],
        "Tools": [("clock · description", "added"), ("search", "removed")],
        "Memory": [("nested", "removed")],
    }
    words = words_of(answer)
    assert "5 fields differ" in words
    assert "The same in both: Name, Sub-agents, Workflows" in words


def test_conditions_are_compared_in_words(cast: Cast, edgar: Visitor) -> None:
    def when(*tiers: str) -> dict[str, Any]:
        conditions = [{"field": "tier", "operator": "equals", "value": tier} for tier in tiers]
        rules = {"operator": "AND", "conditions": conditions}
        return {"instructions": [{"type": "prompt_block", "content": "Be brief.", "rules": rules}]}

    AGENTS.make(cast.alice, **when("gold"))
    edit(cast.alice, when("gold", "silver"))
    assert 'tier is "gold"' in words_of(edgar.get(COMPARE))
    assert "<ins>  tier is &quot;silver&quot;</ins>" in edgar.get(COMPARE).content.decode()


def test_a_tool_that_came_is_shown_with_its_condition_in_words(cast: Cast, edgar: Visitor) -> None:
    AGENTS.make(cast.alice)
    edit(cast.alice, {"tools": {"search": {"rules": FOR_GOLD}}})
    assert '"operator": "equals"' in words_of(edgar.get(COMPARE))
    edit(cast.alice, {"tools": {"search": {"rules": FOR_GOLD}, "find": {"rules": FOR_GOLD}}})
    first, second = (row["id"] for row in AGENTS.versions(cast.alice)[:2])
    words = words_of(edgar.get(COMPARE, **{"from": second, "to": first}))
    assert 'when all of: tier is "gold"' in words.replace("4 ", "").replace("5 ", "")


def test_a_number_that_became_a_text_is_a_change(cast: Cast, edgar: Visitor) -> None:
    first = AGENTS.make(cast.alice, defaultOptions={"maxSteps": 1.0})["latestVersionId"]
    edit(cast.alice, {"defaultOptions": {"maxSteps": "1.0"}})
    answer = edgar.get(COMPARE, **{"from": first})
    assert fields_on(answer) == {"Default options": [("maxSteps", "changed")]}
    assert "<ins>&quot;</ins>1.0<ins>&quot;</ins>" in answer.content.decode()


HOSTILE = "</pre></del><script>alert(1)</script><img src=x onerror=alert(1)>"


def test_what_a_prompt_holds_is_text_on_every_page(cast: Cast, kind: Kind) -> None:
    texts = {"name": HOSTILE, "changeMessage": HOSTILE}
    first = kind.make(cast.alice, text=HOSTILE, **texts)["latestVersionId"]
    kind.publish(cast.alice, "writer", first)
    kind.save(cast.alice, text=f"{HOSTILE} more\n" + "line\n" * 20 + HOSTILE, description=HOSTILE, **texts)
    paula = Visitor("paula")
    for page in ("history", "compare", "publish", f"versions/{first}", f"versions/{first}/delete"):
        text = paula.get(page_of(kind, page)).content.decode()
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
        assert (answer.status_code, "as its code says" in words_of(answer)) == (200, True)
    assert paula.get(page_of_answers("publish")).status_code == 404


def test_a_first_override_is_compared_with_the_code(alice_of_the_code: Api) -> None:
    AGENTS.make(alice_of_the_code, "answers", "override words")
    paula = Visitor("paula")
    compared = paula.get(page_of_answers("compare"))
    assert [side.title for side in compared.context["sides"]] == ["The code", "Version 1"]
    shown = paula.get(page_of_answers("publish"))
    assert fields_on(shown)["Instructions"] == [("", "changed")]
    assert "It is laid over what the code of this agent says." in words_of(shown)


def test_only_what_is_applied_of_an_override_counts_as_a_change(alice_of_the_code: Api) -> None:
    AGENTS.make(alice_of_the_code, "answers", "code", model={"provider": "other", "name": "other"})
    shown = Visitor("paula").get(page_of_answers("publish"))
    assert fields_on(shown) == {}
    assert "model is kept, but never applied" in words_of(shown)
