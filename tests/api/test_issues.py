"""Issues name fields by the caller's own names, one issue for each field, in sentences of the editor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import get_resolver
from pydantic import BaseModel

from tests.support.api import SCORERS, Api
from tests.support.datasets import add_item, make_dataset
from tests.support.experiments import make_experiment
from versioning.api.schemas import RequestSchema
from versioning.domain.config import raise_for_issues
from versioning.domain.errors import Invalid

RULES = "'allPass', 'passRate', 'notWorse', 'nonInferior', 'noNewFailures', 'maxTokens'"
SCORER = {"id": "half", "name": "Half", "type": "equals"}
LABEL = {"experimentId": "e", "itemId": "i", "name": "ok"}
SCORE = {"scorerId": "s", "runId": "r", "entityId": "e", "score": 1}
IN_WORDS: dict[str, tuple[str, Any, dict[str, str]]] = {
    "no member of the rule": ("/gates", {"rules": [{"rule": "passRate"}]}, {"rules.0.min": "is required"}),
    "no such rule": ("/gates", {"rules": [{"rule": "nope"}]}, {"rules.0": f"'rule' must be one of: {RULES}"}),
    "no rule": ("/gates", {"rules": [{}]}, {"rules.0": "'rule' is required"}),
    "rule of another type": ("/gates", {"rules": [5]}, {"rules.0": "must be an object"}),
    "member named as the rule": (
        "/gates",
        {"rules": [{"rule": "passRate", "min": 7, "passRate": {"min": 7}}]},
        {"rules.0.min": "must be at most 1.0", "rules.0.passRate": "is not a field that can be set here"},
    ),
    "policy of another type": (
        "/gates",
        {"datasetPolicy": 1.5},
        {"datasetPolicy": "must be a whole number, or must be one of: 'latest'"},
    ),
    "policy out of range": ("/gates", {"datasetPolicy": 0}, {"datasetPolicy": "must be at least 1"}),
    "no rate": (
        SCORERS.path,
        {**SCORER, "defaultSampling": {"type": "ratio"}},
        {"defaultSampling.rate": "is required"},
    ),
    "a rate within a member named as the type": (
        SCORERS.path,
        {**SCORER, "defaultSampling": {"type": "ratio", "ratio": 1}},
        {
            "defaultSampling.rate": "is required",
            "defaultSampling.ratio": "is not a field that can be set here",
        },
    ),
    "value of another type": (
        "/labels",
        {**LABEL, "value": {"float": 1}},
        {"value": "must be true or false, or must be a number, or must be text"},
    ),
    "score of another type": (
        "/scores",
        {"score": {**SCORE, "score": "high"}},
        {"score.score": "must be a number"},
    ),
    "long text": (
        "/scores",
        {"score": {**SCORE, "runId": "r" * 201}},
        {"score.runId": "must have at most 200 characters"},
    ),
}


@pytest.mark.parametrize(("path", "body", "expected"), IN_WORDS.values(), ids=IN_WORDS.keys())
def test_an_issue_names_the_field_that_was_sent(
    alice: Api, path: str, body: Any, expected: dict[str, str]
) -> None:
    answer = alice.post(path, body)
    assert answer.status == 400
    sent = {name.partition(".")[0] for name in expected}
    issues = [issue for issue in answer.body["issues"] if issue["field"].partition(".")[0] in sent]
    assert {issue["field"]: issue["message"] for issue in issues} == expected
    assert len(issues) == len(expected)


def test_an_issue_of_a_scorer_to_run_names_its_place(alice: Api) -> None:
    dataset = make_dataset(alice)
    add_item(alice, dataset)
    experiment = make_experiment(alice, dataset)
    answer = alice.post(f"{experiment}/score", {"scorerIds": ["", 7, {}, {"id": 5}]})
    assert {issue["field"]: issue["message"] for issue in answer.body["issues"]} == {
        "scorerIds.0": "must not be blank",
        "scorerIds.1": "must be text, or must be an object",
        "scorerIds.2.id": "is required",
        "scorerIds.3.id": "must be text",
    }


WRONG = (None, True, 0, 1.5, "", "nope", "x" * 300, "a\nb", [], [5], [{}], {}, {"type": "nope"}, {"str": 1})


def schemas(base: type[BaseModel] = RequestSchema) -> Iterator[type[BaseModel]]:
    for schema in base.__subclasses__():
        yield schema
        yield from schemas(schema)


def wrong_values(schema: dict[str, Any], components: dict[str, Any], depth: int = 0) -> Iterator[Any]:
    """Yield the wrong values, alone and as each member of a value that the schema describes."""
    schema = components.get(schema.get("$ref", "").rpartition("/")[2], schema)
    yield from WRONG
    if depth == 5:
        return
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    for branch in branches:
        yield from wrong_values(branch, components, depth + 1)
    members = schema.get("properties", {})
    fixed = {name: member["const"] for name, member in members.items() if "const" in member}
    yield fixed
    for name, member in members.items():
        yield from ({**fixed, name: value} for value in wrong_values(member, components, depth + 1))
    if "items" in schema:
        yield from ([value] for value in wrong_values(schema["items"], components, depth + 1))


def is_sent(field: str, body: Any) -> bool:
    """Whether the body has this field, or the object that misses it."""
    value, *_, name = body, *field.split(".")
    for part in field.split(".")[:-1]:
        value = value[int(part)] if isinstance(value, list) else value.get(part)
    return isinstance(value, dict) or (isinstance(value, list) and int(name) < len(value))


def test_every_body_gets_issues_of_its_own_fields() -> None:
    assert get_resolver().url_patterns, "which imports every schema"
    wrong = []
    for schema in schemas():
        document = schema.model_json_schema()
        for body in wrong_values(document, document.get("$defs", {})):
            if not isinstance(body, dict):
                continue
            try:
                raise_for_issues(schema, body)
            except Invalid as error:
                fields = [issue.field for issue in error.issues]
                messages = " ".join(issue.message for issue in error.issues)
                is_right = len(fields) == len(set(fields)) and all(is_sent(field, body) for field in fields)
                if not is_right or "nput " in messages or "should" in messages:
                    wrong.append((schema.__name__, body, error.issues))
    assert not wrong, wrong[:3]
