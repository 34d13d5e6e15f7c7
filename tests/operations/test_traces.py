"""Traces: which spans there are, what they say, and what they never say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.db.backends.signals import connection_created
from django.test import AsyncClient, Client
from opentelemetry.instrumentation.httpx import HTTPX2ClientInstrumentor, HTTPXClientInstrumentor
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import get_current_span
from pydantic_ai import Agent

from editor_project import traces
from tests.conftest import Cast
from tests.runtime.model_server import Calls, ModelServer, Says, running_model_server
from tests.support.api import AGENTS, Api
from tests.support.door import one_connection
from tests.support.receiver import receiving
from tests.support.rollouts import arm, started
from tests.support.runs import OPENAI, agent, draft, ran
from tests.support.webhooks import make_webhook, work
from versioning.domain import telemetry

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
SECRETS = ("a secret instruction", "a secret question", "a secret answer", "noon")
TEXTS = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

Spans = InMemorySpanExporter


@pytest.fixture
def spans(db: None) -> Iterator[Spans]:
    """What this process reports."""
    exporter = InMemorySpanExporter()
    tracer = traces.use(SimpleSpanProcessor(exporter))
    tracer.watch(connection=connection)  # it was open before
    yield exporter
    telemetry.use_tracers()
    connection_created.disconnect(dispatch_uid=traces.__name__)
    connection.execute_wrappers.remove(tracer.statement)
    if tracer.is_loaded:
        HTTPXClientInstrumentor().uninstrument()
        HTTPX2ClientInstrumentor().uninstrument()
        Agent.instrument_all(instrument=False)


@pytest.fixture
def model_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with running_model_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        yield server


def named(spans: Spans, beginning: str) -> list[ReadableSpan]:
    return [one for one in spans.get_finished_spans() if one.name.startswith(beginning)]


def the(spans: Spans, beginning: str) -> ReadableSpan:
    [found] = named(spans, beginning)
    return found


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def as_text(spans: Spans) -> str:
    return "".join(one.to_json() for one in spans.get_finished_spans())


def run(api: Api, agent_id: str = "writer", **more: Any) -> dict[str, Any]:
    answer = api.post(f"/agents/{agent_id}/generate", {"messages": "a secret question", **more}, **CALLER)
    assert answer.status == 200, answer.body
    return dict(answer.body)


@pytest.mark.database
def test_a_read_is_a_request_with_its_statements_and_the_version_that_it_resolved(
    cast: Cast, spans: Spans
) -> None:
    version = AGENTS.make(cast.alice, "writer", "a secret instruction", autoPublish=True)
    spans.clear()
    assert cast.alice.request("GET", "/agents/writer", **CALLER).status == 200
    first = the(spans, "GET /api/agents/<id>")
    assert {one.context.trace_id for one in spans.get_finished_spans() if one.context} == {int(TRACE, 16)}
    assert first.parent is not None and first.parent.span_id == 0xB7AD6B7169203331
    assert attributes(first) == {
        "http.request.method": "GET",
        "http.route": "/api/agents/<id>",
        "http.response.status_code": 200,
    }
    resolved = attributes(the(spans, "resolve agent"))
    assert resolved == {
        "gen_ai.agent.id": "writer",
        "gen_ai.agent.version": "1",
        "editor.version.id": version["resolvedVersionId"],
        "editor.version.number": 1,
    }
    statements = [attributes(one) for one in named(spans, "SELECT")]
    assert statements and all(
        "%s" in one["db.query.text"] or "?" in one["db.query.text"] for one in statements
    )
    assert not any(word in as_text(spans) for word in (*SECRETS, "writer'"))


@pytest.mark.usefixtures("committed_db")
def test_an_answer_from_memory_is_a_span_too(cast: Cast, spans: Spans) -> None:
    AGENTS.make(cast.alice, "writer", autoPublish=True)
    for _ in range(2):
        cast.alice.request("GET", "/agents/writer", **CALLER)
    _, cached = named(spans, "GET /api/agents/<id>")
    assert attributes(cached)["editor.cached"] is True
    assert cached.context is not None and cached.context.trace_id == int(TRACE, 16)


def test_a_refusal_is_no_failure_of_the_service(cast: Cast, spans: Spans) -> None:
    assert cast.alice.get("/agents/missing").status == 404
    request = the(spans, "GET /api")
    assert (attributes(request)["http.response.status_code"], request.status.is_ok) == (404, True)


@pytest.mark.parametrize("has_texts", [False, True])
def test_a_run_tells_which_version_asked_which_model_and_what_was_said_only_if_allowed(
    cast: Cast,
    spans: Spans,
    model_server: ModelServer,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    *,
    has_texts: bool,
) -> None:
    settings.EDITOR_FRAMEWORK = "tests.support.code.framework"
    monkeypatch.setenv(TEXTS, str(has_texts).lower())
    version = agent(cast.alice, "writer", "a secret instruction", model=OPENAI, tools={"clock": {}})
    replies = [Calls("clock", {}), Says("a secret answer")]
    model_server.model = lambda _request: replies.pop(0)
    run(cast.alice)
    expected = {"gen_ai.agent.id": "writer", "gen_ai.agent.version": "1", "editor.version.id": version}
    for name in ("invoke_agent", "chat", "execute_tool"):
        for one in named(spans, name):
            assert expected.items() <= attributes(one).items(), name
    chats = [attributes(one) for one in named(spans, "chat")]
    assert len(chats) == 2 and all(one["gen_ai.usage.output_tokens"] > 0 for one in chats)
    assert attributes(the(spans, "execute_tool"))["gen_ai.tool.name"] == "clock"
    found = as_text(spans)
    assert [word in found for word in SECRETS] == [has_texts] * len(SECRETS)
    assert {one.split("-")[1] for one in model_server.traces} == {TRACE}
    assert len({one.split("-")[2] for one in model_server.traces}) == 2


def test_the_arm_of_a_rollout_is_named(cast: Cast, spans: Spans) -> None:
    agent(cast.alice)
    rollout = started(cast.alice, AGENTS, arm(draft(cast.alice)))
    ran(cast.alice, requestContext={"userId": "u"})
    invoked = attributes(the(spans, "invoke_agent"))
    assert (invoked["editor.rollout.id"], invoked["editor.rollout.arm"]) == (rollout["id"], "new")
    assert invoked["editor.version.number"] == 2


def test_a_sub_agent_is_named_in_its_own_spans(cast: Cast, spans: Spans) -> None:
    agent(cast.alice, "writer")
    agent(cast.alice, "lead", agents={"writer": {}})
    ran(cast.alice, "lead")
    found = [attributes(one)["gen_ai.agent.id"] for one in named(spans, "invoke_agent")]
    assert sorted(found) == ["lead", "writer"]


def test_a_stream_belongs_to_its_request(cast: Cast, spans: Spans) -> None:
    agent(cast.alice)
    headers = {"authorization": f"Bearer {cast.alice.key}", **CALLER}
    answer = cast.alice.client.post(
        "/api/agents/writer/stream", {"messages": "hello"}, "application/json", headers=headers
    )
    assert b"".join(answer.streaming_content).endswith(b"data: [DONE]\n\n")
    invoked = the(spans, "invoke_agent")
    assert invoked.context is not None and invoked.context.trace_id == int(TRACE, 16)


@pytest.mark.parametrize("make", [Client, AsyncClient])
def test_a_stream_of_events_is_a_request_that_ends_as_it_opens(
    cast: Cast, spans: Spans, make: type[Client | AsyncClient]
) -> None:
    client = make()
    get = client.get if isinstance(client, Client) else async_to_sync(client.get)
    response = get("/api/events/stream", headers={"authorization": f"Bearer {cast.alice.key}", **CALLER})
    request = the(spans, "GET /api/events/stream")
    assert response.streaming and request.context is not None
    assert request.context.trace_id == int(TRACE, 16)
    assert attributes(request)["http.response.status_code"] == 200
    assert not get_current_span().is_recording()  # what is sent later is not a part of it
    with one_connection():
        response.close()


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_the_usual_variables_turn_it_on(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], wanted: bool
) -> None:
    for name in [one for one in os.environ if one.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert traces.is_wanted() is wanted


def test_traces_that_cannot_be_made_are_a_warning_of_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    assert traces.check() == []
    monkeypatch.setattr(traces, "is_installed", lambda: False)
    [warning] = traces.check()
    assert warning.msg.startswith("OTEL_EXPORTER_OTLP_ENDPOINT ") and "editor-server[otel]" in str(
        warning.hint
    )


def test_a_webhook_continues_the_trace_of_the_change(cast: Cast, spans: Spans, settings: Any) -> None:
    settings.EDITOR_WEBHOOK_ALLOW = ["127.0.0.1"]
    with receiving() as receiver:
        make_webhook(cast.alice, receiver.url)
        made = cast.alice.post(AGENTS.path, AGENTS.body(id="writer", autoPublish=False), **CALLER)
        assert made.status == 201
        work()
    [message] = receiver.messages
    span = the(spans, "POST webhook")
    assert span.context is not None and span.context.trace_id == int(TRACE, 16)
    assert message.headers["traceparent"] == f"00-{TRACE}-{span.context.span_id:016x}-01"
    assert attributes(span) == {"http.request.method": "POST", "http.response.status_code": 200}
    assert receiver.url not in as_text(spans)
