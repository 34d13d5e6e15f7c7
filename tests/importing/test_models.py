"""Names of models in other systems: the provider becomes ours, or a loss says why there is none."""

from __future__ import annotations

import pytest
from editor_client.transfer.exporting.promptfoo import PROVIDERS
from editor_client.transfer.importing.agents import BUILT_IN, TRANSLATED, model_from
from editor_client.transfer.importing.collection import Collection
from editor_client.transfer.importing.formats import langsmith

from versioning.domain.provider_catalog import BUILT_IN as CATALOG
from versioning.domain.provider_catalog import ECHO

NAMES = {
    "genkit": {
        "googleai/gemini-2.0-flash": "google gemini-2.0-flash",
        "vertexai/gemini-1.5-pro": "google-cloud gemini-1.5-pro",
        "vertexai/claude-3-5-sonnet@20240620": "google-cloud claude-3-5-sonnet@20240620",
        "openai/gpt-4o": "openai gpt-4o",
        "anthropic/claude-sonnet-4": "anthropic claude-sonnet-4",
        "ollama/gemma3:4b": "ollama gemma3:4b",
    },
    "promptfoo": {
        "openai:gpt-4o-mini": "openai gpt-4o-mini",
        "openai:chat:gpt-4o": "openai-chat gpt-4o",
        "openai:responses:gpt-5": "openai-responses gpt-5",
        "openai:chat:ft:gpt-4o:org::id": "openai-chat ft:gpt-4o:org::id",
        "ft:gpt-4o:org::id": "openai ft:gpt-4o:org::id",
        "anthropic:messages:claude-sonnet-4": "anthropic claude-sonnet-4",
        "anthropic:claude-sonnet-4": "anthropic claude-sonnet-4",
        "azure:chat:my-deployment": "azure my-deployment",
        "azure:responses:my-deployment": "azure-responses my-deployment",
        "azureopenai:chat:my-deployment": "azure my-deployment",
        "bedrock:anthropic.claude-v2:0": "bedrock anthropic.claude-v2:0",
        "bedrock:converse:us.amazon.nova-pro-v1:0": "bedrock us.amazon.nova-pro-v1:0",
        "google:gemini-2.0-flash": "google gemini-2.0-flash",
        "palm:gemini-pro": "google gemini-pro",
        "vertex:gemini-2.0-flash": "google-cloud gemini-2.0-flash",
        "huggingface:text-generation:mistralai/Mistral-7B": "huggingface mistralai/Mistral-7B",
        "hf:chat:meta-llama/Llama-3": "huggingface meta-llama/Llama-3",
        "ollama:chat:llama3.1:8b": "ollama llama3.1:8b",
        "ollama:llama3": "ollama llama3",
        "openrouter:meta-llama/llama-3.1-8b": "openrouter meta-llama/llama-3.1-8b",
        "togetherai:meta-llama/Llama-3": "together meta-llama/Llama-3",
        "llamaapi:Llama-4": "meta Llama-4",
        "moonshot:kimi-k2": "moonshotai kimi-k2",
        "alibaba:qwen-max": "alibaba qwen-max",
        "dashscope:qwen-max": "alibaba qwen-max",
        "mistral:mistral-large": "mistral mistral-large",
        "xai:grok-4": "xai grok-4",
    },
    "others": {
        "google_genai:gemini-2.0-flash": "google gemini-2.0-flash",
        "google_vertexai:gemini-2.0-flash": "google-cloud gemini-2.0-flash",
        "azure_openai:gpt-4o": "azure gpt-4o",
        "bedrock_converse:amazon.nova-pro": "bedrock amazon.nova-pro",
        "mistralai:mistral-large": "mistral mistral-large",
        "mistral-ai/mistral-small": "mistral mistral-small",
        "meta/llama-4": "meta llama-4",
        "cohere/command-r": "cohere command-r",
        "together_ai/meta-llama/Llama-3": "together meta-llama/Llama-3",
        "GoogleAI/gemini-x": "google gemini-x",
    },
}


@pytest.mark.parametrize(
    ("name", "model"), [(name, model) for names in NAMES.values() for name, model in names.items()]
)
def test_names_with_a_provider(name: str, model: str) -> None:
    collection = Collection("x")
    found = model_from(name, collection, "here")
    assert found is not None
    assert f"{found['provider']} {found['name']}" == model
    # Only that the source names no provider is worth a word.
    assert [loss.code for loss in collection.losses] == (["model_provider"] if name.startswith("ft:") else [])


@pytest.mark.parametrize(
    ("provider", "ours"),
    [("azure", "azure"), ("azure_openai", "azure"), ("openai", "openai"), ("anthropic", "anthropic")],
)
def test_providers_beside_the_name(provider: str, ours: str) -> None:
    """As Prompty has them: the name can look like any other."""
    collection = Collection("x")
    found = model_from("openai:chat:gpt-4o", collection, "here", provider=provider)
    assert found == {"provider": ours, "name": "openai:chat:gpt-4o"} and not collection.losses


@pytest.mark.parametrize("name", ["gpt-4o", "o3-mini", "claude-3-opus", "gemini-1.5-pro", "mistral-large"])
def test_a_provider_that_is_guessed_is_told(name: str) -> None:
    collection = Collection("x")
    found = model_from(name, collection, "here")
    assert found is not None and found["provider"] in BUILT_IN
    assert [loss.code for loss in collection.losses] == ["model_provider"]


@pytest.mark.parametrize(
    "name",
    [
        *("openai:embedding:text-embedding-3-large", "openai:image:dall-e-3", "azure:assistant:asst_1"),
        *(
            "huggingface:feature-extraction:x/y",
            "openai:realtime:gpt-4o",
            "bedrock:kb:claude",
            "replicate:a/b",
        ),
        *(
            "litellm:gpt-4",
            "llama3",
            "echo",
            "exec:python run.py",
            "https://example.com/x",
            "two words",
            "openai:",
        ),
        "langfuse://x:1:chat",
    ],
)
def test_what_is_no_model_is_a_loss(name: str) -> None:
    collection = Collection("x")
    assert model_from(name, collection, "here") is None
    [loss] = collection.losses
    assert loss.code == "model" and name in loss.message


def test_a_provider_that_is_not_built_in_is_kept_and_named() -> None:
    collection = Collection("x")
    assert model_from("microsoft/phi-4", collection, "here") == {"provider": "microsoft", "name": "phi-4"}
    [loss] = collection.losses
    assert loss.code == "model_provider" and "microsoft" in loss.message


def test_the_providers_are_those_of_the_server() -> None:
    assert {ECHO, *BUILT_IN} == set(CATALOG.names)
    ours = {*TRANSLATED.values(), *PROVIDERS, *langsmith.PROVIDERS.values()}
    assert ours <= BUILT_IN
    # A name that is ours already is never translated into another one.
    assert not TRANSLATED.keys() & BUILT_IN


def test_what_is_exported_is_imported_as_the_same() -> None:
    for provider in sorted(BUILT_IN):
        written = f"{PROVIDERS.get(provider, provider)}:some-model"
        found = model_from(written, Collection("x"), "here")
        assert found == {"provider": provider, "name": "some-model"}
