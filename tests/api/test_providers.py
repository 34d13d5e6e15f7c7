"""`GET /providers`, and providers of an installation over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Cast
from tests.runtime.model_server import ModelServer, Says, running_model_server
from tests.support.api import Api
from tests.support.runs import agent, ran, run
from tests.support.scorers import make_scorer, tried
from versioning.conf import check_values
from versioning.editor import Editor
from versioning.runtime import Framework

framework = Framework(editor=Editor(), providers={"in-house": lambda name: name})
KEY = "the-key-of-vllm-a"


@pytest.fixture
def server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model server that the setting names `vllm-a`."""
    with running_model_server() as running:
        given = {
            "vllm-a": {"kind": "openai", "baseUrl": running.url, "keyVariable": "VLLM_A_KEY"},
            "claude-eu": {"kind": "anthropic"},
        }
        settings.EDITOR_PROVIDERS = json.dumps(given)
        monkeypatch.setenv("VLLM_A_KEY", KEY)
        yield running


def listed(api: Api) -> dict[str, tuple[str, bool, Any]]:
    answer = api.get("/providers")
    assert answer.status == 200 and KEY not in json.dumps(answer.body)
    found = {one["name"]: (one["kind"], one["ready"], one["missing"]) for one in answer.body["providers"]}
    assert list(found) == sorted(found)
    return found


def test_every_caller_is_told_which_providers_are_ready_and_what_the_others_lack(
    cast: Cast, server: ModelServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EDITOR_FRAMEWORK = "tests.api.test_providers.framework"
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SNOWFLAKE_ACCOUNT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DEEPSEEK_API_KEY", " ")
    monkeypatch.setenv("SNOWFLAKE_TOKEN", "x")
    found = listed(cast.vera)
    assert found["echo"] == ("echo", True, None)
    assert found["openai"] == ("openai", False, "OPENAI_API_KEY")
    assert found["deepseek"] == ("deepseek", False, "DEEPSEEK_API_KEY")
    assert found["snowflake"] == ("snowflake", False, "SNOWFLAKE_ACCOUNT")
    assert found["anthropic"] == ("anthropic", False, {"extra": "anthropic"})
    assert found["vllm-a"] == ("openai", True, None)
    assert found["claude-eu"] == ("anthropic", False, {"extra": "anthropic"})
    assert found["in-house"] == ("code", True, None)
    monkeypatch.delenv("VLLM_A_KEY")
    assert listed(cast.charlie)["vllm-a"] == ("openai", False, "VLLM_A_KEY")
    assert cast.nobody.get("/providers").status == 401


def test_an_agent_runs_on_a_provider_of_the_setting(
    alice: Api, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent(alice, model={"provider": "vllm-a", "name": "small"})
    assert ran(alice)["text"] == "Hello there."
    assert server.keys == [f"Bearer {KEY}"]
    monkeypatch.delenv("VLLM_A_KEY")
    refused = run(alice)
    assert (refused.status, refused.body["code"]) == (422, "provider_unavailable")
    assert "VLLM_A_KEY" in refused.body["error"]
    agent(alice, "other", model={"provider": "vllm-b", "name": "small"})
    refused = run(alice, "other")
    assert refused.status == 422 and ", vllm-a, " in refused.body["error"]


def test_a_judge_asks_a_provider_of_the_setting(alice: Api, server: ModelServer) -> None:
    server.model = lambda _: Says('{"reason": "It greets.", "label": "good"}')
    choices = [{"label": "good", "score": 1, "passes": True}, {"label": "bad", "score": 0, "passes": False}]
    model = {"provider": "vllm-a", "name": "small"}
    make_scorer(alice, "judge", "llm-judge", config={"choices": choices}, model=model, instructions="Polite?")
    assert tried(alice, "judge", "Hello!")["score"] == 1


def test_the_settings_in_the_model_are_used_where_the_options_say_nothing_else(
    alice: Api, server: ModelServer
) -> None:
    model = {
        "provider": "vllm-a",
        "name": "small",
        "temperature": 0.1,
        "topP": 0.2,
        "frequencyPenalty": 0.3,
        "presencePenalty": "high",
        "maxCompletionTokens": 40,
        "seed": 7,
    }
    agent(alice, model=model, defaultOptions={"modelSettings": {"topP": 0.9, "temperature": None}})
    ran(alice, modelSettings={"frequencyPenalty": 0.5})
    [request] = server.requests
    assert (request["temperature"], request["top_p"], request["frequency_penalty"]) == (0.1, 0.9, 0.5)
    assert request["max_completion_tokens"] == 40
    assert not {"presence_penalty", "seed"} & request.keys()


def test_a_setting_that_cannot_be_read_stops_the_start(settings: Any) -> None:
    assert check_values() == []
    settings.EDITOR_FRAMEWORK = "tests.api.test_providers.framework"
    for value, sentence in (
        ("{", "EDITOR_PROVIDERS is not JSON"),
        ({"in-house": {"kind": "openai"}}, "'in-house', which the framework also defines"),
    ):
        settings.EDITOR_PROVIDERS = value
        [problem] = check_values()
        assert sentence in problem.msg
