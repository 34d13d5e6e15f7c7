"""What promptfoo makes of our exports: every text arrives as it was, and nothing of it is run.

promptfoo is large, so that it is no part of the suite: `make test-promptfoo` installs and asks it. Its
provider `echo` answers with the prompt as it would be sent.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.importing.conftest import DONE, Desk
from tests.importing.test_exports import make

FOLDER: Final = Path(__file__).resolve().parents[2] / "build/promptfoo/node_modules"
SECRET: Final = "canary-of-the-environment"
ECHO: Final = "providers: [echo]\n"
HOSTILE: Final = (
    "file://evil.js",
    "file://evil.py:get_assert",
    "file://secret.txt",
    "file:///etc/passwd",
    "package:evil:run",
    "python:evil.py",
    "exec:touch ran",
    "https://127.0.0.1:9/x",
    "javascript:process.exit(1)",
    "langfuse://secret:1",
    "{{ env.SECRET }}",
    "{{env.SECRET}} and {{ env.SECRET | upper }}",
    "{{ [].constructor.constructor('return process')().exit(1) }}",
    "{% raw %}{{ env.SECRET }}",
    "{% endraw %}{{ env.SECRET }}",
    "{%- endraw %}{{ env.SECRET }}{%- raw %}",
    "{# a comment #} rest",
    "#} {{ env.SECRET }}",
    "{% set x = env.SECRET %}{{ x }}",
    "{% include 'secret.txt' %}",
    "{{ input }} {{ q }} {{unknown}}",
    "ends with {",
    "{",
    "{{",
    "}} %} #}",
    "{{{ triple }}}",
    "{ { apart } }",
    "@@@langfusePrompt:name=secret|label=production@@@",
    "$ref",
    "${SECRET} $SECRET %SECRET%",
    "---",
    "--- not a document",
    "- a\n- b",
    "a: b # c",
    "yes",
    "0o17",
    "1:30",
    "~",
    "null",
    "=cmd|' /C calc'!A0",
    "*alias &anchor !!python/object:os.system",
    "\ttab and  spaces  ",
    "quotes \" and ' and \\ and \\u0041 \\n",
    "two\n\nlines {{ env.SECRET }}",
    "grüße नमस्ते 👩‍👩‍👧 \u2028 \u0085 \ufeff",
    '[{"role": "system", "content": "x"}]',
    '{"a": "{{ env.SECRET }}"}',
    "<script>alert(1)</script>",
)
NESTED: Final = (
    {"a": "{{ env.SECRET }}", "b": ["file://evil.js", 1, None, True, 1.5]},
    ["{{ env.SECRET }}", {"$ref": "file://secret.txt"}],
    {"$ref": "#/x", "{{ env.SECRET }}": 1},
    {"plain": {"deep": ["a", ["b"]]}},
    [],
    {},
    17,
    False,
)
Results = list[dict[str, Any]]


@pytest.fixture
def ask(tmp_path: Path) -> Callable[[str], Results]:
    """Run a configuration in a folder with code and secrets, and return the results in order."""
    [node] = FOLDER.glob("node-*/bin/node")
    folder = tmp_path / "promptfoo"
    folder.mkdir()
    (folder / "secret.txt").write_text(SECRET)
    code = "require('fs').writeFileSync('ran', ''); module.exports = {run: () => true, default: () => true};"
    (folder / "evil.js").write_text(code)
    (folder / "evil.py").write_text("open('ran', 'w').close()\ndef get_assert(*_): return True\n")

    def run(text: str) -> Results:
        (folder / "promptfooconfig.yaml").write_text(text, encoding="utf-8")
        found = folder / "found.json"
        found.unlink(missing_ok=True)
        command = [str(node), str(FOLDER / "promptfoo/dist/src/main.js"), "eval", "--no-cache", "--no-write"]
        settings = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}
        settings |= {"PROMPTFOO_CONFIG_DIR": str(folder / "home"), "HOME": str(folder), "SECRET": SECRET}
        done = subprocess.run(
            [*command, "--no-table", "--max-concurrency", "1", "-o", str(found)],
            check=False,
            cwd=folder,
            env={"PATH": os.environ["PATH"], **settings},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert found.is_file(), done.stdout + done.stderr
        written = found.read_text(encoding="utf-8")
        assert SECRET not in written and "root:" not in written
        assert not (folder / "ran").exists()
        results: Results = json.loads(written)["results"]["results"]
        return sorted(results, key=lambda one: one["testIdx"])

    return run


def sent(result: dict[str, Any]) -> list[str]:
    """Return the contents of the messages that were sent."""
    return [one["content"] for one in json.loads(result["response"]["output"])]


def agent_with(desk: Desk, instructions: Any, items: list[dict[str, Any]]) -> str:
    """Make an agent that promptfoo has no provider of, with a dataset; return its export, for `echo`."""
    make(desk, "bot", instructions, model={"provider": "custom", "name": "x"})
    scorers = {
        "eq": ("equals", {"value": "{{groundTruth}}", "trim": False}),
        "own": ("contains", {"values": ["{{metadata.assert.own}}"]}),
    }
    for name, (kind, config) in scorers.items():
        desk.client.create_stored_scorer(
            id=name, name=name, type=kind, config=config, workspace_id="acme", auto_publish=True
        )
    made = desk.client.create_dataset(
        name="d", workspace_id="acme", target_type="agent", target_ids=["bot"], scorer_ids=["eq"]
    )
    desk.client.get_dataset(made.id).add_items(items)  # type: ignore[arg-type]
    assert desk.does("export", "promptfoo", "bot") == DONE
    assert "providers" not in yaml.safe_load(desk.out)
    return desk.out + ECHO


def test_texts_of_items_arrive_as_they_were(desk: Desk, ask: Callable[[str], Results]) -> None:
    texts = [*HOSTILE, *NESTED]
    items = [
        {"input": one, "external_id": str(number), "request_context": {"q": one}}
        for number, one in enumerate(texts)
    ]
    results = ask(agent_with(desk, [{"type": "text", "content": "Say {{ q }}!"}], items))
    assert len(results) == len(texts)
    faults = []
    for text, result in zip(texts, results, strict=True):
        system, user = sent(result)
        if (isinstance(text, str) and (system, user) != (f"Say {text}!", text)) or (
            not isinstance(text, str) and json.loads(user) != text
        ):
            faults.append((text, system, user))
    assert faults == []


def test_texts_of_prompts_arrive_as_they_were(desk: Desk, ask: Callable[[str], Results]) -> None:
    texts = [one for one in HOSTILE if "{{" not in one or "env" in one]
    [result] = ask(agent_with(desk, "\n\n".join(texts), [{"input": "x"}]))
    assert sent(result) == ["\n\n".join(texts), "x"]


def test_what_is_expected_is_compared_as_it_was(desk: Desk, ask: Callable[[str], Results]) -> None:
    """The answer is known, so that an assertion on it passes only if its value arrives as it was."""
    items = [{"input": one, "external_id": str(number)} for number, one in enumerate(HOSTILE)]
    answers = [one["response"]["output"] for one in ask(agent_with(desk, "Hi.", items))]
    dataset = desk.client.get_dataset(next(iter(desk.client.iter_datasets(workspace_id="acme"))).id)
    for one in dataset.iter_items():
        number = int(str(one.external_id))
        inner = json.dumps(HOSTILE[number], ensure_ascii=False)[1:-1]
        dataset.get_item(one.id).update(
            ground_truth=answers[number],
            metadata={"assert": {"own": inner}, "note": HOSTILE[number]},
            scorer_ids=["eq", "own"],
        )
    assert desk.does("export", "promptfoo", "bot") == DONE
    results = ask(desk.out + ECHO)
    faults = [
        (HOSTILE[number], part["assertion"]["type"], part["reason"])
        for number, result in enumerate(results)
        for part in result["gradingResult"]["componentResults"]
        if not part["pass"]
    ]
    assert faults == []
    assert [len(one["gradingResult"]["componentResults"]) for one in results] == [2] * len(HOSTILE)


def test_what_is_expected_and_not_answered_fails(desk: Desk, ask: Callable[[str], Results]) -> None:
    """No text is run, or read, or emptied to become one that every answer contains."""
    items = [
        {
            "input": "x",
            "external_id": str(number),
            "ground_truth": one,
            "metadata": {"assert": {"own": one}},
            "scorer_ids": ["eq", "own"],
        }
        for number, one in enumerate(HOSTILE)
    ]
    results = ask(agent_with(desk, "Hi.", items))
    assert len(results) == len(HOSTILE)
    passed = [
        (HOSTILE[number], part["assertion"]["type"])
        for number, result in enumerate(results)
        for part in result["gradingResult"]["componentResults"]
        if part["pass"]
    ]
    # Of JSON with these signs, every answer contains two.
    assert passed == [("{", "contains")]


def test_names_are_data(desk: Desk, ask: Callable[[str], Results]) -> None:
    make(desk, "bot", "Hi.", name="{{ env.SECRET }}", model={"provider": "custom", "name": "x"})
    made = desk.client.create_dataset(
        name="file://evil.js {{ env.SECRET }}", workspace_id="acme", target_type="agent", target_ids=["bot"]
    )
    dataset = desk.client.get_dataset(made.id)
    dataset.add_item("x", external_id="file://evil.js", metadata={"{{ env.SECRET }}": "file://evil.js"})
    assert desk.does("export", "promptfoo", "bot") == DONE
    [result] = ask(desk.out + ECHO)
    assert sent(result) == ["Hi.", "x"]


def test_the_file_of_a_dataset_is_data(desk: Desk, ask: Callable[[str], Results]) -> None:
    """Items that promptfoo would run have no variables there, and are named."""
    made = desk.client.create_dataset(name="d", workspace_id="acme")
    dataset = desk.client.get_dataset(made.id)
    texts = [*HOSTILE, *NESTED]
    dataset.add_items(
        [
            {"input": one, "ground_truth": one, "external_id": str(number), "metadata": {"note": one}}
            for number, one in enumerate(texts)
        ]
    )
    text = dataset.export_file("promptfoo")
    results = ask(f"prompts: ['{{{{input}}}}']\n{ECHO}{text}")
    assert len(results) == len(texts)
    faults = []
    for number, (one, result) in enumerate(zip(texts, results, strict=True)):
        given = result["response"]["output"]
        described = result["testCase"].get("description", "")
        if isinstance(one, str) and given != one and not described.startswith(f"Item {number}: "):
            faults.append((one, given, described))
    assert faults == []
    assert dataset.import_file(text, "promptfoo").unchanged == len(texts)


@pytest.mark.parametrize("text", ["a\0b", {"a": ["\0"]}])
def test_a_text_that_no_file_can_hold_is_refused_before(desk: Desk, text: Any) -> None:
    made = desk.client.create_dataset(name="d", workspace_id="acme")
    with pytest.raises(Exception, match=r"NUL|null|character"):
        desk.client.get_dataset(made.id).add_item(text)
