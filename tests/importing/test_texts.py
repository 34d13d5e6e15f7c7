"""Files that are a text with a head: `.prompty` and `.prompt`; and the evals of OpenAI."""

from __future__ import annotations

from editor_client.shared.ids import slug
from editor_client.transfer.importing.collection import excerpt, make_id
from editor_client.transfer.importing.formats.table import collect

from tests.importing.conftest import Desk, actions, losses

PROMPTY = """\
---
name: Basic
displayName: Basic Prompt
description: A chat
authors: [somebody]
tags: [chat]
model:
  id: gpt-4o
  provider: azure
  apiType: chat
  connection: {kind: key, endpoint: 'https://x', apiKey: '${env:KEY}'}
  options: {temperature: 0.7, maxOutputTokens: 100, additionalProperties: {x: 1}}
inputs:
  - {name: firstName, kind: string, required: true, description: The name, example: Ann}
  - {name: history, kind: thread}
tools:
  - {name: search, kind: function}
---
system:
You help {{firstName}}.
{% for item in history %}
{{ item.text | trim }}
{% endfor %}

# Rules
Use ${file:rules.txt}

user:
{{question}}
"""
OLD_PROMPTY = """\
---
model:
  api: chat
  configuration: {type: azure_openai, azure_deployment: gpt-35, api_key: secret-value}
  parameters: {max_tokens: 5}
sample: {question: Why}
---
Be kind.
"""
DOTPROMPT = """\
---
model: googleai/gemini-1.5-flash
config: {temperature: 0.9, apiKey: abc}
input:
  schema: {type: object, properties: {lang: {type: string}}}
output: {format: json}
---
{{role "system"}}
{{>tone}}

Answer in {{lang}}. {{#if formal}}Be formal.{{/if}}
{{history}}
{{role "user"}}
{{question}} {{media url=photo}}
"""


def test_prompty(desk: Desk) -> None:
    plan = desk.imports("prompty", desk.write("basic.prompty", PROMPTY))
    logic = [(one["line"], one["message"]) for one in plan["losses"] if one["code"] == "template_logic"]
    assert [line for line, _ in logic] == [21, 22, 23] and "{% for item in history %}" in logic[0][1]
    assert losses(plan) == {
        *("template_logic", "credential", "input", "not_resolved", "input_message", "unknown_member")
    }
    assert "https://x" not in str(plan)
    agent = desk.client.get_stored_agent("basic").details(status="draft")
    assert (agent.name, agent.model) == ("Basic Prompt", {"provider": "azure", "name": "gpt-4o"})
    [block] = agent.instructions
    assert block["content"].startswith(
        "You help {{firstName}}.\n{% for item in history %}\n{{ item.text | trim }}"
    )
    assert agent.request_context_schema == {
        "type": "object",
        "properties": {"firstName": {"type": "string", "description": "The name", "examples": ["Ann"]}},
        "required": ["firstName"],
    }
    assert set(agent.metadata["import"]) == {"options", "authors", "tools", "inputs", "name"}
    assert agent.metadata["tags"] == ["chat"]


def test_prompty_of_the_first_version(desk: Desk) -> None:
    plan = desk.imports("prompty", desk.write("old.prompty", OLD_PROMPTY))
    assert losses(plan) == {"credential", "unknown_member"} and "secret-value" not in str(plan)
    agent = desk.client.get_stored_agent("old").details(status="draft")
    assert (agent.instructions, agent.model) == ("Be kind.", {"provider": "azure", "name": "gpt-35"})


def test_what_the_head_of_a_message_says_is_kept_and_named(desk: Desk) -> None:
    text = 'system:\nBe kind.\n\nuser[name="Ann"]:\nHi, I am Ann.\n\nassistant[]:\nHello!\n'
    plan = desk.plan("prompty", desk.write("a.prompty", text))
    [agent] = [one for one in plan["resources"] if one["kind"] == "agent"]
    assert agent["metadata"]["import"]["messages"] == {"2": {"about": 'name="Ann"'}}
    [loss] = [one for one in plan["losses"] if one["code"] == "message"]
    assert "Ann" in loss["message"]


def test_the_variables_of_the_message_that_is_left_out_are_named(desk: Desk) -> None:
    plan = desk.plan("prompty", desk.write("a.prompty", "system:\nBe kind.\n\nuser:\n{{question}}\n"))
    [loss] = [one for one in plan["losses"] if one["code"] == "input_message"]
    assert "question" in loss["message"]


def test_dotprompt_with_a_partial(desk: Desk) -> None:
    desk.write("_tone.prompt", "Be {{how}}.\n")
    desk.write("greet.casual.prompt", DOTPROMPT)
    plan = desk.imports("dotprompt", desk.folder)
    assert actions(plan) == {
        "promptBlock tone": "create",
        "agent greet.casual": "create",
        "promptBlock greet.casual/messages/3-user": "create",
    }
    assert losses(plan) == {
        *("credential", "placeholder", "template_logic", "message_as_block", "unknown_member")
    }
    agent = desk.client.get_stored_agent("greet.casual").details(status="draft")
    assert agent.instructions == [
        {"type": "prompt_block_ref", "id": "tone"},
        {"type": "text", "content": "Answer in {{lang}}. {{#if formal}}Be formal.{{/if}}"},
    ]
    assert agent.model == {"provider": "google", "name": "gemini-1.5-flash"}
    assert set(desk.imports("dotprompt", desk.folder)["resources"][0]["action"]) == set("unchanged")


def test_partials_that_become_no_prompt_block_are_named(desk: Desk) -> None:
    desk.write("main.prompt", "Be kind. {{>tone}} {{>nested}} {{>other}}\n")
    desk.write("_tone.prompt", "Be brief.\n")
    desk.write("_nested.prompt", "{{>tone}}\n")
    desk.write("_unused.prompt", "Be loud.\n")
    desk.write("sub/_other.prompt", "Be late.\n")
    plan = desk.plan("dotprompt", desk.folder)
    assert set(actions(plan)) == {"agent main", "promptBlock tone"}
    partials = [one["where"] for one in plan["losses"] if one["code"] == "partial"]
    assert partials == ["_nested.prompt", "_unused.prompt", "sub/_other.prompt"]
    alone = desk.plan("dotprompt", desk.folder / "_unused.prompt")
    assert "partial" not in losses(alone) and len(alone["resources"]) == 1


def test_an_eval_of_which_nothing_is_imported_is_named(desk: Desk) -> None:
    dump = {"id": "eval_1", "name": "Sums", "testing_criteria": [{"name": "untyped"}]}
    plan = desk.plan("openai-evals", desk.write("sums.json", dump))
    assert (plan["resources"], plan["datasets"]) == ([], [])
    [loss] = [one for one in plan["losses"] if one["code"] == "left_out"]
    assert loss["where"] == "Sums" and "evalId" in loss["message"]


def test_a_dump_of_an_eval(desk: Desk) -> None:
    rows = [
        {"item": {"q": "1+1", "a": "2"}},
        {"item": {"q": "2+2", "a": "4"}, "sample": {"output_text": "4"}},
    ]
    template = [
        {"role": "developer", "content": "Answer {{item.q}}"},
        {"role": "user", "content": "{{item.q}}"},
    ]
    source = {
        "type": "completions",
        "model": "gpt-4o",
        "sampling_params": {"temperature": 0},
        "input_messages": {"type": "template", "template": template},
        "source": {"type": "file_content", "content": rows},
    }
    check = {"type": "string_check", "input": "{{ sample.output_text }}", "reference": "{{item.a}}"}
    criteria = [
        {**check, "name": "exact", "operation": "eq"},
        {**check, "name": "not", "operation": "ne"},
        {
            "type": "label_model",
            "name": "tone",
            "model": "gpt-4o",
            "labels": ["kind", "rude"],
            "passing_labels": ["kind"],
            "input": [{"role": "user", "content": "Is it kind?"}],
        },
        {"type": "python", "name": "code", "source": "import os"},
    ]
    dump = {"id": "eval_1", "name": "Sums", "testing_criteria": criteria, "runs": [{"data_source": source}]}
    plan = desk.imports("openai-evals", desk.write("sums.json", dump))
    assert actions(plan) == {
        "scorer sums/scorers/exact": "create",
        "scorer sums/scorers/not": "create",
        "scorer sums/scorers/tone": "create",
        "scorer sums/scorers/code": "create",
        "agent sums/run-1": "create",
    }
    assert losses(plan) == {"scorer_to_be_filled_in", "input_message", "sample", "unknown_member"}
    [dataset] = plan["datasets"]
    assert (len(dataset["items"]), len(dataset["settings"]["scorerIds"])) == (2, 4)
    item = dataset["items"][0]
    assert dataset["metadata"]["import"]["evalId"] == "eval_1"
    tried = desk.client.get_stored_scorer("sums/scorers/exact").try_out(item["input"], "2")
    assert tried.passed is True


def test_a_reference_that_only_the_source_can_fill_in_is_never_compared_literally(desk: Desk) -> None:
    check = {"type": "string_check", "input": "{{ sample.output_text }}", "operation": "eq"}
    references = {"letters": "{{item.größe}}", "marks": "{{ item.नाम }}", "logic": "{{#item.a}}x{{/item.a}}"}
    criteria = [{**check, "name": name, "reference": one} for name, one in references.items()]
    dump = {"name": "Sums", "testing_criteria": criteria, "runs": []}
    plan = desk.plan("openai-evals", desk.write("sums.json", dump))
    assert [one["versions"][0]["config"]["type"] for one in plan["resources"]] == ["code"] * 3
    evaluator = {"name": "same", "string": {"equals": "{{größe}}"}}
    prompt = {"messages": [{"role": "system", "content": "Hi"}], "evaluators": [evaluator]}
    plan = desk.plan("prompt-yml", desk.write("a.prompt.yml", prompt))
    assert "scorer" in losses(plan)
    assert [one["kind"] for one in plan["resources"]] == ["agent"]


def test_a_partial_may_have_any_name(desk: Desk) -> None:
    names = ["ton", "größe", "gro\u0308\u00dfe", "नमस्ते", "a+b"]
    for name in names:
        desk.write(f"_{name}.prompt", "Be kind.")
    desk.write("all.prompt", "\n\n".join(f"{{{{>{name}}}}}" for name in names))
    collection = collect("dotprompt", str(desk.folder))
    assert not {loss.code for loss in collection.losses} & {"template_logic", "reference"}
    [agent] = [one for one in collection.resources if one.kind == "agent"]
    blocks = agent.snapshots[0].config["instructions"]
    assert [one["type"] for one in blocks] == ["prompt_block_ref"] * len(names)


def test_samples_of_the_repository(desk: Desk) -> None:
    lines = '{"input": [{"role": "user", "content": "Hi"}], "ideal": ["a", "b"]}\n\n'
    lines += '{"input": "x", "ideal": "y"}\n'
    plan = desk.imports("openai-evals", desk.write("samples.jsonl", lines))
    assert losses(plan) == {"ideal"}
    items = plan["datasets"][0]["items"]
    assert [(one["input"], one["groundTruth"]) for one in items] == [
        ({"messages": [{"role": "user", "content": "Hi"}]}, ["a", "b"]),
        ("x", "y"),
    ]


def test_credentials_are_left_out_wherever_they_stand(desk: Desk) -> None:
    secrets = [
        "sk-proj-abcdefgh12345678",
        "ghp_abcdefghij0123456789",
        "AKIAABCDEFGHIJKLMNOP",
        "Bearer abcdefghij1234567890xyz",
        "user:hunter2",
    ]
    config = {
        "model": "gpt-4o",
        "max_tokens": 5,
        "headers": {"Authorization": "Basic abc", "X-Api-Key": "abc", "Accept": "json"},
        "OPENAI_API_KEY": "abc",
        "url": f"https://{secrets[4]}@example.com",
    }
    text = f"Use {', '.join(secrets[:4])}; but scikit's sk-learn-classification-models stay."
    prompt = {
        "name": "leaky",
        "production_version": "1",
        "versions": [{"version": "1", "messages": [{"role": "system", "content": text}], "config": config}],
    }
    plan = desk.imports("openai", desk.write("leaky.json", prompt))
    written = str(plan) + desk.out
    assert not [one for one in [*secrets, "hunter2", "Basic abc"] if one in written]
    [resource] = plan["resources"]
    assert "sk-learn-classification-models stay." in resource["versions"][0]["config"]["instructions"]
    assert resource["metadata"]["import"]["config"]["headers"] == {"Accept": "json"}
    places = [one["where"] for one in plan["losses"] if one["code"] == "credential"]
    assert "leaky v1, config.OPENAI_API_KEY" in places and "leaky v1, config.headers.Authorization" in places


def test_names_are_cut_between_characters(desk: Desk) -> None:
    family = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
    assert excerpt(f"a{family * 30}").removesuffix("…") == "a" + family * 23
    assert excerpt("न्\u200dय\n") == "न्\u200dय\\n"
    assert excerpt("a\u202eb") == "a\\u202eb"
    grader = {"type": "score_model", "name": f"{'x' * 59}किस", "model": "gpt-4o", "input": []}
    eval_file = desk.write("cut.json", {"name": "cut", "testing_criteria": [grader]})
    places = str(desk.plan("openai-evals", eval_file)["losses"])
    assert "x" * 59 in places and "xक" not in places


def test_composed_and_decomposed_names_have_the_same_id() -> None:
    for composed, decomposed in (("Caf\u00e9 Zo\u00eb", "Cafe\u0301 Zoe\u0308"), ("\u00dcber", "U\u0308ber")):
        assert slug(composed) == slug(decomposed)
        assert make_id(f"Team/{composed}") == make_id(f"Team/{decomposed}")
