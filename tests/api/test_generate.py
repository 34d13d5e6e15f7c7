"""Running an agent: what the model receives, what the agent answers, and how wrong calls are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Cast
from tests.runtime.model_server import Fails, ModelServer, running_model_server
from tests.support.api import AGENTS, Api
from tests.support.runs import OPENAI, agent, draft, noticed, ran, run, run_path, team
from tests.support.served import FOR_GOLD, encoded, published_block, reference, text

KEY = "sk-test-0123456789abcdef"
MEMBERS = {
    *("text", "finishReason", "usage", "steps", "toolCalls", "toolResults"),
    *("messages", "runId", "resolvedVersions", "rollouts", "warnings"),
}
both_verbs = pytest.mark.parametrize("verb", ["generate", "stream"])


@pytest.fixture
def support_and_supervisor(settings: Any) -> None:
    """The two agents that the demo defines in code."""
    settings.EDITOR_FRAMEWORK = "editor_project.framework.framework"


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def model_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model behind HTTP, to which the provider `openai` goes."""
    with running_model_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


# The answer


def test_the_answer_holds_everything_and_nothing_else(alice: Api) -> None:
    lead_id, writer_id = team(alice)
    answer = ran(alice, "lead")
    call, result = answer["toolCalls"][0], answer["toolResults"][0]
    assert set(answer) == MEMBERS
    assert answer["text"] == "lead\n\nhello\n\none\n\nhello"
    assert answer["finishReason"] == "stop"
    assert set(answer["usage"]) == {"inputTokens", "outputTokens", "totalTokens", "cost"}
    assert set(call) == {"toolCallId", "toolName", "args"} and call["args"] == {"message": "hello"}
    assert result == {
        "toolCallId": call["toolCallId"],
        "toolName": call["toolName"],
        "result": "one\n\nhello",
    }
    assert [step["finishReason"] for step in answer["steps"]] == ["tool-calls", "stop"]
    assert answer["messages"] == [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": answer["text"]},
    ]
    assert answer["runId"] and answer["runId"] != ran(alice, "lead")["runId"]
    assert answer["resolvedVersions"] == {"lead": lead_id, "writer": writer_id}
    assert answer["warnings"] == []


def test_the_messages_of_an_answer_continue_the_conversation(alice: Api) -> None:
    agent(alice)
    said = [*ran(alice)["messages"], {"role": "user", "content": "and now?"}]
    answer = ran(alice, messages=said)
    assert answer["text"] == "one\n\nand now?"
    assert answer["messages"] == [*said, {"role": "assistant", "content": answer["text"]}]


def test_a_call_sets_its_own_instructions_and_settings(alice: Api) -> None:
    agent(alice)
    settings = {"temperature": 0.2, "maxTokens": 100}
    assert ran(alice, instructions="Be brief.", modelSettings=settings)["text"] == "Be brief.\n\nhello"
    assert ran(alice)["text"] == "one\n\nhello"


def test_the_steps_are_limited_by_the_call_or_by_the_agent(alice: Api) -> None:
    team(alice)
    assert ran(alice, "lead")["finishReason"] == "stop"
    by_call = ran(alice, "lead", maxSteps=1)
    AGENTS.save(alice, "lead", "lead", defaultOptions={"maxSteps": 1}, autoPublish=True)
    for answer in (by_call, ran(alice, "lead")):
        assert (answer["finishReason"], len(answer["steps"])) == ("tool-calls", 1)
    assert ran(alice, "lead", maxSteps=2)["finishReason"] == "stop"


def test_templates_and_rules_see_the_request_context_at_every_level(alice: Api) -> None:
    published_block(alice, "tone", "Dear {{ user.name || 'guest' }}.")
    agent(alice, "writer", [reference("tone"), {**text("Gold."), "type": "prompt_block", "rules": FOR_GOLD}])
    agent(alice, "lead", [text("lead {{ tier }}")], agents={"writer": {"rules": FOR_GOLD}})
    context = {"user": {"name": "Zoë"}, "tier": "gold"}
    expected = "lead gold\n\nhello\n\nDear Zoë.\n\nGold.\n\nhello"
    assert ran(alice, "lead", requestContext=context)["text"] == expected
    assert ran(alice, "lead", query={"requestContext": encoded(context)})["text"] == expected
    assert ran(alice, "lead")["text"] == "lead {{ tier }}\n\nhello"
    assert ran(alice)["text"] == "Dear guest.\n\nhello"


def test_an_unpublished_block_is_left_out_and_named(alice: Api) -> None:
    published_block(alice, "tone", "Kind.")
    agent(alice, "writer", [text("one"), reference("tone")])
    assert alice.post("/stored/prompt-blocks/tone/unpublish").status == 200
    answer = ran(alice)
    assert answer["text"] == "one\n\nhello"
    assert noticed(answer) == [("block_unpublished", "instructions.1.id")]


# Which agents a caller may run


def test_a_code_defined_agent_runs_for_every_signed_in_caller(
    cast: Cast, support_and_supervisor: None
) -> None:
    answer = ran(cast.charlie, "supervisor")
    support = ran(cast.charlie, "support")
    assert support["text"].endswith("\n\nhello") and support["resolvedVersions"] == {"support": None}
    assert answer["text"].endswith(f"\n\nhello\n\n{support['text']}")
    assert answer["resolvedVersions"] == {"supervisor": None, "support": None}


def test_a_published_override_runs_in_place_of_the_code(cast: Cast, support_and_supervisor: None) -> None:
    code = ran(cast.vera, "support")["text"]
    version_id = AGENTS.make(cast.root, "support", "override")["resolvedVersionId"]
    assert ran(cast.vera, "support")["text"] == code
    AGENTS.publish(cast.root, "support", version_id)
    answer = ran(cast.vera, "supervisor")
    assert answer["text"].endswith("\n\noverride\n\nhello")
    assert answer["resolvedVersions"] == {"supervisor": None, "support": version_id}


@both_verbs
def test_an_unreadable_agent_or_version_is_a_404(cast: Cast, verb: str) -> None:
    agent(cast.alice)
    AGENTS.make(cast.alice, "unpublished", model={"provider": "echo", "name": "echo"})
    answers = [
        run(cast.alice, "nothing", verb=verb),
        run(cast.charlie, "writer", verb=verb),
        run(cast.vera, "unpublished", verb=verb),
        run(cast.alice, "writer", verb=verb, query={"label": "nothing"}),
    ]
    assert [answer.status for answer in answers] == [404] * 4
    assert all(answer.body == answers[0].body for answer in answers[:3])
    assert run(cast.nobody, "support", verb=verb).status == 401


def test_callers_with_the_right_to_read_drafts_run_the_latest_of_an_unpublished_agent(cast: Cast) -> None:
    agent(cast.alice, autoPublish=False)
    answer = ran(cast.edgar)
    assert answer["text"] == "one\n\nhello"
    assert len(noticed(answer)) == 1


def test_viewers_and_public_callers_run_the_published_version(cast: Cast) -> None:
    version_id = agent(cast.alice, visibility="public")
    draft(cast.alice)
    for api in (cast.vera, cast.charlie):
        assert ran(api)["resolvedVersions"] == {"writer": version_id}
        assert ran(api, query={"versionId": version_id})["text"] == "one\n\nhello"


# Wrong calls


WRONG: list[tuple[dict[str, Any], list[str]]] = [
    ({"messages": None}, ["messages"]),
    ({"messages": [{"role": "judge"}]}, ["messages.0.content", "messages.0.role"]),
    ({"bogus": 1, "memory": {}}, ["bogus", "memory"]),
    ({"versions": "draft"}, ["versions"]),
    ({"versions": {"writer": {"status": "draft"}}}, ["versions.writer"]),
    ({"versions": {"agents": {"team/b": "draft"}}}, ["versions.agents.team/b"]),
    ({"versions": {"self": {}, "defaultStatus": "x"}}, ["versions.defaultStatus", "versions.self"]),
    ({"requestContext": "x"}, ["requestContext"]),
    ({"requestContext": {"versions": {"agents": {"a": {}}}}}, ["requestContext.versions.agents.a"]),
    ({"maxSteps": 0}, ["maxSteps"]),
    ({"modelSettings": {"heat": 1}}, ["modelSettings.heat"]),
    ({"instructions": " \n"}, ["instructions"]),
]
"""One problem of each member; tests/runtime has the others."""


@both_verbs
def test_the_refusal_of_a_wrong_body_names_the_field(alice: Api, verb: str) -> None:
    agent(alice)
    for body, fields in WRONG:
        answer = run(alice, verb=verb, **body)
        assert (answer.status, answer.headers["Content-Type"]) == (400, "application/json")
        assert answer.fields == fields
    for nothing in ({}, None):
        assert alice.post(run_path("writer", verb), nothing).fields == ["messages"]


@both_verbs
def test_an_agent_that_cannot_run_is_a_422_that_names_the_missing_setting(
    alice: Api, no_credentials: None, verb: str
) -> None:
    for model, named in (
        (None, "model"),
        ({"provider": "acme", "name": "x"}, "OPENAI_API_KEY"),
        (OPENAI, "OPENAI_API_KEY"),
        ({"provider": "anthropic", "name": "x"}, "ANTHROPIC_API_KEY"),
        ({"provider": "litellm", "name": "x"}, "OPENAI_BASE_URL"),
    ):
        agent_id = model["provider"] if model else "without"
        agent(alice, agent_id, model=model)
        answer = run(alice, agent_id, verb=verb)
        assert (answer.status, answer.code) == (422, "provider_unavailable" if model else "no_model")
        assert named in answer.body["error"]


def test_a_providers_failure_is_a_502_with_its_reason_and_without_the_key(
    alice: Api, model_server: ModelServer
) -> None:
    model_server.model = lambda request: Fails(401, f"Wrong API key {KEY} for this model.")
    agent(alice, model=OPENAI)
    answer = run(alice)
    assert (answer.status, answer.code) == (502, "provider_failed")
    assert "Wrong API key" in answer.body["error"] and KEY not in str(answer.body)


def test_a_real_provider_receives_the_resolved_instructions(alice: Api, model_server: ModelServer) -> None:
    agent(alice, "writer", [text("Dear {{ name }}")], model=OPENAI)
    answer = ran(alice, requestContext={"name": "Zoë"})
    assert answer["text"] == "Hello there."
    assert answer["usage"] == {"inputTokens": 11, "outputTokens": 7, "totalTokens": 18, "cost": None}
    assert [message["content"] for message in model_server.requests[0]["messages"]] == ["Dear Zoë", "hello"]
