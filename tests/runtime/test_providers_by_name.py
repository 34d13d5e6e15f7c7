"""Providers that an installation or a project adds: their names, addresses and keys."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.runtime.memory import MemoryStore
from tests.runtime.model_server import Fails, ModelServer, Says, running_model_server
from versioning.domain.provider_catalog import (
    KNOWN_PROVIDERS,
    ConfiguredProvider,
    ProviderCatalog,
    configured_providers,
    own_providers,
)
from versioning.runtime import Agent, Framework, ProviderFailed, ProviderUnavailable
from versioning.runtime.providers import Providers
from versioning.runtime.runner import background_loop

KEY = "the-key-of-vllm-b"


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModelServer, ModelServer]]:
    """Two servers that are compatible with OpenAI's, beside the one that the variables of OpenAI name."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai-0123456789")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with running_model_server() as first, running_model_server() as second:
        first.model, second.model = lambda _: Says("first"), lambda _: Says("second")
        yield first, second


def answer_of(provider: str, framework: Framework) -> str:
    return framework.get_agent_by_id(provider).generate("hello").text


def framework_with(store: MemoryStore, *providers: str, **own: Any) -> Framework:
    agents = [
        Agent(id=name, name=name, instructions="text", model={"provider": name, "name": "m"})
        for name in (*providers, *own)
    ]
    return Framework(agents=agents, editor=store, providers=own)


class ConfiguredStore(MemoryStore):
    """A store whose installation has configured providers."""

    def __init__(self, **configured: ConfiguredProvider) -> None:
        super().__init__()
        self.configured = configured

    def providers(self) -> ProviderCatalog:
        return ProviderCatalog(configured=self.configured, own=self.catalog.own)


def test_two_servers_and_openai_live_side_by_side(
    servers: tuple[ModelServer, ModelServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = servers
    store = ConfiguredStore(
        a=ConfiguredProvider("openai", first.url), b=ConfiguredProvider("vllm", second.url, "VLLM_B_ACCESS")
    )
    framework = framework_with(store, "a", "b")
    monkeypatch.delenv("VLLM_B_ACCESS", raising=False)
    with pytest.raises(ProviderUnavailable, match="set the environment variable VLLM_B_ACCESS"):
        answer_of("b", framework)
    monkeypatch.setenv("VLLM_B_ACCESS", KEY)
    assert [answer_of("a", framework), answer_of("b", framework)] == ["first", "second"]
    assert asyncio.run(framework.get_agent_by_id("a").agenerate("hello")).text == "first"
    assert first.keys == [None, None]  # not even that of OpenAI's variable
    assert second.keys == [f"Bearer {KEY}"]
    second.model = lambda _: Fails(401, f"The key {KEY} is wrong.")
    with pytest.raises(ProviderFailed) as failed:
        answer_of("b", framework)
    assert KEY not in str(failed.value)


def test_a_project_defines_providers_of_its_own(servers: tuple[ModelServer, ModelServer]) -> None:
    first, _ = servers

    def parrot(model_name: str) -> FunctionModel:
        def say(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            return ModelResponse(parts=[TextPart(f"I am {model_name}.")])

        return FunctionModel(say)

    def broken(model_name: str) -> Any:
        return model_name if model_name == "x" else 1 / 0

    shared = OpenAIProvider(base_url=first.url, api_key="sk-shared-0123456789")
    framework = framework_with(MemoryStore(), parrot=parrot, shared=shared, broken=broken)
    assert [answer_of("parrot", framework), answer_of("shared", framework)] == ["I am m.", "first"]
    background_loop().run(close(shared))
    with pytest.raises(ProviderUnavailable, match=r"which the application defines.*ZeroDivisionError"):
        answer_of("broken", framework)
    with pytest.raises(ProviderUnavailable, match="returned no pydantic-ai model"):
        Providers().model("a", {"provider": "broken", "name": "x"}, ProviderCatalog(own={"broken": broken}))


def test_the_keys_of_a_projects_providers_are_hidden_and_their_errors_revealed(
    servers: tuple[ModelServer, ModelServer],
) -> None:
    first, _ = servers
    shared = OpenAIProvider(base_url=first.url, api_key="key-of-the-shared-one")
    made = OpenAIProvider(base_url=first.url, api_key="key-of-the-made-one")
    framework = framework_with(
        MemoryStore(), shared=shared, made=lambda name: OpenAIChatModel(name, provider=made)
    )
    for name in ("shared", "made"):
        first.model = lambda _, name=name: Fails(401, f"The key key-of-the-{name}-one is wrong.")
        with pytest.raises(ProviderFailed) as failed:
            answer_of(name, framework)
        assert f"key-of-the-{name}-one" not in str(failed.value)
        first.model = lambda _: Fails(200, "The model is overloaded.")
        with pytest.raises(ProviderFailed, match="The model is overloaded"):
            answer_of(name, framework)
    for provider in (shared, made):
        background_loop().run(close(provider))


async def close(provider: OpenAIProvider) -> None:
    """Close its connections, which belong to the project."""
    async with provider:
        pass


def test_an_unknown_provider_names_those_of_the_installation_too() -> None:
    store = ConfiguredStore(mine=ConfiguredProvider("openai", "http://127.0.0.1:9/v1"))
    framework = framework_with(store, "gone", ours=lambda name: name)
    with pytest.raises(ProviderUnavailable, match=r"anthropic, .*mine, .*ours, "):
        answer_of("gone", framework)


def test_every_kind_takes_its_address_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "some-key")
    for kind, known in KNOWN_PROVIDERS.items():
        if known.is_a_kind and known.is_installed:
            catalog = ProviderCatalog(
                configured={"x": ConfiguredProvider(kind, "http://one:1/v1", "SOME_KEY")}
            )
            made: Any = Providers().model("a", {"provider": "x", "name": "openai/m"}, catalog)
            assert (str(made.base_url), made.client.api_key) == ("http://one:1/v1/", "some-key"), kind


def test_a_configured_provider_ignores_the_variables_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = "http://elsewhere.example/v1"
    for name in ("OPENAI_BASE_URL", "HEROKU_INFERENCE_URL", "MOONSHOTAI_BASE_URL", "SAMBANOVA_BASE_URL"):
        monkeypatch.setenv(name, elsewhere)
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "built-in")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: built-in\nX-Team: built-in")
    monkeypatch.setenv("SOME_KEY", "some-key")
    for kind, known in KNOWN_PROVIDERS.items():
        if known.is_a_kind and known.is_installed and known.has_default_url:
            catalog = ProviderCatalog(configured={"x": ConfiguredProvider(kind, None, "SOME_KEY")})
            made: Any = Providers().model("a", {"provider": "x", "name": "openai/m"}, catalog)
            assert "elsewhere" not in str(made.base_url), kind
            client = made.client
            headers = {**client.default_headers, **client.auth_headers}
            assert "built-in" not in {str(value) for value in headers.values()}, kind
            assert headers["Authorization"] == "Bearer some-key", kind
    catalog = ProviderCatalog(configured={"x": ConfiguredProvider("openai", None, "SOME_KEY")})
    made = Providers().model("a", {"provider": "x", "name": "m"}, catalog)
    assert type(made).__name__ == "OpenAIResponsesModel"  # as without the variable of the address


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is not JSON"),
        ("[]", "must be an object, such as"),
        ('{"a": {}, "a": {}}', "names 'a' twice"),
        ('{"openai": {"kind": "openai"}}', "'openai', whose name is the name of a built-in provider"),
        ('{"A b": {"kind": "openai"}}', "'A b', whose name must be 1 to 64 characters"),
        ('{"a": 1}', "a must be an object"),
        ('{"a": {"kind": "openai", "url": "x"}}', "a.url is not a field that can be set here"),
        ('{"a": {"baseUrl": "http://x"}}', "a.kind is required"),
        ('{"a": {"kind": "bedrock"}}', "kind must be one of"),
        ('{"a": {"kind": "vllm"}}', "needs a baseUrl"),
        ('{"a": {"kind": "cohere", "baseUrl": "http://x"}}', "takes no baseUrl"),
        ('{"a": {"kind": "openai", "baseUrl": "file:///x"}}', "baseUrl must be an address"),
        ('{"a": {"kind": "openai", "keyVariable": "sk-1"}}', "not the key itself"),
    ],
)
def test_a_setting_that_cannot_be_read_is_explained(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)) as refused:
        configured_providers(text)
    assert "sk-1" not in str(refused.value)


def test_a_framework_refuses_what_is_no_provider() -> None:
    for name in ("echo", "openai", "A b", "latest"):
        with pytest.raises(ValueError, match=name):
            own_providers({name: lambda model_name: model_name})
    for wrong in ("openai", OpenAIProvider):
        with pytest.raises(TypeError, match="must be a pydantic-ai provider, or a function"):
            own_providers({"a": wrong})
