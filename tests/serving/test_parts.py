"""Agents in parts: evaluated by a client, they equal the server's answer character by character."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import AsyncRequestFactory, override_settings
from editor_client import ValidationFailed, context_schema
from editor_client.errors import CannotEvaluate
from editor_client.parts import UNCHECKED, evaluate
from editor_client.shared import conditions
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.conftest import Cast
from tests.support.api import AGENTS, PROMPT_BLOCKS, Answer, Api
from tests.support.calls import undone
from tests.support.evaluation import BLOCK_IDS, agent_configs, block_configs, context_schemas, contexts
from tests.support.override_files import Folder
from tests.support.served import FOR_GOLD, ask, published_agent, published_block, reference, text
from versioning.api.agents import ServedAgentViewSet
from versioning.conf import get_editor
from versioning.domain import context_schema as server

VECTORS = json.loads((Path(__file__).parent / "vectors" / "parts.json").read_text(encoding="utf-8"))
KEYS = [
    *("id", "resolvedVersionId", "selector", "source", "config", "promptBlocks", "rollout", "blockRollouts"),
    *("requestContextSchema", "status", "metadata", "activeVersionId", "fallback", "omittedBlocks"),
]
UNHURRIED = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def parts_of(api: Api, agent_id: str = "writer", **query: str) -> dict[str, Any]:
    answer = ask(api, agent_id, form="parts", **query)
    assert answer.status == 200, answer.body
    return dict(answer.body)


def evaluated(parts: dict[str, Any], context: Any) -> tuple[int, str]:
    """Evaluate as a client does, and return the status and the text that the server would return."""
    try:
        return 200, json.dumps(evaluate(parts, context))
    except ValidationFailed as refusal:
        return 400, json.dumps(refusal.details)


def agree(api: Api, context: Any, agent_id: str = "writer", **query: str) -> Answer:
    """Evaluate an agent on both sides, and return the server's answer, which equals the uncached one."""
    parts, answer = parts_of(api, agent_id, **query), ask(api, agent_id, context, **query)
    with override_settings(EDITOR_CACHE_BYTES=0):
        uncached = ask(api, agent_id, context, **query)
    assert evaluated(parts, context) == (uncached.status, json.dumps(uncached.body))
    for again in (answer, ask(api, agent_id, context, **query)):
        assert (again.status, json.dumps(again.body)) == (uncached.status, json.dumps(uncached.body))
        assert again.headers.get("ETag") == uncached.headers.get("ETag")
    return answer


def save_block(api: Api, block_id: str, block: dict[str, Any]) -> None:
    config = {name: block[name] for name in ("content", "rules") if name in block}
    made = {"id": block_id, "name": "Block", "autoPublish": block.get("published", True), **config}
    assert api.post(PROMPT_BLOCKS.path, made).status == 201


def test_client_and_server_evaluate_the_vectors_identically(alice: Api) -> None:
    for vector in VECTORS:
        with undone():
            _evaluated_alike(alice, vector)


def _evaluated_alike(alice: Api, vector: dict[str, Any]) -> None:
    for block_id, block in vector["blocks"].items():
        save_block(alice, block_id, block)
    made = alice.post(AGENTS.path, {"id": "writer", "autoPublish": False, **vector["agent"]})
    assert made.status == 201, made.body
    for case in vector["cases"]:
        expected = {name: value for name, value in case.items() if name not in {"context", "server"}}
        if case.get("server"):
            with pytest.raises(CannotEvaluate):
                evaluate(parts_of(alice, label="latest"), case["context"])
            found = ask(alice, context=case["context"], label="latest").body
            unchecked = {**found, "warnings": [UNCHECKED]}
            assert evaluate(parts_of(alice, label="latest"), case["context"], offline=True) == unchecked
        else:
            # The published blocks that a version shows, which is not a draft's to choose.
            query = {"versionId": made.body["latestVersionId"]}
            found = agree(alice, case["context"], **query).body
        found["placeholders"] = [
            path for warning in found["warnings"] for path in warning.get("placeholders", ())
        ]
        found["warnings"] = [warning["code"] for warning in found["warnings"]]
        found["reasons"] = [block["reason"] for block in found["blocks"]]
        assert {name: found[name] for name in expected} == expected, (vector["name"], case)


@settings(UNHURRIED, max_examples=25)
@given(agent_configs, st.tuples(block_configs, block_configs), st.lists(contexts, max_size=4))
def any_agent_in_any_context(api: Api, numbers: Iterator[int], config: Any, blocks: Any, given: Any) -> None:
    """Make an agent with its own blocks, and evaluate its draft."""
    number = next(numbers)
    for block_id, block in zip(BLOCK_IDS, blocks, strict=False):
        save_block(api, f"{block_id}{number}", block)
    for block in config["instructions"]:
        if block.get("id") in BLOCK_IDS[:2]:
            block["id"] += str(number)
    agent_id = f"writer{number}"
    made = api.post(AGENTS.path, {**config, "id": agent_id, "autoPublish": False})
    assert made.status == 201, made.body
    for context in [{}, *given]:
        agree(api, context, agent_id, versionId=made.body["latestVersionId"])


@pytest.mark.usefixtures("committed_db")  # nothing is cached within a transaction
def test_client_and_server_evaluate_random_agents_identically(alice: Api) -> None:
    save_block(alice, "draft", {"content": "draft", "published": False})
    any_agent_in_any_context(alice, count())
    assert get_editor().cache.bytes_used


@settings(UNHURRIED, max_examples=50)
@given(context_schemas, contexts)
@example({"properties": {"a": False}}, {"a": None})
@example({"additionalProperties": False}, {"a": None})
def test_client_and_server_refuse_the_same_contexts_with_the_same_messages(schema: Any, context: Any) -> None:
    assert context_schema.refusals(schema, context) == server.refusals(schema, context)


DRAFT_7 = "http://json-schema.org/draft-07/schema#"
SELF = {"$ref": "#/$defs/one"}
ONLY_FOR_THE_SERVER: list[dict[str, Any]] = [
    {"properties": {"a": {"pattern": "x"}}},
    {"x-own": 1},
    {"$schema": "http://json-schema.org/draft-04/schema#"},
    # A reference in a dialect that ignores the keywords next to it.
    {"$schema": DRAFT_7, "definitions": {"one": {}}, "$ref": "#/definitions/one"},
    {"$ref": "#"},
    {"$ref": "#/$defs/gone"},
    {**SELF, "$defs": {"one": SELF}},
    {"type": "objekt"},
    {"required": "a"},
    {"properties": {"a": 1}},
    {"properties": {"a": {"items": {"type": "integer"}}}},  # too many values to check
]


def test_a_client_leaves_schemas_that_it_cannot_check_to_the_server() -> None:
    for schema in ONLY_FOR_THE_SERVER:
        with pytest.raises(CannotEvaluate):
            context_schema.refusals(schema, {"a": [1] * 10_001})


def test_a_client_checks_schemas_of_the_seventh_draft_too() -> None:
    schema, context = {"$schema": DRAFT_7, "required": ["b"], "properties": {"a": {"type": "null"}}}, {"a": 1}
    found = context_schema.refusals(schema, context)
    assert found == server.refusals(schema, context)
    assert {issue.field for issue in found} == {"requestContext.a", "requestContext.b"}


def test_the_parts_are_the_stored_unevaluated_fields(alice: Api) -> None:
    instructions = [text("{{ a }}"), reference("tone"), reference("tone"), reference("gone")]
    version = published_block(alice, "tone", "Be {{ manner }}.", rules=FOR_GOLD)
    schema = {"type": "object"}
    model = [{"value": {"provider": "echo", "name": "echo"}, "rules": FOR_GOLD}]
    made = AGENTS.make(
        alice,
        "writer",
        instructions,
        model=model,
        memory={"a": 1},
        requestContextSchema=schema,
        metadata={"k": 1},
    )
    parts = parts_of(alice, status="draft")
    assert list(parts) == KEYS
    assert parts == {
        "id": "writer",
        "resolvedVersionId": made["latestVersionId"],
        "selector": {"status": "draft"},
        "source": "stored",
        "config": {"name": "Writer", "instructions": instructions, "model": model},
        "promptBlocks": {
            "gone": None,
            "tone": {"versionId": version, "content": "Be {{ manner }}.", "rules": FOR_GOLD},
        },
        "rollout": None,
        "blockRollouts": {},
        "requestContextSchema": schema,
        "status": "draft",
        "metadata": {"k": 1},
        "activeVersionId": None,
        "fallback": None,
        "omittedBlocks": {"gone": "missing"},
    }


def test_the_parts_have_an_address_of_their_own(alice: Api) -> None:
    published_agent(alice, "team/writer", [text("{{ a }}")])
    parts = alice.get("/agents/team/writer/parts")
    assert (parts.status, parts.body) == (200, parts_of(alice, "team/writer"))
    known = alice.request("GET", "/agents/team/writer/parts", if_none_match=parts.etag)
    assert (known.status, alice.get("/agents/none/parts").code) == (304, "not_found")
    assert alice.get("/agents/team/writer/parts", form="parts").fields == ["form"]


def test_an_agent_whose_id_ends_with_the_word_keeps_working(alice: Api) -> None:
    published_agent(alice, "team/pages", "one")
    refused = alice.post(AGENTS.path, AGENTS.body(id="team/parts"))
    assert (refused.status, refused.fields) == (400, ["id"])
    rename = "UPDATE versioning_{} SET {} = 'team/parts' WHERE {} = 'team/pages'"
    with connection.constraint_checks_disabled(), connection.cursor() as cursor:
        for table, column in (("agent", "id"), ("agentversion", "resource_id")):
            cursor.execute(rename.format(table, column, column))
    sent = {"REQUEST_URI": "/api/agents/team%2Fparts", "HTTP_AUTHORIZATION": f"Bearer {alice.key}"}
    served = alice.client.get("/api/agents/team/parts", **sent)
    assert (served.status_code, served.json()["instructions"]) == (200, "one")
    for query in ("form=parts", "requestContext=e30", "form=parts&requestContext=e30"):
        served = alice.client.get(f"/api/agents/team/parts?{query}", **sent)
        assert served.status_code == 200, (query, served.content)
        assert ("instructions" in served.json()) == ("form" not in query)
    asgi = AsyncRequestFactory().get(
        "/api/agents/team/parts", headers={"authorization": f"Bearer {alice.key}"}
    )
    asgi.scope["raw_path"] = b"/api/agents/team%2Fparts"
    served = ServedAgentViewSet.as_view({"get": "parts"})(asgi, id="team")
    assert (served.status_code, served.data["instructions"]) == (200, "one")
    assert alice.get("/stored/agents/team%2Fparts").status == 200
    assert alice.get("/agents/team/parts").status == 404  # the parts of `team`


def test_an_unknown_form_is_refused_and_the_context_does_not_affect_the_parts(alice: Api) -> None:
    published_agent(alice, "writer", [text("{{ a }}")])
    for form in ("whole", ""):
        answer = ask(alice, form=form)
        assert (answer.status, answer.fields) == (400, ["form"])
    assert ask(alice, context={"a": "x"}, form="parts").etag == ask(alice, form="parts").etag
    assert ask(alice, requestContext="?", form="parts").fields == ["requestContext"]
    assert alice.get("/agents", form="parts").fields == ["form"]


def test_a_publish_of_a_block_is_in_the_next_parts(alice: Api) -> None:
    published_block(alice, "tone", "Be kind.")
    published_agent(alice, "writer", [reference("tone")])
    first = ask(alice, form="parts")
    unchanged = alice.request("GET", "/agents/writer", query={"form": "parts"}, if_none_match=first.etag)
    assert (unchanged.status, unchanged.body) == (304, None)
    PROMPT_BLOCKS.save(alice, "tone", "Be brief.", autoPublish=True)
    second = alice.request("GET", "/agents/writer", query={"form": "parts"}, if_none_match=first.etag)
    assert (second.status, second.body["promptBlocks"]["tone"]["content"]) == (200, "Be brief.")


def test_callers_get_parts_of_readable_versions_only(cast: Cast) -> None:
    published_block(cast.alice, "tone", "Be kind.")
    PROMPT_BLOCKS.save(cast.alice, "tone", "Not for everyone.")
    published_agent(cast.alice, "writer", [text("one"), reference("tone")], visibility="public")
    draft = AGENTS.save(cast.alice, "writer", [text("two"), reference("tone")])["latestVersionId"]
    released = {"versionId": draft, "released": True}
    assert cast.alice.put("/stored/agents/writer/labels/next", released).status == 200
    by_label = ({"label": name} for name in ("latest", "production", "next", "gone"))
    for query in ({}, {"status": "draft"}, {"versionId": draft}, *by_label):
        for name in ("alice", "edgar", "vera", "charlie", "nobody"):
            api: Api = getattr(cast, name)
            whole, parts = ask(api, **query), ask(api, form="parts", **query)
            assert parts.status == whole.status, (name, query)
            if whole.status == 200:
                agree(api, {"a": 1}, **query)
                shown = json.dumps(parts.body)
                assert ("Not for everyone." in shown) == ("Not for everyone." in json.dumps(whole.body))
            else:
                assert parts.body == whole.body


def test_parts_do_not_contain_a_private_block_of_another_workspace(cast: Cast) -> None:
    published_block(cast.alice, "tone", "Secret.", workspaceId="acme")
    body = {"id": "mine", "workspaceId": "elsewhere", "visibility": "public", "autoPublish": False}
    made = cast.charlie.post(AGENTS.path, AGENTS.body([text("."), reference("tone")], **body))
    assert made.status == 201, made.body
    parts = parts_of(cast.charlie, "mine", status="draft")
    assert (parts["promptBlocks"], parts["omittedBlocks"]) == ({"tone": None}, {"tone": "missing"})
    agree(cast.charlie, {}, "mine", status="draft")


def test_parts_of_agents_in_code_and_in_files(alice: Api, folder: Folder) -> None:
    assert agree(alice, {}, "answers").body["instructions"] == "code"
    assert parts_of(alice, "answers")["source"] == "code"
    block = {"type": "prompt_block", "content": "For {{ tier }}.", "rules": FOR_GOLD}
    folder.put({"instructions": [text("file"), block]})
    assert agree(alice, {"tier": "gold"}, "answers").body["instructions"] == "file\n\nFor gold."
    folder.put({"instructions": "changed"})
    assert parts_of(alice, "answers")["config"]["instructions"] == "changed"


COSTLY = {"operator": "OR", "conditions": [{"field": "v", "operator": "contains", "value": "b"}] * 9_000}


def test_client_and_server_have_the_same_limits(alice: Api) -> None:
    published_block(alice, "costly", "x", rules=COSTLY)
    published_agent(alice, "writer", [text("{{ v }}" * 4_100), reference("costly")])
    for length, code in ((4_200, "instructions_too_long"), (4_000, "evaluation_too_costly")):
        answer = agree(alice, {"v": "a" * length})
        assert (answer.status, answer.code) == (400, code)
    assert agree(alice, {"v": "a"}).status == 200


def test_the_limit_on_text_of_a_request_applies_to_parts_too(
    alice: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    published_block(alice, "long", "x" * 2_000)
    published_agent(alice, "writer", [reference("long")])
    assert agree(alice, {}).status == 200
    monkeypatch.setattr(conditions, "MAX_CHARACTERS_READ", 1_000)
    for answer in (ask(alice), ask(alice, form="parts")):
        assert (answer.status, answer.code, answer.fields) == (400, "evaluation_too_costly", ["instructions"])


def test_a_context_that_is_not_json_is_refused(alice: Api) -> None:
    published_agent(alice)
    parts = parts_of(alice)
    for value in ("\0", "\ud800", float("nan"), object()):
        with pytest.raises(ValidationFailed) as refusal:
            evaluate(parts, {"a": value})
        assert [issue.field for issue in refusal.value.issues] == ["requestContext"]
    given = get_editor().agent.parts("writer")
    assert (given.config["instructions"], given.texts) == ("one", {})
