"""Models and their settings: from the words of other systems to `model` and `defaultOptions`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from editor_client.shared.providers import BUILT_IN
from editor_client.transfer.importing import credentials
from editor_client.transfer.importing.collection import Collection, Config, shown
from editor_client.transfer.importing.members import Members

SETTINGS: Final[Mapping[str, str]] = {
    "temperature": "temperature",
    "max_tokens": "maxOutputTokens",
    "max_output_tokens": "maxOutputTokens",
    "max_completion_tokens": "maxOutputTokens",
    "top_p": "topP",
    "top_k": "topK",
    "frequency_penalty": "frequencyPenalty",
    "presence_penalty": "presencePenalty",
    "seed": "seed",
    "stop": "stopSequences",
    "stop_sequences": "stopSequences",
}
"""By the name with underscores; names in camelCase are the same."""
_WHOLE: Final = {"maxOutputTokens", "topK", "seed"}
_PROVIDERS: Final = (
    (re.compile(r"(?:ft:)?(?:gpt-|chatgpt-|o[134](?:-|$))"), "openai"),
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"gemini-"), "google"),
    (re.compile(r"(?:mistral|ministral|codestral)-"), "mistral"),
)
TRANSLATED: Final[Mapping[str, str]] = {
    # Genkit
    "googleai": "google",
    "google-genai": "google",
    "vertexai": "google-cloud",
    "google-vertex": "google-cloud",
    # promptfoo
    "alicloud": "alibaba",
    "aliyun": "alibaba",
    "dashscope": "alibaba",
    "azureopenai": "azure",
    "hf": "huggingface",
    "llamaapi": "meta",
    "moonshot": "moonshotai",
    "palm": "google",
    "togetherai": "together",
    "vertex": "google-cloud",
    # LangChain, MLflow, Prompty, GitHub Models and others
    "azure_openai": "azure",
    "azure-openai": "azure",
    "aws_bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "amazon-bedrock": "bedrock",
    "gemini": "google",
    "google_genai": "google",
    "google_vertexai": "google-cloud",
    "mistral-ai": "mistral",
    "mistralai": "mistral",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
}
"""Our names of providers that have another name elsewhere."""
_NO_CHAT: Final = frozenset(
    {
        *("agents", "agents-api", "assistant", "audio", "chatkit", "codex", "codex-app-server"),
        *("codex-desktop", "codex-sdk", "embedding", "embeddings", "feature-extraction", "foundry-agent"),
        *("image", "kb", "live", "moderation", "realtime", "sentence-similarity", "speech"),
        *("text-classification", "token-classification", "transcription", "tts", "video", "voice"),
    }
)
"""Segments of promptfoo's providers that are followed by the name of something else than a model of texts."""
_WAYS: Final = frozenset(
    {"chat", "responses", "messages", "completion", "converse", "text", "text-generation"}
)
"""Segments of promptfoo's providers that say how the model is asked; `openai-chat` is a provider of ours."""
_PREFIX: Final = re.compile(r"(?!ft:)([A-Za-z][A-Za-z0-9_-]*)([/:])(?=[^/])")
_NO_NAME: Final = re.compile(r"://|\s|[\x00-\x1f\x7f-\x9f]")


def settings_in(members: Members) -> dict[str, Any]:
    """Take the settings of a model; a member that is none, or has a value that is none, is left."""
    settings: dict[str, Any] = {}
    for name in members.names():
        ours = SETTINGS.get(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
        fitting = None if ours is None else _fitting(ours, members.peek(name))
        if ours is None or fitting is None or ours in settings:
            continue
        members.skip(name)
        settings[ours] = credentials.without(fitting, members.collection, members.where)
    return settings


def model_from(
    name: Any, collection: Collection, where: str, *, provider: Any = None
) -> dict[str, Any] | None:
    """Return the model by provider and name; None, which is noted, if they are not known.

    Providers that have another name in the source are translated.
    """
    if not isinstance(name, str) or not name.strip():
        return None
    text, reason = name.strip(), ""
    if not isinstance(provider, str) or not provider.strip():
        provider, text, reason = _split(text)
        if not provider and not reason:
            provider = next((one for pattern, one in _PROVIDERS if pattern.match(text)), None)
            if provider is not None:
                message = f"The source names no provider of {shown(text)}; it is taken to be {provider}."
                collection.lose("model_provider", where, message)
    if not provider or _NO_NAME.search(text) or not text or reason:
        reason = reason or "its provider is not known, or it is no name"
        collection.lose("model", where, f"The model {shown(name)!r} is left out: {reason}.")
        return None
    provider = provider.strip()
    provider = TRANSLATED.get(provider.lower(), provider)
    if provider not in BUILT_IN:
        message = f"The provider {shown(provider)!r} of {shown(text)} is none of those that are built in."
        collection.lose("model_provider", where, message)
    return {"provider": provider, "name": text}


def without_place(name: Any, model: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what `metadata.import` keeps of the name of a model: all of it, if there is no model."""
    return {"model": name} if model is None and name not in (None, "") else {}


def with_model(config: Config, model: dict[str, Any] | None, settings: Mapping[str, Any]) -> Config:
    """Return the configuration of an agent with its model and settings, where there are any."""
    more: Config = {} if model is None else {"model": model}
    if settings:
        more["defaultOptions"] = {"modelSettings": dict(settings)}
    return {**config, **more}


def _split(text: str) -> tuple[str | None, str, str]:
    """Return the provider in `openai/gpt-4o` or `openai:chat:gpt-4o`, the name, and why it is no model.

    A prefix with a colon is a provider if it is a known one: names of models can have colons, too.
    """
    match = _PREFIX.match(text)
    if match is None:
        return None, text, ""
    provider, separator, name = match[1], match[2], text[match.end() :]
    if separator == "/":
        return provider, name, ""
    if provider.lower() not in BUILT_IN | TRANSLATED.keys():
        return None, text, ""
    way, colon, rest = name.partition(":")
    if way in _NO_CHAT:
        return provider, name, "it is none for chats"
    if not colon or way not in _WAYS:
        return provider, name, ""
    by_way = f"{TRANSLATED.get(provider.lower(), provider.lower())}-{way}"
    return by_way if by_way in BUILT_IN else provider, rest, ""


def _fitting(name: str, value: Any) -> Any:
    """Return a value as the setting takes it, or None."""
    if name == "stopSequences":
        listed = [value] if isinstance(value, str) else value
        ok = isinstance(listed, list) and all(isinstance(entry, str) for entry in listed)
        return listed if ok else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if name not in _WHOLE or isinstance(value, int) else None
