"""Hostile files: each is read within limits, or refused with a sentence; nothing is executed or followed."""

from __future__ import annotations

import copy
import json
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from editor_client.shared import canonical, ids
from editor_client.transfer.importing.collection import Collection, Unreadable
from editor_client.transfer.importing.formats.table import FILES, collect

from tests.importing.conftest import Desk
from tests.importing.test_langfuse import MOVIES
from tests.importing.test_plans import SAVED_PROMPT
from tests.importing.test_prompt_yml import PROMPT
from tests.importing.test_promptfoo import CONFIG
from tests.importing.test_texts import DOTPROMPT, PROMPTY

NAMES = {
    "openai": "a.json",
    "openai-evals": "a.json",
    "promptfoo": "promptfooconfig.yaml",
    "langfuse": "a.json",
    "prompt-yml": "a.prompt.yml",
    "prompty": "a.prompty",
    "dotprompt": "a.prompt",
}
"""A file of each format."""
EVAL: dict[str, Any] = {
    "name": "Sums",
    "testing_criteria": [
        {
            "type": "string_check",
            "name": "e",
            "operation": "eq",
            "input": "{{sample.output_text}}",
            "reference": "x",
        },
        {
            "type": "label_model",
            "name": "l",
            "labels": ["a", "b"],
            "passing_labels": ["a"],
            "input": [{"role": "user", "content": "x"}],
        },
    ],
    "runs": [
        {
            "data_source": {
                "model": "gpt-4o",
                "sampling_params": {"temperature": 1},
                "input_messages": {"template": [{"role": "system", "content": "{{item.q}}"}]},
                "source": {"type": "file_content", "content": [{"item": {"q": "1"}}]},
            }
        }
    ],
}
EXAMPLES: dict[str, Any] = {
    "openai": SAVED_PROMPT,
    "openai-evals": EVAL,
    "promptfoo": yaml.safe_load(CONFIG),
    "langfuse": MOVIES,
    "prompt-yml": yaml.safe_load(PROMPT.replace("Yes", "'Yes'").replace(": yes", ": 'yes'")),
    "prompty": PROMPTY,
    "dotprompt": DOTPROMPT,
}
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + number)}: &{chr(98 + number)} [{','.join([f'*{chr(97 + number)}'] * 9)}]\n"
    for number in range(9)
)
YAML_FILES = {
    "a bomb of aliases": BOMB,
    "a value in itself": "messages: &a [*a]\n",
    "many aliases": "x: &a 1\ny: [" + "*a," * 200 + "]\n",
    "deep": "a: " + "[" * 5000,
    "deep objects": "".join(f"{' ' * number}a:\n" for number in range(300)),
    "python": "!!python/object/apply:os.system ['touch ran']\n",
    "python names": "a: !!python/name:os.system\n",
    "a tag": "a: !include /etc/passwd\n",
    "keys twice": "name: a\nname: b\nmessages: []\n",
    "an object as key": "? {a: b}\n: c\n",
    "number as key": "1: a\nmessages: []\n",
    "no number": "a: .nan\nmessages: []\n",
    "infinity": "messages: []\na: 1e999\n",
    "digits": f"messages: []\na: {'9' * 5000}\n",
    "several documents": "a: 1\n---\nb: 2\n",
    "binary": "a: !!binary aGk=\n",
    "nul": 'messages: []\na: "\\0"\n',
    "half a pair": 'messages: []\na: "\\ud800"\n',
    "nothing": "",
    "a tab": "a:\n\t- b\n",
    "too long": "a: '" + "x" * (3 << 20) + "'\n",
}


def write(folder: Path, source: str, content: str | bytes) -> Path:
    """Write a file of a format: a text with a head for those that have one."""
    path = folder / NAMES[source]
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path


def read(source: str, path: Path) -> Collection | str:
    """Return what is read, or the sentence of the refusal; anything else is a bug."""
    started = time.monotonic()
    try:
        found: Collection | str = collect(source, str(path))
    except Unreadable as error:
        found = str(error)
        assert found.isprintable()
    assert time.monotonic() - started < 30
    return found


def test_hostile_yaml_is_refused(tmp_path: Path) -> None:
    for name, content in YAML_FILES.items():
        for source in ["prompt-yml", "promptfoo", "prompty", "dotprompt"]:
            headed = source in {"prompty", "dotprompt"}
            text = f"---\n{content}\n---\nHi.\n" if headed else content
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            found = read(source, write(tmp_path, source, text))
            if not headed:
                assert isinstance(found, str), name
            assert not list(tmp_path.glob("ran")) and not Path("ran").exists()
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10, "300 MiB"


def test_hostile_json_is_refused_or_holds_nothing(tmp_path: Path) -> None:
    for content in [
        b"",
        b"\xff\xfe{}",
        b"null",
        b"5",
        b"[]",
        b"[5]",
        b'"x"',
        b"{",
        b"[" * 100_000,
        b'{"a": NaN}',
        b'{"a": 1, "a": 2}',
        b'{"a": "\\ud800"}',
        b'{"a": "\\u0000"}',
        b'{"name": "a", "versions": [{"version": true}]}',
        b'[{"name": "a", "prompt": 5, "version": 1}]',
        b"9" * 10_000,
    ]:
        for source in ["openai", "openai-evals", "langfuse"]:
            found = read(source, write(tmp_path, source, content))
            assert isinstance(found, str) or not found.resources


@pytest.mark.parametrize("source", FILES)
def test_a_path_may_be_anything(tmp_path: Path, source: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 17 << 20)
    (tmp_path / "empty").mkdir()
    paths: list[Any] = ["pipe", "circle", "large", "empty", "missing", "a\0b", "x" * 5000]
    for path in [
        *(tmp_path / one for one in paths),
        "/dev/zero",
        "",
        "file:///etc/passwd",
        "https://x.example/",
    ]:
        found = read(source, path) if not str(path).startswith("https") or source != "langfuse" else ""
        assert isinstance(found, str)


def test_a_folder_is_read_without_its_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    prompt = "messages: [{role: system, content: top secret}]"
    (outside / "secret.prompt.yml").write_text(prompt)
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "own.prompt.yml").write_text(prompt.replace("top secret", "mine"))
    (inside / "link.prompt.yml").symlink_to(outside / "secret.prompt.yml")
    (inside / "linked").symlink_to(outside)
    found = read("prompt-yml", inside)
    assert isinstance(found, Collection)
    assert [one.id for one in found.resources] == ["own"]
    assert [(one.code, one.where) for one in found.losses] == [
        ("symbolic_link", "link.prompt.yml"),
        ("symbolic_link", "linked"),
    ]


HOSTILE_NAMES = [
    "../../etc/passwd",
    "a/../b",
    "versions",
    "a/export",
    "\u202eevil",
    "a\u0000b".replace("\0", ""),
    "x" * 5000,
    "ü" * 500,
    "/",
    "//",
    " ",
    ".",
    "try",
    "日本語",
    "%2F%2e",
    "<script>",
    "a\nb",
    "\x1b[31mred",
    "a|b",
    "{{x}}",
    "\N{PILE OF POO}",
]


def test_hostile_names_become_valid_ids(tmp_path: Path) -> None:
    for name in HOSTILE_NAMES:
        prompts = [
            {
                "name": name,
                "version": 1,
                "prompt": [{"role": "system", "content": "Hi"}, {"role": "user", "content": "A"}],
            },
            {"name": f"{name}!", "version": 1, "prompt": "@@@langfusePrompt:name=x|label=production@@@"},
        ]
        path = tmp_path / "a.json"
        path.write_text(json.dumps(prompts))
        found = read("langfuse", path)
        if isinstance(found, str):
            assert not name.strip(), name
            continue
        made = {(one.kind, one.id) for one in found.resources}
        assert len(made) == len(found.resources)
        assert all(ids.problem(one.id) is None for one in found.resources), name
        assert all(loss.where.isprintable() for loss in found.losses)


def _changed(value: Any, odd: Any) -> Iterator[Any]:
    """Yield the value with each of its parts replaced in turn."""
    yield odd
    if isinstance(value, dict):
        for name, member in value.items():
            for changed in _changed(member, odd):
                yield {**value, name: changed}
    elif isinstance(value, list):
        for place, member in enumerate(value):
            for changed in _changed(member, odd):
                yield [*value[:place], changed, *value[place + 1 :]]


ODD: list[Any] = [None, True, 5, -1.5, "", "x{{", "{% %}{{a}}", [], {}, [[]], [None], {"a": None}, {"": [1]}]


@pytest.mark.parametrize("source", EXAMPLES)
def test_any_part_may_be_anything(tmp_path: Path, source: str) -> None:
    """Whatever stands in the place of any part: it is read, or refused with a sentence."""
    example, texts = EXAMPLES[source], source in {"prompty", "dotprompt"}
    head, body = (
        (yaml.safe_load(example.split("---")[1]), example.split("---")[2]) if texts else (example, "")
    )
    name = "promptfooconfig.json" if source == "promptfoo" else NAMES[source]
    count = 0
    for odd in ODD[::3] if name.endswith("yml") else ODD:  # YAML takes its time
        for changed in _changed(copy.deepcopy(head), odd):
            text = json.dumps(changed)
            path = tmp_path / name
            path.write_text(f"---\n{text}\n---{body}" if texts else text)
            found = read(source, path)
            count += 1
            if isinstance(found, Collection):
                canonical.check([vars(snapshot) for one in found.resources for snapshot in one.snapshots])
                canonical.check([list(one.items) for one in found.datasets])
    assert count > 100


def test_templates_take_linear_time(tmp_path: Path) -> None:
    for text in [
        "{{" * 20_000,
        "{%" * 20_000,
        "{{{" * 13_000 + "}}",
        "{{a" * 13_000 + "}}" * 13_000,
        "{" * 33_000,
        "eyJaaaaaaaaa-" * 7_000,
        "sk-" * 13_000,
        "x\n" + " " * 33_000 + "x",
        "user" + " " * 33_000 + "x",
        "{{history" + " " * 33_000 + "x",
        '{{role "' * 7_000,
        "a://b:" * 7_000,
        "".join(f"{{{{v{number}}}}}" for number in range(1_500)),
        "".join(f"{{{{a{' ' * (number % 300)}{'-' * (number // 300)}b}}}}" for number in range(1_500)),
        "---\n" * 7_000,
    ]:
        for source in ["langfuse", "prompty", "dotprompt"]:
            content = (
                json.dumps([{"name": "a", "version": 1, "prompt": text}]) if source == "langfuse" else text
            )
            started = time.process_time()
            read(source, write(tmp_path, source, content))
            assert time.process_time() - started < 1


def test_characters_that_cannot_be_stored_are_named_with_file_and_line(desk: Desk) -> None:
    desk.write("a.prompty", "---\nname: A\nmodel: {api: chat}\n---\nsystem:\nHello \0 {{name}}\n")
    desk.write("b.prompty", "---\nname: B\nmodel: {api: chat}\n---\nsystem:\nHello {{name}}\n")
    plan = desk.plan("prompty", desk.folder)
    [loss] = [one for one in plan["losses"] if one["code"] == "unstorable"]
    assert (loss["where"], loss["line"]) == ("a.prompty", 6)
    assert "Hello \ufffd {{name}}" in json.dumps(plan, ensure_ascii=False)
    desk.apply()

    tests = [{"vars": {"q": text}} for text in ("a\0b", "\ud800", "x\udc00", "\\u0000", "\U0001f600", "good")]
    config = {"prompts": ["Say {{q}}"], "providers": ["echo"], "tests": tests}
    path = desk.write("promptfooconfig.json", json.dumps(config, indent=1))
    plan = desk.plan("promptfoo", path)
    assert [one["line"] for one in plan["losses"] if one["code"] == "unstorable"] == [11, 16, 21]
    inputs = [item["input"]["q"] for item in plan["datasets"][0]["items"]]
    assert inputs == ["a\ufffdb", "\ufffd", "x\ufffd", "\\u0000", "\U0001f600", "good"]
    desk.apply()
