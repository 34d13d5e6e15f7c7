"""What a reader does not know is a loss with a name, and lies in `metadata.import`, for all formats."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from editor_client.transfer.importing.collection import Collection
from editor_client.transfer.importing.formats.table import collect

from tests.importing.conftest import Desk
from tests.importing.test_hostile_files import EVAL, NAMES
from tests.importing.test_langfuse import MOVIES
from tests.importing.test_plans import SAVED_PROMPT
from tests.importing.test_prompt_yml import PROMPT
from tests.importing.test_servers import answering, elsewhere, manifest, message
from tests.importing.test_texts import DOTPROMPT, PROMPTY
from tests.support.misbehaving import Misbehaving

__all__ = ["elsewhere"]
NAME, VALUE = "xxUnknown", "xx value"
PROMPTFOO = """\
description: Everything
prompts: [{label: one, raw: 'Answer {{q}}', config: {a: 1}}, [{role: system, content: Hi}]]
providers: [{id: 'openai:gpt-4o', config: {temperature: 0}}, {id: 'anthropic:claude-x'}]
defaultTest: {options: {disableVarExpansion: false}, assert: [{type: contains, value: x}]}
tests:
  - {vars: {q: a}, description: d, metadata: {a: 1}, options: {prefix: p}, assert: [{type: equals, value: b}]}
  - vars: {q: c}
    assert: [{type: assert-set, assert: [{type: regex, value: x}]}, {type: javascript, value: '1'}]
scenarios: [{config: [{vars: {q: e}}], tests: [{assert: [{type: llm-rubric, value: good}]}]}]
assertionTemplates: {t: {type: contains, value: y}}
"""
ITEM = {"id": "a", "datasetName": "Films", "status": "ACTIVE", "input": {"q": 1}, "expectedOutput": "one"}
RUN = {
    "name": "first",
    "data_source": {
        "type": "completions",
        "model": "gpt-4o",
        "sampling_params": {"temperature": 0},
        "input_messages": {"type": "template", "template": [{"role": "system", "content": "Hi"}]},
        "source": {"type": "file_content", "content": [{"item": {"q": "1"}}]},
    },
}
FILES: dict[str, Any] = {
    "openai": SAVED_PROMPT,
    "openai-evals": {**EVAL, "runs": {"object": "list", "data": [RUN]}},
    "promptfoo": yaml.safe_load(PROMPTFOO),
    "langfuse": [*MOVIES, ITEM],
    "prompt-yml": yaml.safe_load(PROMPT),
    "prompty": PROMPTY,
    "dotprompt": DOTPROMPT,
}
NEVER_IMPORTED = {"connection"}
"""Objects with credentials, which are named as a whole."""


def variants(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield a value once for each object in it, which has an unknown member then; with the object's place."""
    places: list[tuple[Any, ...]] = []
    pending: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while pending:
        place, one = pending.pop()
        if isinstance(one, dict):
            places.append(place)
        children = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        pending += [((*place, key), child) for key, child in children]
    for place in places:
        if not NEVER_IMPORTED & set(place):
            changed = copy.deepcopy(value)
            found = changed
            for key in place:
                found = found[key]
            found[NAME] = VALUE
            yield ".".join(map(str, place)) or "top", changed


def silent(collection: Collection, place: str) -> str:
    """Return what is wrong, if the unknown member is not kept, or kept beside the content without a word.

    It can be named by a loss of an object around it.
    """
    everything = [asdict(one) for one in [*collection.resources, *collection.datasets]]
    if VALUE not in json.dumps(everything, default=str):
        return "is nowhere"
    names = [NAME, *(one for one in place.split(".") if not one.isdigit())]
    told = [loss.message for loss in collection.all_losses() if loss.code != "input_message"]
    named = any(name in message for name in names for message in told)
    for one in everything:
        one.pop("extra")
        for item in one.get("items", ()):
            item.get("metadata", {}).pop("import", None)
    return "" if named or VALUE in json.dumps(everything, default=str) else "has no loss"


def written(folder: Path, source: str, value: Any) -> Path:
    """Write a value as a file of its format."""
    path = folder / NAMES[source]
    is_yaml = path.suffix in {".yaml", ".yml"}
    path.write_text(yaml.safe_dump(value, sort_keys=False) if is_yaml else json.dumps(value))
    return path


@pytest.mark.parametrize("source", ["openai", "openai-evals", "promptfoo", "langfuse", "prompt-yml"])
def test_an_unknown_member_of_any_object_is_named_and_kept(tmp_path: Path, source: str) -> None:
    faults = {
        place: fault
        for place, value in variants(FILES[source])
        if (fault := silent(collect(source, str(written(tmp_path, source, value))), place))
    }
    assert faults == {}


@pytest.mark.parametrize("source", ["prompty", "dotprompt"])
def test_an_unknown_member_of_a_head_is_named_and_kept(tmp_path: Path, source: str) -> None:
    _, head, body = FILES[source].split("---\n", 2)
    faults = {}
    for place, value in variants(yaml.safe_load(head)):
        path = tmp_path / NAMES[source]
        path.write_text(f"---\n{yaml.safe_dump(value, sort_keys=False)}---\n{body}")
        if fault := silent(collect(source, str(path)), place):
            faults[place] = fault
    assert faults == {}


def test_a_value_of_another_type_than_expected_is_named_and_kept(tmp_path: Path) -> None:
    prompt = {
        "messages": [{"role": "system", "content": "Hi"}],
        "testData": VALUE,
        "modelParameters": [VALUE],
    }
    collection = collect("prompt-yml", str(written(tmp_path, "prompt-yml", prompt)))
    [agent] = collection.resources
    assert agent.extra == {"testData": VALUE, "modelParameters": [VALUE]}
    assert [loss.code for loss in collection.losses] == ["unknown_member"] * 2


PROMPT_OF_LANGSMITH = manifest(
    message("SystemMessagePromptTemplate", "Be {tone}."),
    {"id": ["x", "MessagesPlaceholder"], "kwargs": {"variable_name": "history"}},
    message("HumanMessagePromptTemplate", "{question}"),
    model={"model": "gpt-4o", "temperature": 0.1},
)


def test_langsmith(elsewhere: Misbehaving) -> None:
    bound = copy.deepcopy(PROMPT_OF_LANGSMITH)
    model = bound["kwargs"]["last"]
    tools = {"tools": [{"function": {"name": "find"}}]}
    bound["kwargs"]["last"] = {"id": ["x", "RunnableBinding"], "kwargs": {"bound": model, "kwargs": tools}}
    repo = {"repo_handle": "plain", "full_name": "me/plain", "is_public": False}
    commit = {"commit_hash": "a" * 64, "manifest": bound}
    faults = {}
    for place, value in variants({"repo": repo, "commit": commit}):
        if place == "top":
            continue
        listed = {"repos": [value["repo"]], "total": 1}
        elsewhere.does(answering({"/repos/": listed, "/commits/me/plain/latest": value["commit"]}))
        if fault := silent(collect("langsmith", elsewhere.url), place):
            faults[place] = fault
    assert faults == {}


def test_mlflow(elsewhere: Misbehaving) -> None:
    tags = [{"key": "mlflow.prompt.text", "value": "Be kind."}, {"key": NAME, "value": VALUE}]
    for model, version in (
        ({NAME: VALUE}, {}),
        ({"tags": tags}, {}),
        ({}, {NAME: VALUE}),
        ({}, {"tags": tags}),
        ({}, {"tags": [{"key": "_mlflow_prompt_model_config", "value": json.dumps({NAME: VALUE})}]}),
    ):
        versions = [{"name": "tone", "version": "1", **version}]
        versions[0]["tags"] = [*tags[:1], *versions[0].get("tags", [])]
        elsewhere.does(
            answering(
                {
                    "/api/2.0/mlflow/registered-models/search": {
                        "registered_models": [{"name": "tone", **model}]
                    },
                    "/api/2.0/mlflow/model-versions/search": {"model_versions": versions},
                }
            )
        )
        assert silent(collect("mlflow", elsewhere.url), "") == ""


def test_what_a_row_of_a_table_has_besides_its_prompt_is_kept(desk: Desk) -> None:
    desk.write("p.csv", "prompt,label,author\nAnswer {{q}},one,Ann\n")
    config = {"prompts": ["file://p.csv"], "tests": [{"vars": {"q": "a"}}]}
    plan = desk.plan("promptfoo", desk.write("promptfooconfig.json", config))
    [agent] = plan["resources"]
    assert agent["metadata"]["import"]["prompt"] == {"author": "Ann"}
    assert [loss for loss in plan["losses"] if loss["code"] == "column"]
