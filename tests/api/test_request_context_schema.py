"""`requestContextSchema`: which schemas can be saved, and where they are enforced."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.support.api import AGENTS, Api, Kind
from tests.support.code import ECHO
from tests.support.runs import noticed, run
from tests.support.served import published_agent, published_block, reference, served
from versioning.models import AgentVersion
from versioning.models.guarded import unguard

SCHEMA = {
    "type": "object",
    "required": ["topic"],
    "properties": {"topic": {"type": "string", "maxLength": 8}, "tier": {"enum": ["gold", "silver"]}},
    "additionalProperties": False,
}
NO_SCHEMAS: dict[str, tuple[Any, str]] = {
    "an unknown type": ({"type": "objekt"}, "type"),
    "a problem deep inside": ({"properties": {"a": {"required": "b"}}}, "properties.a.required"),
    "an unknown dialect": ({"$schema": "http://example.com/own"}, "$schema"),
    "another dialect inside": (
        {"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}},
        "properties.a.$schema",
    ),
    "a reference out of it": ({"items": {"$ref": "http://127.0.0.1/schema.json"}}, "items.$ref"),
    "a reference into a file": ({"$ref": "file:///etc/passwd"}, "$ref"),
    "a reference to nothing": ({"$ref": "#/$defs/gone"}, "$ref"),
    "no regular expression": ({"properties": {"a": {"pattern": "("}}}, "properties.a.pattern"),
    "no regular expression as a name": ({"patternProperties": {"[": {}}}, "patternProperties"),
    "a pattern that is too long": ({"pattern": "a" * 1001}, "pattern"),
    "a pattern that calls itself": ({"pattern": "(?:(?R)|a)*$"}, "pattern"),
    "a pattern that looks around": ({"properties": {"a": {"pattern": r"^(?=.*\d)"}}}, "properties.a.pattern"),
    "a pattern that refers back": ({"patternProperties": {r"(a)\1": {}}}, "patternProperties"),
    "a pattern that multiplies": ({"pattern": "(?:(?:a{100}){100}){100}"}, "pattern"),
    "one that is too large": ({"description": "x" * 263_000}, ""),
    "what could not be stopped": ({"unevaluatedProperties": False, "patternProperties": {"a": {}}}, ""),
}


def test_an_invalid_schema_cannot_be_saved(alice: Api, kind: Kind) -> None:
    kind.make(alice)
    for what, (schema, place) in NO_SCHEMAS.items():
        field = ".".join(filter(None, ["requestContextSchema", place]))
        made = alice.post(kind.path, kind.body(id="new", requestContextSchema=schema))
        saved = alice.patch(kind.url("writer"), {"requestContextSchema": schema})
        for answer in (made, saved):
            assert (answer.status, answer.fields) == (400, [field]), what
    assert len(kind.versions(alice)) == 1


def test_older_drafts_of_json_schema_are_accepted(alice: Api, kind: Kind) -> None:
    for draft in ("draft-04/schema#", "draft-06/schema", "draft-07/schema#"):
        schema = {"$schema": f"http://json-schema.org/{draft}", **SCHEMA, "definitions": {"a": {"$ref": "#"}}}
        made = kind.make(alice, draft[:8], requestContextSchema=schema)
        assert made["requestContextSchema"] == schema


REFUSED: list[tuple[Any, list[str]]] = [
    (None, ["requestContext.topic"]),
    ({}, ["requestContext.topic"]),
    ({"topic": 5}, ["requestContext.topic"]),
    ({"topic": "much too long"}, ["requestContext.topic"]),
    ({"topic": "x", "tier": "lead", "more": 1}, ["requestContext.more", "requestContext.tier"]),
    ({"topic": "x", "plan": "free"}, ["requestContext.plan"]),
]


@pytest.mark.parametrize("verb", ["generate", "stream"])
def test_a_run_with_a_context_that_the_schema_refuses_is_a_400(alice: Api, verb: str) -> None:
    without_plan = SCHEMA | {"properties": {**SCHEMA["properties"], "plan": False}}
    published_agent(alice, model=ECHO, requestContextSchema=without_plan)
    for context, members in REFUSED:
        given = {} if context is None else {"requestContext": context}
        answer = run(alice, verb=verb, **given)
        assert (answer.status, answer.code, answer.fields) == (400, "request_context_invalid", members)
    assert run(alice, requestContext={"topic": "x", "tier": "gold"}).status == 200
    with_versions = {"topic": "x", "versions": {"defaultStatus": "published"}}
    assert run(alice, requestContext=with_versions).status == 200, "selectors are no member of the context"


def test_the_refusal_names_the_sub_agent_whose_schema_refuses_the_context(alice: Api) -> None:
    published_agent(alice, "notes", model=ECHO, requestContextSchema=SCHEMA)
    published_agent(alice, model=ECHO, agents={"notes": {}})
    answer = run(alice, requestContext={"topic": 5})
    assert (answer.status, answer.code, answer.fields) == (
        400,
        "request_context_invalid",
        ["requestContext.topic"],
    )
    assert "'notes'" in answer.body["error"]
    assert run(alice, requestContext={"topic": "x"}).status == 200


def test_the_schema_of_the_version_that_runs_is_enforced(alice: Api) -> None:
    published_agent(alice, model=ECHO)
    AGENTS.save(alice, text="two", requestContextSchema=SCHEMA)
    assert run(alice).status == 200
    assert run(alice, query={"status": "draft"}).code == "request_context_invalid"


def test_reading_an_agent_with_a_refused_context_succeeds_with_a_warning(alice: Api) -> None:
    published_agent(alice, instructions="about {{ topic }}", requestContextSchema=SCHEMA)
    answer = served(alice)
    assert noticed(answer) == [("request_context_invalid", "requestContext.topic")]
    assert noticed(alice.get("/agents").body["writer"]) == noticed(answer)
    assert served(alice, context={"topic": "x"})["warnings"] == []


def test_a_preview_with_a_refused_context_succeeds_with_a_warning(alice: Api) -> None:
    published_block(alice, "tone", "Be {{ topic }}.", requestContextSchema=SCHEMA)
    body: dict[str, Any] = {"blocks": [reference("tone")], "context": {"topic": 5}}
    answer = alice.post("/stored/agents/preview-instructions", body)
    assert (answer.status, answer.body["result"]) == (200, "Be 5.")
    assert noticed(answer.body) == [("request_context_invalid", "requestContext.topic")]
    assert "'tone'" in answer.body["warnings"][0]["message"]
    body["context"] = {"topic": "kind"}
    assert "warnings" not in alice.post("/stored/agents/preview-instructions", body).body


def test_the_schema_of_a_block_does_not_apply_to_agents_that_use_it(alice: Api) -> None:
    published_block(alice, "tone", "Be kind.", requestContextSchema=SCHEMA)
    published_agent(alice, instructions=[reference("tone")], model=ECHO)
    assert run(alice).status == 200


def test_an_agent_saved_with_an_invalid_schema_earlier_runs_and_can_be_edited(alice: Api) -> None:
    published_agent(alice, model=ECHO, requestContextSchema=SCHEMA)
    broken = AgentVersion.objects.get().config_json.replace('"object"', '"objekt"')
    unguard(AgentVersion.objects.all()).update(config_json=broken)
    answer = run(alice)
    assert answer.status == 200
    assert noticed(answer.body) == [("request_context_unchecked", "requestContextSchema")]
    assert AGENTS.save(alice, text="two")["requestContextSchema"]["type"] == "objekt"


LAUGHING = {
    "$ref": "#/$defs/0",
    "$defs": {
        "40": {},
        **{str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)},
    },
}
HOSTILE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "references that double": (LAUGHING, {"a": 1}),
    "a reference to itself": ({"$ref": "#/properties/a"}, {"a": 1}),
    "many members that are unevaluated": (
        {"unevaluatedProperties": False},
        {"a": {str(number): 1 for number in range(50_000)}},
    ),
}


@pytest.mark.parametrize(("schema", "context"), HOSTILE.values(), ids=HOSTILE)
def test_no_schema_takes_more_than_its_time(
    alice: Api, schema: dict[str, Any], context: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    member = {name: value for name, value in schema.items() if name != "$defs"}
    published_agent(alice, model=ECHO, requestContextSchema={"properties": {"a": member}, **definitions})
    monkeypatch.setattr("versioning.domain.context_schema.SECONDS", 0.05)
    answer = run(alice, requestContext=context)
    assert (answer.status, answer.code, answer.fields) == (400, "request_context_invalid", ["requestContext"])


LONG = " " * 300_000 + "x"
OLD_PATTERNS: dict[str, tuple[dict[str, Any], Any, list[str] | None]] = {
    "that backtracks": ({"pattern": r"(?=\s+$)"}, " " * 9_000 + "x", ["requestContext"]),
    "in a name": ({"patternProperties": {r"(?=\s+$)": {}}}, {" " * 9_000 + "x": 1}, ["requestContext"]),
    "for a long text": ({"pattern": "(?=a)"}, LONG, ["requestContext"]),
    "that does not match": ({"pattern": "(?=a)"}, "b", ["requestContext.a"]),
    "that matches": ({"pattern": "(?=a)"}, "a", []),
    "that calls itself": ({"pattern": "(?:(?R)|a)*$"}, "a" * 300_000, None),
}


@pytest.mark.parametrize(("member", "value", "fields"), OLD_PATTERNS.values(), ids=OLD_PATTERNS)
def test_a_pattern_that_was_stored_before_patterns_had_to_be_linear(
    alice: Api,
    member: dict[str, Any],
    value: Any,
    fields: list[str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    published_agent(alice, model=ECHO, requestContextSchema={"properties": {"a": {}}})
    version = AgentVersion.objects.get()
    old = version.config_json.replace('"properties":{"a":{}}', f'"properties":{{"a":{json.dumps(member)}}}')
    assert old != version.config_json
    unguard(AgentVersion.objects.all()).update(config_json=old)
    monkeypatch.setattr("versioning.domain.context_schema.SECONDS", 0.1)
    answer = run(alice, requestContext={"a": value})
    if fields:
        assert (answer.code, answer.fields) == ("request_context_invalid", fields)
    else:
        notices = [] if fields == [] else [("request_context_unchecked", "requestContextSchema")]
        assert (answer.status, noticed(answer.body)) == (200, notices)
    AGENTS.save(alice, text="two")


LINEAR: list[tuple[dict[str, Any], Any, list[str]]] = [
    ({"pattern": r"\s+$"}, LONG, ["requestContext.a"]),
    ({"patternProperties": {r"\s+$": False}}, {LONG: 1}, []),
    ({"pattern": "(a|aa)+$"}, "a" * 300_000 + "b", ["requestContext.a"]),
    ({"pattern": r"^\w{1,8}$"}, "Müßig٣", []),
    ({"pattern": r"^[\w-]+\s\d\Z"}, "Jörg-é\u00a0٣", []),
    ({"pattern": r"^[\S]\W[\D]$"}, "ü ü", []),
    ({"pattern": r"^\S[^\s]$"}, "\u3000x", ["requestContext.a"]),
    ({"pattern": r"^[^]\u00e4-\u00fc][]][[:alpha:]][]x]$"}, "x]x]", []),
    ({"pattern": "^a$"}, "a\n", ["requestContext.a"]),
]


@pytest.mark.parametrize(("member", "value", "fields"), LINEAR)
def test_a_pattern_takes_linear_time_and_knows_unicode(
    alice: Api, member: dict[str, Any], value: Any, fields: list[str]
) -> None:
    published_agent(alice, model=ECHO, requestContextSchema={"properties": {"a": member}})
    began = time.thread_time()
    answer = run(alice, requestContext={"a": value})
    assert (answer.status, answer.fields if fields else []) == (400 if fields else 200, fields)
    assert time.thread_time() - began < 1  # second of processor time


def test_the_schemas_of_all_agents_in_a_list_share_one_time_limit(
    alice: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        published_agent(alice, f"laughing-{number}", requestContextSchema={**LAUGHING, "title": f"{number}"})
    monkeypatch.setattr("versioning.domain.context_schema.SECONDS", 0.2)
    began = time.thread_time()
    answer = alice.get("/agents")
    assert (answer.status, len(answer.body)) == (200, 10)
    assert time.thread_time() - began < 1  # second of processor time: one after the other they would take two


def test_unique_items_are_checked_quickly_in_long_lists(alice: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("versioning.domain.context_schema.SECONDS", 30)  # comparing all pairs takes longer
    schema = {"properties": {"a": {"uniqueItems": True}}}
    published_agent(alice, model=ECHO, requestContextSchema=schema)
    items = [{"number": number} for number in range(20_000)]
    assert run(alice, requestContext={"a": items}).status == 200
    assert run(alice, requestContext={"a": [{"n": 1}, {"n": 2}, {"n": 1.0}]}).fields == ["requestContext.a.2"]
    assert run(alice, requestContext={"a": [1, True, "1", None]}).status == 200
