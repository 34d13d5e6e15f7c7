"""What is odd in answers of models and providers: the same in answers, streams and results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.runtime.model_server import Calls, Fails, ModelServer, Pieces, Reply, Request, Says
from versioning.runtime import Agent, Framework, ProviderFailed, observing
from versioning.runtime.observing import RunUse

OPENAI = {"provider": "openai", "name": "small"}
ONCE = {"maxRetries": 0}


def note(text: str, number: float | None = None) -> Any:
    """Return what is odd."""
    return {"text": text, "number": number, "nul": "\x00", "nan": float("nan"), "bytes": b"x"}


def raw(text: str = "") -> bytes:
    return b"\xff\xfe"


@pytest.fixture
def agent(model_server: ModelServer) -> Agent:
    """An agent with tools, alone in its framework."""
    made = Agent(id="a", name="A", instructions="Be brief.", model=OPENAI, tools=[note, raw])
    Framework(agents=[made])
    return made


def streamed(agent: Agent) -> list[dict[str, Any]]:
    """Return the events of a stream, which can all be sent."""
    events = list(agent.stream("hello", model_settings=ONCE))
    for event in events:
        json.dumps(event, ensure_ascii=False, allow_nan=False).encode()
        assert "\x00" not in json.dumps(event, ensure_ascii=False)
    return events


def text_of(events: Sequence[dict[str, Any]]) -> str:
    return "".join(event["payload"]["text"] for event in events if event["type"] == "text-delta")


def then(call: Calls) -> Any:
    """Return a model that calls a tool, and then answers."""

    def model(request: Request) -> Reply:
        return Says("Done.") if any(message["role"] == "tool" for message in request["messages"]) else call

    return model


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (("Hi \ud83d", "\ude00!"), "Hi 😀!"),
        (("Hi \udcaf!",), "Hi \ufffd!"),
        (("Hi \ud83d",), "Hi \ufffd"),
        (("Hi \x00!",), "Hi \ufffd!"),
        ((), ""),
        (("<think>I { wonder }</think>\nAnswer",), "\nAnswer"),
        (("<think>", "I ", "wonder", "</think>", "Answer"), "Answer"),
        (("<think>", "I wonder.</think>\n", "Ans", "wer"), "\nAnswer"),
        (("<th", "ink>I wonder</thi", "nk>Answer <", "b>"), "Answer <b>"),
        (("Never <think>", "closed"), "Never closed"),
        (("a < b",), "a < b"),
    ],
)
def test_a_text_is_the_same_in_an_answer_and_in_a_stream(
    agent: Agent, model_server: ModelServer, pieces: tuple[str, ...], text: str
) -> None:
    model_server.model = lambda request: Pieces(pieces)
    answer = agent.generate("hello", model_settings=ONCE)
    assert (answer.text, answer.finish_reason) == (text, "stop")
    assert answer.messages[-1]["content"] == answer.steps[0].text == text
    events = streamed(agent)
    assert text_of(events) == text
    assert (events[-1]["type"], events[-1]["payload"]["finishReason"]) == ("finish", "stop")
    kinds = [event["type"] for event in events]
    assert kinds.count("text-start") == kinds.count("text-end") == bool(text)


def test_words_arrive_before_a_thought_in_one_piece_with_them_has_ended_the_stream(
    agent: Agent, model_server: ModelServer
) -> None:
    model_server.model = lambda request: Pieces(("<think>", "so.</think>One ", "two ", "three"))
    assert [event["payload"]["text"] for event in streamed(agent) if event["type"] == "text-delta"] == [
        "One ",
        "two ",
        "three",
    ]


def test_arguments_and_results_of_tools_are_json_for_everybody(
    agent: Agent, model_server: ModelServer
) -> None:
    model_server.model = then(Calls("note", {"text": "\ud83d\x00", "number": float("nan")}))
    answer = agent.generate("hello", model_settings=ONCE)
    args = {"text": "\ufffd\ufffd", "number": None}
    result = {**args, "nul": "\ufffd", "nan": None, "bytes": "x"}
    assert [call["args"] for call in answer.tool_calls] == [args]
    assert [one["result"] for one in answer.tool_results] == [result]
    json.dumps(answer.as_dict(), ensure_ascii=False, allow_nan=False).encode()
    payloads = {event["type"]: event["payload"] for event in streamed(agent)}
    assert (payloads["tool-call"]["args"], payloads["tool-result"]["result"]) == (args, result)
    assert payloads["finish"]["finishReason"] == "stop"


def test_a_result_of_a_tool_that_is_no_text_is_shown_as_python_does(
    agent: Agent, model_server: ModelServer
) -> None:
    model_server.model = then(Calls("raw", {"text": ""}))
    [result] = agent.generate("hello").tool_results
    assert result["result"] == str(b"\xff\xfe")
    assert streamed(agent)[-1]["type"] == "finish"


def test_an_odd_answer_can_be_sent_to_the_model_again(agent: Agent, model_server: ModelServer) -> None:
    model_server.model = then(Calls("note", {"text": "\ud83d"}))
    for _ in ("generate", "stream"):
        assert text_of(streamed(agent)).strip() == agent.generate("hello").text == "Done."
    sent = json.loads(model_server.requests[-1]["messages"][-1]["content"])
    assert sent["text"] == "\ufffd"


def test_a_stream_without_a_finish_reason_is_an_error(
    agent: Agent, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    uses: list[RunUse] = []
    monkeypatch.setattr(observing, "_observers", [uses.append])
    model_server.model = lambda request: Pieces(("Half an ", "answ"), finish_reason=None)
    events = streamed(agent)
    assert text_of(events) == "Half an answ"
    assert (events[-1]["type"], events[-1]["payload"]["code"]) == ("error", "provider_failed")
    assert "without a finish reason" in events[-1]["payload"]["error"]
    assert [use.agents["a"].errors for use in uses] == [1]


def test_an_answer_that_a_filter_emptied_says_so(agent: Agent, model_server: ModelServer) -> None:
    model_server.model = lambda request: Pieces((), finish_reason="content_filter")
    answer = agent.generate("hello")
    assert (answer.text, answer.finish_reason) == ("", "content-filter")
    assert streamed(agent)[-1]["payload"]["finishReason"] == "content-filter"
    assert len(model_server.requests) == 2


def test_an_error_with_the_status_200_is_what_the_provider_says(
    agent: Agent, model_server: ModelServer
) -> None:
    model_server.model = lambda request: Fails(200, "no such model")
    with pytest.raises(ProviderFailed, match="answered 400: no such model"):
        agent.generate("hello", model_settings=ONCE)
    assert streamed(agent)[-1]["payload"]["error"].endswith("answered 400: no such model")
    assert len(model_server.requests) == 2


def test_a_message_of_a_provider_can_be_sent(agent: Agent, model_server: ModelServer) -> None:
    model_server.model = lambda request: Fails(400, "half \ud83d")
    with pytest.raises(ProviderFailed, match="half \ufffd"):
        agent.generate("hello", model_settings=ONCE)
