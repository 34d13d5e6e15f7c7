"""`GET /agents`, and the request context that every read may bring along."""

from __future__ import annotations

import base64
import json
from itertools import product
from typing import Any
from urllib.parse import quote

import pytest

from tests.conftest import Cast
from tests.support.api import AGENTS, Api
from tests.support.served import (
    FOR_GOLD,
    ask,
    encoded,
    published_agent,
    published_block,
    reference,
    served,
    text,
)


def base64_of(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


NO_CONTEXTS = {
    "empty": "",
    "plain JSON": '{"a": 1}',
    "not base64": "a*b=",
    "half of it": base64_of(b'{"a": 1}')[:-3],
    "a list": encoded([1]),
    "null": encoded(None),
    "half an object": base64_of(b'{"a": 1'),
    "a key twice": base64_of(b'{"a": 1, "a": 2}'),
    "broken UTF-8": base64_of(b'{"a": "\xff"}'),
    "NUL": base64_of(rb'{"a": "\u0000"}'),
    "too deep": base64_of(b'{"a":' + b"[" * 64 + b"]" * 64 + b"}"),
    "far too deep": base64_of(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
}


def listed(api: Api, **query: Any) -> dict[str, Any]:
    answer = api.get("/agents", **query)
    assert answer.status == 200, answer.body
    return dict(answer.body)


def some_agents(api: Api) -> None:
    """Make one agent with a block and a condition, one in a folder, and a draft."""
    published_block(api, "tone", "Be {{ mood || 'kind' }}.")
    published_agent(api, "writer", [text("Write."), reference("tone")], tools={"clock": {"rules": FOR_GOLD}})
    published_agent(api, "team/reader", "Read.")
    AGENTS.save(api, "team/reader", "Read drafts.")
    AGENTS.make(api, "unborn", [text("Later."), reference("tone")])


@pytest.mark.parametrize("context", [{}, {"tier": "gold", "mood": "strict"}])
def test_the_list_holds_each_agent_exactly_as_a_single_read_does(cast: Cast, context: dict[str, Any]) -> None:
    some_agents(cast.alice)
    for reader, ids in (
        (cast.alice, {"writer", "team/reader", "unborn"}),
        (cast.vera, {"writer", "team/reader"}),
        (cast.charlie, set()),
    ):
        agents = listed(reader, requestContext=encoded(context))
        assert agents == {agent_id: served(reader, agent_id, context) for agent_id in ids}


def test_the_list_holds_published_versions_and_flags_fallbacks(alice: Api) -> None:
    some_agents(alice)
    agents = listed(alice)
    assert agents["team/reader"]["instructions"] == "Read."
    assert {agent_id: bool(agent["fallback"]) for agent_id, agent in agents.items()} == {
        "writer": False,
        "team/reader": False,
        "unborn": True,
    }


def test_the_list_holds_public_agents_of_other_workspaces_and_never_their_drafts(cast: Cast) -> None:
    published_agent(cast.alice, visibility="public")
    AGENTS.save(cast.alice, text="secret")
    AGENTS.make(cast.alice, "unborn", visibility="public")
    agents = listed(cast.charlie)
    assert {agent_id: agent["instructions"] for agent_id, agent in agents.items()} == {"writer": "one"}


def test_a_partial_list_leaves_the_instructions_out(alice: Api) -> None:
    some_agents(alice)
    whole, partial = listed(alice, partial="false"), listed(alice, partial="true")
    assert set(partial) == set(whole)
    for agent_id, agent in whole.items():
        assert "instructions" not in partial[agent_id]
        assert partial[agent_id].items() <= agent.items()
        assert {"id", "name", "tools", "status", "resolvedVersionId"} <= set(partial[agent_id])


def test_the_list_refuses_an_unknown_parameter(alice: Api) -> None:
    for name in ("status", "versionId", "label", "page", "perPage", "bogus"):
        refused = alice.get("/agents", **{name: "1"})
        assert (refused.status, refused.fields) == (400, [name])


def test_a_context_that_is_not_an_object_in_base64_is_refused(alice: Api) -> None:
    published_agent(alice)
    for (name, context), path in product(NO_CONTEXTS.items(), ("/agents/writer", "/agents")):
        refused = alice.get(path, requestContext=context)
        assert (refused.status, refused.code, refused.fields) == (
            400,
            "validation_failed",
            ["requestContext"],
        ), name
    twice = alice.get(f"/agents/writer?requestContext={encoded({})}&requestContext={encoded({})}")
    assert (twice.status, twice.fields) == (400, ["requestContext"])
    for allowed in ({}, {"a": "\U0001f600"}, {"deep": json.loads("[" * 63 + "]" * 63)}):
        assert ask(alice, context=allowed).status == 200


def test_a_context_is_read_in_every_form_that_base64_has(alice: Api) -> None:
    published_agent(alice, "writer", [text("{{ word }}")])
    context = {"word": "~?>ÿ?~>ÿþ", "more": "1"}
    exact = base64_of(json.dumps(context, ensure_ascii=False).encode())
    assert {"+", "/", "="} <= set(exact)
    url_safe = exact.replace("+", "-").replace("/", "_")
    forms = [
        quote(exact),
        exact,
        quote(url_safe),
        url_safe.rstrip("="),
        quote(f"{exact[:8]}\r\n{exact[8:]}\n"),
    ]
    for form in forms:
        answer = alice.get(f"/agents/writer?requestContext={form}")
        assert (answer.status, answer.body.get("instructions")) == (200, context["word"]), form
    assert alice.get("/stored/agents?requestContext=!").fields == ["requestContext"]


def test_a_context_grants_nothing(cast: Cast) -> None:
    AGENTS.make(cast.alice)
    pretence = {"user": "alice", "role": "admin", "workspaceId": "acme", "everywhere": "admin"}
    assert ask(cast.vera, context=pretence).status == 404
    assert ask(cast.charlie, context=pretence, status="draft").status == 404
