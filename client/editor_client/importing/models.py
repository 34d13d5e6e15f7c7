"""Models and their settings: from the words of other systems to `model` and `defaultOptions`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from editor_client.importing import credentials
from editor_client.importing.collection import Collection, Config, shown

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
_PREFIX: Final = re.compile(
    r"(?!ft:)(?:([A-Za-z][\w-]*)/|"
    r"(openai|anthropic|google|vertex|mistral|azure|bedrock|ollama|groq|openrouter|cohere|deepseek|xai)"
    r"(?::(?:chat|responses|messages|completion))?:)(?=[^/])"
)
_NO_NAME: Final = re.compile(r"://|\s|[\x00-\x1f\x7f-\x9f]")


def settings_from(
    given: Mapping[str, Any], collection: Collection, where: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of the model, and the members that are none; credentials are in neither."""
    settings: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, value in credentials.without(dict(given), collection, where).items():
        ours = SETTINGS.get(_snake(name))
        fitting = None if ours is None else _fitting(ours, value)
        if ours is None:
            others[name] = value
        elif fitting is None and value is not None:
            collection.lose("setting", where, f"{shown(name)} is {shown(value)}, which is no value for it.")
            others[name] = value
        elif fitting is not None:
            settings[ours] = fitting
    return settings, others


def model_from(
    name: Any, collection: Collection, where: str, *, provider: Any = None
) -> dict[str, Any] | None:
    """Return the model by provider and name; None, which is noted, if they are not known."""
    if not isinstance(name, str) or not name.strip():
        return None
    text = name.strip()
    if not isinstance(provider, str) or not provider.strip():
        provider, text = _split(text)
        if not provider:
            provider = next((one for pattern, one in _PROVIDERS if pattern.match(text)), None)
            if provider is not None:
                message = f"The source names no provider of {shown(text)}; it is taken to be {provider}."
                collection.lose("model_provider", where, message)
    if not provider or _NO_NAME.search(text) or not text:
        message = f"The model {shown(name)!r} is left out: its provider is not known, or it is no name."
        collection.lose("model", where, message)
        return None
    return {"provider": provider.strip(), "name": text}


def with_model(config: Config, model: dict[str, Any] | None, settings: Mapping[str, Any]) -> Config:
    """Return the configuration of an agent with its model and settings, where there are any."""
    more: Config = {} if model is None else {"model": model}
    if settings:
        more["defaultOptions"] = {"modelSettings": dict(settings)}
    return {**config, **more}


def _split(text: str) -> tuple[str | None, str]:
    """Return the provider in `openai/gpt-4o` or `openai:chat:gpt-4o`, if there is one, and the name."""
    match = _PREFIX.match(text)
    return (match[1] or match[2], text[match.end() :]) if match else (None, text)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _fitting(name: str, value: Any) -> Any:
    """Return a value as the setting takes it, or None."""
    if name == "stopSequences":
        listed = [value] if isinstance(value, str) else value
        ok = isinstance(listed, list) and all(isinstance(one, str) for one in listed)
        return listed if ok else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if name not in _WHOLE or isinstance(value, int) else None
