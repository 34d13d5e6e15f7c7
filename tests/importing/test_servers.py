"""Prompts of other servers: Langfuse, MLflow and LangSmith, by their REST interfaces."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.importing.conftest import Desk, actions, losses
from tests.importing.test_langfuse import MOVIES
from tests.support.misbehaving import Misbehaving, misbehaving_server

SECRET = "sk-lf-very-secret-1234567890"


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[Misbehaving]:
    """A server of another system, and the keys for it in the environment."""
    for name, value in {
        "LANGFUSE_PUBLIC_KEY": "pk-lf-1",
        "LANGFUSE_SECRET_KEY": SECRET,
        "MLFLOW_TRACKING_TOKEN": SECRET,
        "LANGSMITH_API_KEY": SECRET,
    }.items():
        monkeypatch.setenv(name, value)
    with misbehaving_server() as server:
        yield server


def answering(answers: dict[str, Any]) -> Any:
    """Answer by path; a list is answered page by page."""

    def behave(handler: Any) -> None:
        parts = urlsplit(handler.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        found = answers.get(parts.path)
        body = found(asked) if callable(found) else found
        status, headers = (404, {}) if body is None else (200, {})
        if isinstance(body, tuple):
            status, headers, body = body
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send(status, content, **headers)

    return behave


def langfuse(pages: int = 2) -> dict[str, Any]:
    """Return the answers of Langfuse about a prompt with two versions, on the last page."""
    entry = {"name": "team/movie critic", "type": "chat", "versions": [3, 7], "labels": []}

    def entries(asked: dict[str, str]) -> Any:
        data = [entry] if asked["page"] == str(pages) else []
        return {"data": data, "meta": {"page": int(asked["page"]), "limit": 100, "totalPages": pages}}

    def version(asked: dict[str, str]) -> Any:
        assert asked["resolve"] == "false"
        return next(one for one in MOVIES if str(one["version"]) == asked["version"])

    return {
        "/api/public/v2/prompts": entries,
        "/api/public/v2/prompts/team%2Fmovie%20critic": version,
    }


def test_langfuse(desk: Desk, elsewhere: Misbehaving) -> None:
    elsewhere.does(answering(langfuse()))
    plan = desk.imports("langfuse", elsewhere.url)
    assert actions(plan)["agent team/movie-critic"] == "create"
    assert len(plan["resources"][-1]["versions"]) == 2
    keys = base64.b64encode(f"pk-lf-1:{SECRET}".encode()).decode()
    assert {one.headers["authorization"] for one in elsewhere.asked} == {f"Basic {keys}"}
    assert SECRET not in json.dumps(plan) + desk.out + desk.err
    assert set(actions(desk.imports("langfuse", elsewhere.url)).values()) == {"unchanged"}


def test_mlflow(desk: Desk, elsewhere: Misbehaving) -> None:
    def tags(**values: str) -> list[dict[str, str]]:
        return [{"key": key.replace("__", "."), "value": value} for key, value in values.items()]

    chat = json.dumps([{"role": "system", "content": "Be {{ user.mood }}."}])
    versions = [
        {
            "name": "tone",
            "version": "2",
            "description": "Chat",
            "aliases": ["production", "best"],
            "tags": tags(
                mlflow__prompt__text=chat,
                _mlflow_prompt_type="chat",
                _mlflow_prompt_model_config='{"provider": "openai", "model_name": "gpt-4o", "top_p": 0.5}',
            ),
        },
        {"name": "tone", "version": "1", "tags": tags(mlflow__prompt__text="x" * 5000)},
    ]
    models = "/api/2.0/mlflow/registered-models/search"

    def registered(asked: dict[str, str]) -> Any:
        assert asked["filter"] == "tags.`mlflow.prompt.is_prompt` = 'true'"
        more = {"registered_models": [{"name": "tone"}]}
        return more if "page_token" in asked else {"registered_models": [], "next_page_token": "2"}

    elsewhere.does(
        answering({models: registered, "/api/2.0/mlflow/model-versions/search": {"model_versions": versions}})
    )
    plan = desk.imports("mlflow", elsewhere.url)
    assert losses(plan) == {"truncated"}
    newest, first = desk.client.get_stored_agent("tone").iter_versions()
    assert newest.instructions == [{"type": "text", "content": "Be {{ user.mood }}."}]
    assert (newest.change_message, newest.labels, newest.model) == (
        "MLflow tone v2: Chat",
        ("best",),
        {"provider": "openai", "name": "gpt-4o"},
    )
    assert first.change_message == "MLflow tone v1"


def message(kind: str, template: str, language: str = "f-string") -> dict[str, Any]:
    """Return a message of a manifest."""
    prompt = {"template": template, "template_format": language, "input_variables": []}
    return {"id": ["langchain", "prompts", kind], "kwargs": {"prompt": {"kwargs": prompt}}}


def manifest(*messages: dict[str, Any], model: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a manifest of a chat prompt, alone or with a model."""
    prompt = {
        "lc": 1,
        "type": "constructor",
        "id": ["x", "ChatPromptTemplate"],
        "kwargs": {"messages": [*messages]},
    }
    if model is None:
        return prompt
    last = {"id": ["langchain", "ChatOpenAI"], "kwargs": model}
    return {"id": ["x", "RunnableSequence"], "kwargs": {"first": prompt, "last": last}}


def test_langsmith(desk: Desk, elsewhere: Misbehaving) -> None:
    repos = [
        {"repo_handle": "plain", "full_name": "me/plain", "is_public": False, "tags": ["a"]},
        {"repo_handle": "public", "full_name": "me/public", "is_public": True},
        {"repo_handle": "stache", "full_name": "me/stache", "is_public": False},
    ]
    model = {"model": "gpt-4o", "temperature": 0.1, "openai_api_key": {"lc": 1, "type": "secret"}}
    first = manifest(
        message("SystemMessagePromptTemplate", 'Be {tone} in {{"json": 1}}, {x:>5}.'),
        {"id": ["x", "MessagesPlaceholder"], "kwargs": {"variable_name": "history"}},
        message("HumanMessagePromptTemplate", "{question}"),
        model=model,
    )
    second = manifest(message("SystemMessagePromptTemplate", "Be {{tone}}{{#a}}!{{/a}}", "mustache"))
    elsewhere.does(
        answering(
            {
                "/repos/": {"repos": repos, "total": 3},
                "/commits/me/plain/latest": {"commit_hash": "a" * 64, "manifest": first},
                "/commits/me/stache/latest": {"commit_hash": "b" * 64, "manifest": second},
            }
        )
    )
    plan = desk.imports("langsmith", elsewhere.url)
    assert losses(plan) == {"public", "placeholder", "input_message", "template_logic", "credential"}
    plain = desk.client.get_stored_agent("plain").details(status="draft")
    assert plain.instructions == [{"type": "text", "content": 'Be {{ tone }} in {"json": 1}, {x:>5}.'}]
    assert (plain.model, plain.metadata["tags"]) == ({"provider": "openai", "name": "gpt-4o"}, ["a"])
    assert [one["id"] for one in plan["resources"]] == ["plain", "stache"]


def test_what_a_server_may_answer(
    desk: Desk, elsewhere: Misbehaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer in [
        (302, {"Location": "http://127.0.0.1:9/stolen"}, {}),
        (401, {}, {"error": "no"}),
        (200, {}, b"<html>"),
        (200, {}, b'{"data": "x", "meta": {"totalPages": 99999999999}}'),
        (200, {}, b'{"data": [{"name": 5}]}'),
        (200, {}, b"\xff\xfe"),
        (200, {}, b"[" * 100_000),
        (500, {}, b""),
    ]:
        monkeypatch.setattr("editor_client.transfer.importing.documents.MAX_REQUESTS", 20)
        elsewhere.does(answering({"/api/public/v2/prompts": answer}))
        assert SECRET not in desk.refuses("langfuse", elsewhere.url)


def test_addresses_that_are_refused(desk: Desk, elsewhere: Misbehaving) -> None:
    for address in [
        "http://example.com",
        "https://user:password@example.com",
        "https://example.com/?a=b",
        "https://",
        "ftp://example.com",
    ]:
        assert "password" not in desk.refuses("mlflow", address)


def test_a_key_that_is_missing_is_named(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANGSMITH_API_KEY", raising=False)
    assert "LANGSMITH_API_KEY" in desk.refuses("langsmith", "https://example.com")
    assert "not followed" in desk.refuses("openai", "https://example.com/prompt.json")
