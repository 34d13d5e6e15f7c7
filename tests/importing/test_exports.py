"""What is published, in the formats of other systems."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.importing.conftest import DONE, REFUSED, USAGE, Desk, actions, losses
from tests.importing.test_prompt_yml import PROMPT
from tests.support.people import key_of

MODEL = {"provider": "openai", "name": "gpt-4o"}


def make(desk: Desk, agent_id: str = "bot", instructions: Any = "Be kind.", **fields: Any) -> None:
    fields = {"name": "Bot", "model": MODEL, "auto_publish": True, "workspace_id": "acme", **fields}
    desk.client.create_stored_agent(id=agent_id, instructions=instructions, **fields)


@pytest.fixture
def agent(desk: Desk) -> None:
    """An agent with nearly everything."""
    desk.client.create_stored_prompt_block(
        id="tone", workspace_id="acme", name="Tone", content="Be {{ how || 'kind' }}.", auto_publish=True
    )
    never = {"operator": "AND", "conditions": [{"field": "x", "operator": "equals", "value": 1}]}
    make(
        desk,
        instructions=[
            {"type": "text", "content": "You are {{ name }}; {% not logic %} {"},
            {"type": "prompt_block_ref", "id": "tone"},
            {"type": "prompt_block", "content": "Sometimes.", "rules": never},
        ],
        tools={"search": {}},
        default_options={"modelSettings": {"temperature": 0.5, "maxOutputTokens": 9, "seed": 1}},
        description="A bot",
    )
    desk.client.get_stored_agent("bot").update(instructions="A draft.")


def test_prompt_yml(desk: Desk, agent: None) -> None:
    assert desk.does("export", "prompt-yml", "bot") == DONE
    value = yaml.safe_load(desk.out)
    assert value == {
        "name": "Bot",
        "description": "A bot",
        "model": "openai/gpt-4o",
        "modelParameters": {"maxTokens": 9, "temperature": 0.5},
        "messages": [
            {"role": "system", "content": "You are {{name}}; {% not logic %} {"},
            {"role": "system", "content": "Be {{how}}."},
            {"role": "system", "content": "Sometimes."},
            {"role": "user", "content": "{{input}}"},
        ],
    }
    assert [line.partition(":")[0] for line in desk.err.splitlines() if not line.startswith("{")] == [
        "left_out",
        "rules",
        "setting",
        "fallback",
    ]


def test_langfuse_with_the_block_as_a_text_of_its_own(desk: Desk, agent: None) -> None:
    file = desk.folder / "prompts.json"
    assert desk.does("export", "langfuse", "bot", "-o", file) == DONE
    bot, tone = json.loads(file.read_text())
    assert bot["prompt"] == [
        {
            "role": "system",
            "content": "You are {{name}}; {% not logic %} {\n\n"
            "@@@langfusePrompt:name=tone|label=production@@@\n\nSometimes.",
        }
    ]
    assert bot["config"] == {**_named(MODEL), "temperature": 0.5, "max_tokens": 9, "seed": 1}
    assert (tone["type"], tone["prompt"], tone["labels"]) == ("text", "Be {{how}}.", ["production"])
    plan = desk.plan("langfuse", file, "--prefix", "back/")
    assert losses(plan) == set() and len(plan["resources"]) == 2


@pytest.mark.parametrize("form", ["prompt-yml", "langfuse", "promptfoo"])
def test_settings_of_the_model_are_exported_and_other_fields_named(desk: Desk, form: str) -> None:
    model = {**MODEL, "temperature": 0.5, "topP": 0.9, "maxCompletionTokens": 8, "region": "eu"}
    make(
        desk,
        model=model,
        default_options={"maxSteps": 3, "toolChoice": "auto", "modelSettings": {"topP": 0.1}},
        memory={"lastMessages": 5},
        browser={"headless": True},
        request_context_schema={"type": "object"},
    )
    assert desk.does("export", form, "bot") == DONE
    value = yaml.safe_load(desk.out)
    if form == "prompt-yml":
        assert value["modelParameters"] == {"temperature": 0.5, "topP": 0.1, "maxTokens": 8}
    else:
        config = value[0]["config"] if form == "langfuse" else value["providers"][0]["config"]
        named = _named(MODEL) if form == "langfuse" else {}
        assert config == {**named, "temperature": 0.5, "top_p": 0.1, "max_tokens": 8}
    fields = "memory, browser, requestContextSchema, defaultOptions.maxSteps, defaultOptions.toolChoice"
    assert desk.err.splitlines() == [
        f"left_out: bot: Left out: {fields}.",
        "model: bot: Left out of the model: region.",
    ]


@pytest.mark.parametrize(
    ("form", "named"),
    [
        (
            "prompt-yml",
            {
                "left_out: bot: Left out: tags.",
                "item: bot: Left out of items: metadata, expectedTrajectory, toolMocks.",
                "item: bot: Left out of the context of items, where they mean something else: expected.",
            },
        ),
        (
            "promptfoo",
            {
                "left_out: bot: Left out: tags.",
                "item: bot: Left out of items: expectedTrajectory, toolMocks.",
                "item: bot, item one: Its ground truth is left out: no assertion compares with it.",
            },
        ),
    ],
)
def test_members_of_items_that_a_format_does_not_have_are_named(
    desk: Desk, form: str, named: set[str]
) -> None:
    make(desk, metadata={"tags": ["help"]})
    target = {"target_type": "agent", "target_ids": ["bot"], "workspace_id": "acme"}
    dataset = desk.client.create_dataset(name="Questions", **target)
    desk.client.get_dataset(dataset.id).add_item(
        "Hi",
        external_id="one",
        ground_truth="Hello",
        metadata={"topic": "greeting"},
        request_context={"expected": "x"},
        expected_trajectory={"steps": [{"name": "search"}]},
        tool_mocks=[{"toolName": "search", "args": {}, "output": "found"}],
    )
    assert desk.does("export", form, "bot") == DONE
    assert set(desk.err.splitlines()) == named


def test_settings_without_a_model_are_named(desk: Desk) -> None:
    settings = {"modelSettings": {"temperature": 0.5}}
    make(desk, "own", model={"provider": "custom", "name": "x"}, default_options=settings)
    assert desk.does("export", "promptfoo", "own") == DONE
    assert "model: own: " in desk.err and "temperature" in desk.err


def test_a_provider_that_is_no_model_keeps_its_settings_for_itself(desk: Desk) -> None:
    provider = {"id": "fal:image:flux", "config": {"seed": 42}}
    config = {"prompts": ["Draw {{a}}"], "providers": [provider], "tests": [{"vars": {"a": "x"}}]}
    path = desk.write("promptfooconfig.yaml", config)
    [agent] = desk.imports("promptfoo", path)["resources"]
    assert "defaultOptions" not in agent["versions"][0]["config"]
    assert agent["metadata"]["import"]["config"] == {"seed": 42}
    [release] = desk.client.iter_releases()
    desk.client.get_release(release.id).publish()
    assert desk.does("export", "promptfoo", agent["id"], "-o", path) == DONE
    assert set(actions(desk.plan("promptfoo", path)).values()) == {"unchanged"}


REFERENCE = "@@@langfusePrompt:name=secrets|label=production@@@"


def test_langfuse_fills_no_other_prompt_into_a_text(desk: Desk) -> None:
    block = {"workspace_id": "acme", "auto_publish": True}
    desk.client.create_stored_prompt_block(id="bad", name="Bad", content=f"See {REFERENCE}", **block)
    desk.client.create_stored_prompt_block(id="fine", name="Fine", content="An @@@ is @@@ fine.", **block)
    make(desk, "literal", f"Say {REFERENCE} word for word.")
    make(desk, "by-block", [{"type": "prompt_block_ref", "id": "bad"}])
    make(desk, "good", [{"type": "prompt_block_ref", "id": "fine"}])
    assert desk.does("export", "langfuse", "literal", "by-block", "good") == DONE
    assert [one["name"] for one in json.loads(desk.out)] == ["fine", "good"]
    refused = [line.split(": ")[1] for line in desk.err.splitlines() if line.startswith("refused")]
    assert refused == ["literal", "by-block", "bad"]


def _named(model: dict[str, str]) -> dict[str, str]:
    return {"provider": model["provider"], "model": model["name"]}


def test_promptfoo_with_datasets_and_scorers(desk: Desk) -> None:
    desk.imports("prompt-yml", desk.write("summarize.prompt.yml", PROMPT))
    [release] = desk.client.iter_releases()
    desk.client.get_release(release.id).publish()
    assert desk.does("export", "promptfoo", "summarize") == DONE
    value = yaml.safe_load(desk.out)
    [prompt] = value["prompts"]
    assert json.loads(prompt["raw"])[0]["content"] == "You are a summarizer for {{audience}}."
    assert value["providers"] == [
        {
            "id": "openai:gpt-4o-mini",
            "prompts": ["summarize"],
            "config": {"temperature": 0.5, "max_tokens": 200},
        }
    ]
    first, second = value["tests"]
    assert first["vars"] == {"audience": "children", "input": "The quick brown fox.\n"}
    assert [one["type"] for one in second["assert"]] == ["equals", "llm-rubric"]
    assert second["assert"][0]["value"] == "yes"
    desk.write("promptfooconfig.yaml", desk.out)
    again = desk.plan("promptfoo", desk.folder / "promptfooconfig.yaml", "--prefix", "again/")
    assert len(again["datasets"][0]["items"]) == 2
    assert desk.does("export", "prompt-yml", "summarize") == DONE
    back = yaml.safe_load(desk.out)
    assert [sorted(one) for one in back["evaluators"]] == [
        ["name", "string"],
        ["name", "string"],
        ["llm", "name"],
    ]
    assert back["testData"][1] == {"input": "Yes", "expected": "yes"}


def test_literal_text_stays_literal_in_promptfoo(desk: Desk) -> None:
    make(desk, instructions="Say {{ this }} and {% that %}.")
    desk.does("export", "promptfoo", "bot")
    raw = yaml.safe_load(desk.out)["prompts"][0]["raw"]
    assert json.loads(raw)[0]["content"] == "Say {{ '{' }}{ this }} and {{ '{' }}% that %}."


def test_messages_that_were_imported_are_exported(desk: Desk) -> None:
    chat = "messages: [{role: system, content: Hi.}, {role: user, content: A}, {role: assistant, content: B}]"
    path = desk.write("bot.prompt.yml", chat)
    desk.imports("prompt-yml", path)
    [release] = desk.client.iter_releases()
    desk.client.get_release(release.id).publish()
    desk.does("export", "prompt-yml", "bot", "-o", desk.folder)
    assert yaml.safe_load(path.read_text())["messages"] == yaml.safe_load(chat)["messages"]
    assert set(actions(desk.plan("prompt-yml", path)).values()) == {"unchanged"}


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
PIECES = st.one_of(
    TEXTS, st.sampled_from(["{{ a }}", "{{b.c}}", "{{x y}}", "yes", "0o7", "1:30", "---", "- a: b"])
)
WORDS = st.lists(PIECES, min_size=1, max_size=4).map("".join).filter(lambda text: text.strip())


@settings(
    max_examples=12,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(name=WORDS, texts=st.lists(WORDS, min_size=1, max_size=3), temperature=st.floats(0, 2), prefix=TEXTS)
def test_an_export_that_is_imported_changes_nothing(
    desk: Desk, name: str, texts: list[str], temperature: float, prefix: str
) -> None:
    """Whatever an agent says: the plan makes nothing, and what the format can say is equal."""
    agent_id = f"team/bot {uuid.uuid4().hex}"
    folder = desk.folder / agent_id.rpartition(" ")[2]
    folder.mkdir()
    blocks: Any = [{"type": "text", "content": f"{prefix}{text}"} for text in texts]
    make(
        desk,
        agent_id,
        blocks,
        name=name,
        default_options={"modelSettings": {"temperature": temperature, "topP": 1}},
    )
    assert desk.does("export", "prompt-yml", agent_id, "-o", folder) == DONE
    assert desk.does("import", "prompt-yml", folder, "--plan", desk.folder.parent / "plan.json") in {
        0,
        1,
    }
    plan = json.loads((desk.folder.parent / "plan.json").read_text())
    [found] = plan["resources"]
    assert found["id"] == agent_id and found["action"] in {"unchanged", "conflict"}
    exact = all("{{" in text for text in texts) and "literal" not in desk.err and name == name.strip()
    if exact and len(texts) > 1 and not losses(plan) - {"input_message"}:
        assert found["action"] == "unchanged"


def test_wrong_uses_of_an_export(desk: Desk, cast: Any) -> None:
    make(desk)
    make(desk, "other")
    assert desk.does("export", "prompt-yml", "bot", "other") == USAGE
    assert desk.does("export", "word", "bot") == USAGE
    assert desk.does("export", "langfuse") == USAGE
    assert desk.does("export", "langfuse", "missing") == REFUSED
    stranger = key_of("charlie").key
    assert desk.does("export", "langfuse", "bot", "--api-key", stranger) == REFUSED
    assert desk.does("export", "prompt-yml", "bot", "other", "-o", desk.folder / "new") == DONE
    assert sorted(path.name for path in (desk.folder / "new").iterdir()) == [
        "bot.prompt.yml",
        "other.prompt.yml",
    ]
