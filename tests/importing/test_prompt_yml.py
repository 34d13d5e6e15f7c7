"""`.prompt.yml` files of GitHub Models."""

from __future__ import annotations

from tests.importing.conftest import Desk, actions, losses

PROMPT = """\
name: Text Summarizer
description: Summarizes input text concisely
model: openai/gpt-4o-mini
modelParameters:
  temperature: 0.5
  maxTokens: 200
responseFormat: text
messages:
  - role: system
    content: You are a summarizer for {{ audience }}.
  - role: user
    content: '{{input}}'
testData:
  - input: |
      The quick brown fox.
    expected: A fox
    audience: children
  - input: Yes
    expected: yes
evaluators:
  - name: Output should start with 'Summary -'
    string:
      startsWith: 'Summary -'
  - name: exact
    string:
      equals: '{{expected}}'
  - name: good
    llm:
      modelId: openai/gpt-4o
      prompt: 'Is {{completion}} good?'
      systemPrompt: You judge.
      choices:
        - {choice: 'yes', score: 1}
        - {choice: 'no', score: 0}
  - name: similar
    uses: github/similarity
"""


def test_a_prompt_comes_with_its_tests(desk: Desk) -> None:
    plan = desk.imports("prompt-yml", desk.write("summarize.prompt.yml", PROMPT))
    assert losses(plan) == {"input_message", "judge_template", "scorer", "unknown_member"}
    agent = desk.client.get_stored_agent("summarize").details(status="draft")
    assert (agent.name, agent.description) == ("Text Summarizer", "Summarizes input text concisely")
    assert agent.instructions == [{"type": "text", "content": "You are a summarizer for {{ audience }}."}]
    assert agent.model == {"provider": "openai", "name": "gpt-4o-mini"}
    assert agent.default_options == {"modelSettings": {"temperature": 0.5, "maxOutputTokens": 200}}
    [dataset] = desk.api.get("/datasets").body["datasets"]
    assert (dataset["name"], dataset["targetIds"]) == ("summarize", ["summarize"])
    assert len(dataset["scorerIds"]) == 3
    items = desk.api.get(f"/datasets/{dataset['id']}/items").body["items"]
    assert [(one["input"], one["groundTruth"], one["requestContext"]) for one in items] == [
        ("Yes", "yes", None),
        ("The quick brown fox.\n", "A fox", {"audience": "children"}),
    ]
    configs = {one.id: (one.type, one.settings) for one in desk.client.iter_stored_scorers()}
    assert sorted(configs) == sorted(dataset["scorerIds"])
    assert configs["summarize/scorers/exact"] == ("equals", {"value": "{{groundTruth}}", "trim": False})
    judge = desk.client.get_stored_scorer("summarize/scorers/good").details(status="draft")
    assert judge.model == {"provider": "openai", "name": "gpt-4o"}
    assert [one["passes"] for one in judge.settings["choices"]] == [True, False]
    [release] = desk.client.iter_releases()
    assert {one.resource.kind for one in release.items_} == {"agent", "scorer"}


def test_twice_is_once_and_a_new_row_is_one_more_item(desk: Desk) -> None:
    path = desk.write("summarize.prompt.yml", PROMPT)
    desk.imports("prompt-yml", path)
    again = desk.imports("prompt-yml", path)
    assert set(actions(again).values()) == {"unchanged"}
    assert [one["action"] for one in again["datasets"]] == ["unchanged"]
    path.write_text(PROMPT.replace("  - input: Yes\n", "  - input: No\n    expected: n\n  - input: Yes\n"))
    plan = desk.imports("prompt-yml", path)
    assert [(one["action"], len(one["items"])) for one in plan["datasets"]] == [("update", 1)]
    [dataset] = desk.api.get("/datasets").body["datasets"]
    assert (
        dataset["version"],
        desk.api.get(f"/datasets/{dataset['id']}/items").body["pagination"]["total"],
    ) == (
        2,
        3,
    )


def test_a_folder_holds_many_prompts_each_named_by_its_path(desk: Desk) -> None:
    short = "messages: [{role: system, content: Be kind.}]\n"
    for name in ("team/one.prompt.yml", "Zwei ü.prompt.yaml", "team%2Fthree.prompt.yml", "other.yml"):
        desk.write(name, short)
    plan = desk.imports("prompt-yml", desk.folder)
    assert sorted(actions(plan)) == ["agent Zwei ü", "agent team/one", "agent team/three"]


def test_without_the_extra_there_is_a_hint(desk: Desk, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    error = desk.refuses("prompt-yml", desk.write("a.prompt.yml", "messages: []"))
    assert "pip install 'editor-client[import]'" in error
