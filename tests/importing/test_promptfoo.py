"""Configurations of promptfoo: prompts, tests and assertions."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from tests.importing.conftest import Desk, actions, losses

CONFIG = """\
description: Support
prompts:
  - file://prompts/chat.json
  - label: short
    raw: 'Answer in {{ lang | upper }}: {{question}}'
  - file://prompts/two.txt
  - file://prompts/make.py:build
providers:
  - id: openai:chat:gpt-4o
    config: {temperature: 0, max_tokens: 100, apiKey: sk-abcdefghijklmnopqrstuvwx, organization: org}
  - anthropic:messages:claude-sonnet
defaultTest:
  vars: {lang: en}
  assert:
    - {type: latency, threshold: 2000}
  options:
    provider: openai:gpt-4o-mini
tests:
  - description: Greeting
    vars: {question: Hello, größe: 5}
    metadata: {topic: small talk}
    assert:
      - {type: icontains, value: 'hello {{lang}}'}
      - {type: equals, value: Hello to you}
      - {type: llm-rubric, value: Is friendly}
      - {type: javascript, value: output.length < 10}
      - {type: not-contains, value: sorry}
      - {type: regex, value: '(?<!x)hi'}
      - {type: is-json}
  - vars:
      question: [One, Two]
      lang: [en, de]
    assert:
      - $ref: '#/assertionTemplates/polite'
  - file://tests.csv
assertionTemplates:
  polite: {type: contains-any, value: [please, thanks]}
evaluateOptions: {repeat: 3}
"""
CSV = """\
question,__expected1,__expected2,__description,__metadata:tags[],__prefix
"Where, exactly?",contains: there,similar(0.8): here,From a table,"a, b",P
Plain,yes,,,,
"""


@pytest.fixture
def folder(desk: Desk) -> Any:
    """A configuration with its files."""
    desk.write(
        "prompts/chat.json",
        '[{"role": "system", "content": "Speak {{lang}}."}, {"role": "user", "content": "{{question}}"}]',
    )
    desk.write("prompts/two.txt", "First {{question}}\n---\nSecond {% if lang %}{{question}}{% endif %}\n")
    desk.write("prompts/make.py", "raise SystemExit('executed')")
    desk.write("tests.csv", CSV)
    desk.write("promptfooconfig.yaml", CONFIG)
    return desk.folder


def test_prompts_tests_and_assertions(desk: Desk, folder: Any) -> None:
    plan = desk.imports("promptfoo", folder)
    agents = [name for name in actions(plan) if name.startswith("agent")]
    assert agents == [
        "agent support/chat",
        "agent short",
        "agent support/two/1",
        "agent support/two/2",
    ]
    lost = losses(plan)
    assert {"template_logic", "not_followed", "credential", "providers", "scorer_to_be_filled_in"} <= lost
    assert {"variable_renamed", "configuration", "judge", "column"} <= lost
    assert "sk-abc" not in str(plan)
    chat = desk.client.get_stored_agent("support/chat").details(status="draft")
    assert chat.model == {"provider": "openai-chat", "name": "gpt-4o"}
    assert chat.default_options == {"modelSettings": {"temperature": 0, "maxOutputTokens": 100}}
    logic = [(one["where"], one["line"]) for one in plan["losses"] if one["code"] == "template_logic"]
    assert ("short, message 1", 1) in logic and len(logic) == 3


def test_the_scorers_of_tests(desk: Desk, folder: Any) -> None:
    plan = desk.imports("promptfoo", folder)
    [dataset] = plan["datasets"]
    assert len(dataset["items"]) == 1 + 4 + 2
    first = dataset["items"][0]
    assert (first["groundTruth"], first["metadata"]) == (
        "Hello to you",
        {"topic": "small talk", "description": "Greeting", "assert": {"icontains": "hello en"}},
    )
    assert first["requestContext"] == {"lang": "en", "question": "Hello", "groesse": 5}
    kinds = {one.id: one for one in desk.client.iter_stored_scorers()}
    names = [one.removeprefix("support/scorers/") for one in first["scorerIds"]]
    assert names == [
        "latency",
        "icontains",
        "equals",
        "llm-rubric",
        "javascript",
        "not-contains",
        "regex",
        "is-json",
    ]
    running = [one for one in first["scorerIds"] if kinds[one].type != "code"]
    assert set(running) <= set(dataset["settings"]["scorerIds"])
    assert [kinds[one].type for one in first["scorerIds"]] == [
        "maxMilliseconds",
        "contains",
        "equals",
        "llm-judge",
        "code",
        "code",
        "code",
        "jsonSchema",
    ]
    code = kinds["support/scorers/javascript"]
    assert code.metadata["import"]["source"]["value"] == "output.length < 10"
    for output, passed in (("oh, Hello EN!", True), ("hi", False)):
        tried = desk.client.get_stored_scorer("support/scorers/icontains").try_out(
            "x", output, metadata=first["metadata"]
        )
        assert tried.passed is passed
    rows = dataset["items"][-2:]
    assert rows[0]["metadata"] == {
        "tags": ["a", "b"],
        "description": "From a table",
        "assert": {"contains": "there"},
        "import": {"options": {"prefix": "P"}},
    }
    assert rows[1]["groundTruth"] == "yes"
    again = desk.imports("promptfoo", folder)
    assert {*actions(again).values(), again["datasets"][0]["action"]} == {"unchanged"}


def test_the_message_of_variables_is_the_input(desk: Desk) -> None:
    config = {
        "prompts": [[{"role": "system", "content": "Hi."}, {"role": "user", "content": "{{q}}"}]],
        "tests": [{"vars": {"q": "Why?", "r": 1}}],
    }
    plan = desk.imports("promptfoo", desk.write("promptfooconfig.json", config))
    [item] = plan["datasets"][0]["items"]
    assert (item["input"], item["requestContext"]) == ("Why?", {"r": 1})


def test_numbers_in_assertions_are_those_of_javascript(desk: Desk) -> None:
    test = {"vars": {"q": "Why?", "r": 1.0}, "assert": [{"type": "contains", "value": "It costs {{r}} €"}]}
    config = {"prompts": ["{{q}}"], "tests": [test]}
    plan = desk.imports("promptfoo", desk.write("promptfooconfig.json", config))
    assert "It costs 1 €" in json.dumps(plan, ensure_ascii=False)


ELSEWHERE = [
    "file://../secret.txt",
    "file:///etc/passwd",
    "file://link.txt",
    "file://linked/secret.txt",
    "https://example.com/p.txt",
    "file://prompts/../../secret.txt",
    "exec:cat secret.txt",
    "python:make.py",
    "file://run.js",
    "file://..\\secret.txt",
    "file://",
    "file://*.sh",
    "file://pipe.txt",
    "file://a**b.txt",
    "file://**/*.txt",
    "file://linked/*.txt",
]


def test_what_is_elsewhere_is_neither_read_nor_run(desk: Desk) -> None:
    secret = desk.folder.parent / "secret.txt"
    secret.write_text("top secret")
    (desk.folder / "link.txt").symlink_to(secret)
    (desk.folder / "linked").symlink_to(desk.folder.parent)
    desk.write("run.sh", f"touch {desk.folder}/ran")
    desk.write("run.js", "process.exit(1)")
    os.mkfifo(desk.folder / "pipe.txt")
    for reference in ELSEWHERE:
        config = {
            "prompts": ["Hi {{a}}", reference],
            "providers": [reference],
            "tests": [{"vars": {"a": reference}}, reference],
            "defaultTest": reference,
        }
        path = desk.write("promptfooconfig.json", config)
        file = desk.folder.parent / "plan.json"
        file.unlink(missing_ok=True)
        assert desk.does("import", "promptfoo", path, "--plan", file) in {0, 2}
        if file.exists():
            assert "top secret" not in file.read_text() and "root:" not in file.read_text()
        assert not (desk.folder / "ran").exists()


def test_items_that_are_too_large_are_left_out(desk: Desk) -> None:
    tests = [{"vars": {"a": "x" * 300_000}}, {"vars": {"a": "y"}}]
    plan = desk.plan(
        "promptfoo", desk.write("promptfooconfig.json", {"prompts": ["Hi {{a}}"], "tests": tests})
    )
    assert "too_large" in losses(plan) and len(plan["datasets"][0]["items"]) == 1


def test_defaults_that_multiply_are_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("editor_client.transfer.importing.datasets.MAX_TOTAL", 4 << 20)
    config = {"prompts": ["Hi"], "defaultTest": {"vars": {"a": "x" * 100_000}}, "tests": [{}] * 5_000}
    assert "4 MiB" in desk.refuses("promptfoo", desk.write("promptfooconfig.json", config))


def test_a_provider_of_judges_that_no_rubric_uses_is_named(desk: Desk) -> None:
    unused = {"id": "openai:gpt-4o-mini", "config": {"temperature": 0}}
    config = {
        "prompts": ["Hi {{a}}"],
        "defaultTest": {"options": {"provider": unused}},
        "tests": [{"vars": {"a": "x"}, "assert": [{"type": "equals", "value": "y"}]}],
    }
    plan = desk.plan("promptfoo", desk.write("promptfooconfig.json", config))
    [loss] = [one for one in plan["losses"] if one["code"] == "judge"]
    assert "gpt-4o-mini" in loss["message"] and "no rubric uses it" in loss["message"]
    assert plan["datasets"][0]["metadata"]["import"]["configuration"]["judges"] == [unused]


def test_what_a_provider_of_judges_says_besides_its_model_is_named(desk: Desk) -> None:
    rubric = {"type": "llm-rubric", "value": "Is kind"}
    by_kind = {"text": "openai:gpt-4o", "embedding": "openai:embedding:small"}
    config = {
        "prompts": ["Hi {{a}}"],
        "defaultTest": {"options": {"provider": {"id": "openai:gpt-4o", "config": {"temperature": 0.25}}}},
        "tests": [
            {"vars": {"a": "x"}, "assert": [rubric]},
            {"vars": {"a": "y"}, "assert": [{**rubric, "provider": by_kind}]},
        ],
    }
    plan = desk.plan("promptfoo", desk.write("promptfooconfig.json", config))
    [dataset] = plan["datasets"]
    judges = dataset["metadata"]["import"]["configuration"]["judges"]
    assert judges == [{"config": {"temperature": 0.25}}]
    assert dataset["items"][1]["metadata"]["import"]["asserts"] == [
        {"type": "llm-rubric", "provider": by_kind}
    ]
    told = " ".join(one["message"] for one in plan["losses"] if one["code"] == "assertion")
    assert "for config" in told and "for embedding" in told
    assert "no rubric uses it" not in str(plan["losses"])


def test_a_chat_with_the_logic_of_a_template_is_a_text(desk: Desk) -> None:
    """Such a file is JSON only when promptfoo has filled it in; the rest of the configuration is read."""
    desk.write("p.json", '[{% for m in past %}{"role": "user", "content": "{{m}}"},{% endfor %}]')
    config = {"prompts": ["file://p.json", "Hi {{q}}"], "tests": [{"vars": {"q": "a"}}]}
    plan = desk.plan("promptfoo", desk.write("promptfooconfig.json", config))
    first, second = plan["resources"]
    assert "{% for m in past %}" in first["versions"][0]["config"]["instructions"][0]["content"]
    assert second["name"] and "template_logic" in losses(plan)


def test_defaults_alone_are_one_test(desk: Desk) -> None:
    config = {"prompts": ["Hi {{a}}"], "defaultTest": {"vars": {"a": "x"}}}
    plan = desk.plan("promptfoo", desk.write("promptfooconfig.json", config))
    assert [one["requestContext"] for one in plan["datasets"][0]["items"]] == [{"a": "x"}]


def test_too_many_tests_are_refused(desk: Desk) -> None:
    wide = {f"v{number}": [str(value) for value in range(10)] for number in range(12)}
    path = desk.write("promptfooconfig.json", {"prompts": ["Hi"], "tests": [{"vars": wide}]})
    assert "10000 tests" in desk.refuses("promptfoo", path)


def test_tables_of_spreadsheets_are_read_as_the_editor_reads_them(desk: Desk) -> None:
    desk.write("p.csv", "prompt ; label;author\nAnswer {{q}}, please;one;Ann\n")
    (desk.folder / "t.csv").write_bytes("sep=;\r\nq; __expected;;\r\nWo, wann?;3.10;;\r\n".encode("utf-16"))
    path = desk.write("promptfooconfig.json", {"prompts": ["file://p.csv"], "tests": "file://t.csv"})
    plan = desk.plan("promptfoo", path)
    [dataset] = plan["datasets"]
    [item] = dataset["items"]
    assert (item["requestContext"], item["groundTruth"]) == ({"q": "Wo, wann?"}, "3.10")
    agent = next(one for one in plan["resources"] if one["id"] == "one")
    assert agent["metadata"]["import"]["prompt"] == {"author": "Ann"}


def test_cells_below_no_name_are_kept(desk: Desk) -> None:
    desk.write("p.csv", "prompt,label,\nAnswer {{q}},one,draft\n")
    desk.write("t.csv", "q,,,__expected\nWhen?,first,second,a\n")
    path = desk.write("promptfooconfig.json", {"prompts": ["file://p.csv"], "tests": "file://t.csv"})
    plan = desk.plan("promptfoo", path)
    [item] = plan["datasets"][0]["items"]
    assert (item["requestContext"], item["groundTruth"]) == ({"q": "When?"}, "a")
    assert item["metadata"]["import"]["cells"] == ["first", "second"] and "row" in losses(plan)
    agent = next(one for one in plan["resources"] if one["id"] == "one")
    assert agent["metadata"]["import"]["prompt"] == {"cells": ["draft"]}


def test_a_table_that_cannot_be_read_is_named_with_its_line(desk: Desk) -> None:
    config = {"prompts": ["{{q}}"], "tests": "file://t.csv"}
    path = desk.write("promptfooconfig.json", config)
    for content, words in (
        ("q;__expected\nGröße;a\n".encode("cp1252"), "t.csv is not valid UTF-8 in line 2."),
        (b'q,a\n"x" y,b\n', "t.csv is not valid CSV in line 2"),
        (b"q,a,q\n1,2,3\n", "t.csv names the column q twice."),
        (b",".join(b"%d" % number for number in range(1001)), "t.csv has more than 1000 columns."),
    ):
        (desk.folder / "t.csv").write_bytes(content)
        desk.does("import", "promptfoo", path, "--plan", desk.folder.parent / "plan.json")
        assert words in desk.err
