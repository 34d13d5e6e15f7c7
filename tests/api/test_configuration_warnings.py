"""Warnings at save and publish about what no run can use, read or fill in; none of them refuses anything."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, SCORERS, Api
from tests.support.runs import ECHO, agent, noticed, ran, team
from tests.support.served import FOR_GOLD, reference, served, text

ONLY_NAME = {"properties": {"name": {}}, "additionalProperties": False}


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_an_unusable_provider_is_named_at_save_and_publish(
    alice: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def model(provider: str) -> dict[str, Any]:
        return {"model": {"provider": provider, "name": "m"}}

    made = AGENTS.make(alice, **model("openai"))
    assert noticed(made) == [("provider_unavailable", "model.provider")]
    assert "OPENAI_API_KEY" in made["warnings"][0]["message"]
    activate = AGENTS.url("writer", "versions", made["latestVersionId"], "activate")
    assert noticed(alice.post(activate).body) == noticed(made)
    misspelt = alice.patch(AGENTS.url("writer"), model("antropic")).body
    assert "Do you mean 'anthropic'?" in misspelt["warnings"][0]["message"]
    assert "pydantic-ai-slim[groq]" in str(alice.patch(AGENTS.url("writer"), model("groq")).body["warnings"])
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    assert noticed(alice.patch(AGENTS.url("writer"), model("openai")).body) == []
    variants = [{"value": ECHO}, {"value": {"provider": "nowhere", "name": "m"}, "rules": FOR_GOLD}]
    saved = alice.patch(AGENTS.url("writer"), {"model": variants}).body
    assert noticed(saved) == [("provider_unavailable", "model.1.value.provider")]


def test_invisible_characters_are_named_at_save_review_and_publish(cast: Cast) -> None:
    PROMPT_BLOCKS.make(cast.alice, "tone", "Be kind.", autoPublish=True)
    hidden = cast.edgar.patch(
        PROMPT_BLOCKS.url("tone"), {"content": "Be kind.\U000e0052\U000e0065 ❤️ می‌خواهم"}
    ).body
    [warning] = hidden["warnings"]
    assert (warning["code"], warning["field"]) == ("invisible_characters", "content")
    assert (warning["position"], warning["codePoint"]) == (8, "U+E0052")
    review = cast.edgar.post("/reviews", {"resource": {"kind": "promptBlock", "id": "tone"}}).body
    assert review["warnings"] == [warning]
    assert cast.alice.get(f"/reviews/{review['id']}").body["warnings"] == [warning]
    activate = PROMPT_BLOCKS.url("tone", "versions", hidden["latestVersionId"], "activate")
    assert cast.alice.post(activate).body["warnings"] == [warning]
    assert cast.edgar.patch(PROMPT_BLOCKS.url("tone"), {"content": "Be kind."}).body.get("warnings", []) == []


def test_only_the_model_of_a_judge_is_asked(alice: Api) -> None:
    model = {"provider": "openai", "name": "m", "temperature": 1}
    judge = {"id": "judge", "name": "J", "type": "llm-judge", "instructions": "?", "model": model}
    expected = [("provider_unavailable", "model.provider"), ("unknown_option", "model.temperature")]
    assert noticed(alice.post(SCORERS.path, judge).body) == expected
    assert noticed(alice.post(SCORERS.path, {**judge, "id": "b", "type": "bias"}).body) == []


def test_options_that_no_run_reads_are_named(alice: Api) -> None:
    made = AGENTS.make(
        alice,
        model={**ECHO, "temperature": 0.1, "maxTokens": 5, "topP": "much", "presencePenalty": None},
        defaultOptions={"maxStep": 3, "modelSettings": {"temprature": 1, "topK": 2.5, "seed": 1}},
    )
    assert noticed(made) == [
        ("unknown_option", "model.maxTokens"),
        ("unknown_option", "model.topP"),
        ("unknown_option", "defaultOptions.maxStep"),
        ("unknown_option", "defaultOptions.modelSettings.temprature"),
        ("unknown_option", "defaultOptions.modelSettings.topK"),
    ]
    messages = [one["message"] for one in made["warnings"]]
    assert "Do you mean 'maxCompletionTokens'?" in messages[0] and "must be a number" in messages[1]
    assert "Do you mean 'maxSteps'?" in messages[2] and "Do you mean 'temperature'?" in messages[3]
    variants = [{"value": {"maxSteps": 0}}, {"value": [1], "rules": FOR_GOLD}]
    saved = alice.patch(AGENTS.url("writer"), {"model": ECHO, "defaultOptions": variants}).body
    assert noticed(saved) == [("unknown_option", "defaultOptions.0.value.maxSteps")]


def test_an_override_is_checked_for_what_is_applied(cast: Cast, settings: Any) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    body = {
        "id": "answers",
        "instructions": [text("{{ nme }}")],
        "requestContextSchema": ONLY_NAME,
        "defaultOptions": {"a": 1},
    }
    made = cast.root.post(AGENTS.path, body)
    assert made.status == 201, made.body
    assert noticed(made.body) == [
        ("not_applied", "defaultOptions"),
        ("unknown_placeholder", "instructions.0.content"),
    ]


def test_placeholders_that_the_schema_closes_off_are_named(alice: Api) -> None:
    instructions = [
        text("{{ name }} {{ nme }} {{ nme }}"),
        {"type": "prompt_block", "content": "{{ plan || 'free' }}", "rules": FOR_GOLD},
        reference("tone"),
    ]
    block = PROMPT_BLOCKS.make(alice, "tone", "{{ style }} {{ user.age }}")
    assert noticed(block) == []
    schema = {"properties": {"style": {}, "user": {"type": "string"}}}
    saved = alice.patch(PROMPT_BLOCKS.url("tone"), {"requestContextSchema": schema}).body
    assert noticed(saved) == [("unknown_placeholder", "content")]
    assert "'user.age'" in saved["warnings"][0]["message"]
    made = AGENTS.make(alice, instructions=instructions, requestContextSchema=ONLY_NAME)
    assert noticed(made) == [
        ("unknown_placeholder", "instructions.0.content"),
        ("unknown_placeholder", "instructions.1.content"),
    ]
    plain = alice.patch(AGENTS.url("writer"), {"instructions": "{{ nme }}"}).body
    assert noticed(plain) == []  # a text has no placeholders


# Of a run, and of the agent as it is served


def test_a_run_and_a_read_name_the_placeholders_that_stay_as_written(alice: Api) -> None:
    written = [text("{{ b.c }} {{ a }} {{ b.c }} {{ d || 'x' }}"), text("{{ d }}")]
    agent(alice, instructions=written)
    for found in (served(alice), ran(alice)):
        [warning] = found["warnings"]
        assert (warning["code"], warning["placeholders"]) == ("unresolved_placeholder", ["b.c", "a", "d"])
    context = {"a": 1, "b": {"c": "{{ e }}"}, "d": ""}
    assert ran(alice, requestContext=context)["warnings"] == []
    assert ran(alice, instructions="Say {{ x }}.")["warnings"] == []  # of this call, used as they are


def test_a_run_has_one_warning_for_all_its_agents(alice: Api) -> None:
    team(alice)
    alice.patch(AGENTS.url("lead"), {"instructions": [text("{{ b }}")], "autoPublish": True})
    alice.patch(AGENTS.url("writer"), {"instructions": [text("{{ a }} {{ b }}")], "autoPublish": True})
    [warning] = ran(alice, "lead")["warnings"]
    assert warning["placeholders"] == ["b", "a"]
