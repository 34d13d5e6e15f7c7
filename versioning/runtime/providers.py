"""Models by provider and name: echo, and the providers of a catalog."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any, Final

import httpx2
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, create_async_httpx2_client, infer_model
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

from versioning.domain.provider_catalog import (
    BUILT_IN,
    ECHO,
    ConfiguredProvider,
    KnownProvider,
    ProviderCatalog,
    is_installed,
)
from versioning.runtime.delegation import DELEGATES_TO
from versioning.runtime.errors import NoModel, ProviderUnavailable
from versioning.runtime.failures import conceal, redact, reveal_errors

_CALL_ID = "echo-1"


def echo_model() -> FunctionModel:
    """Return the model; it has no state, so one serves all runs."""
    return FunctionModel(_respond, stream_function=_stream, model_name="echo")


async def _respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    tool_name = _next_delegation(messages, info)
    if tool_name is not None:
        args = {"message": _last_prompt(messages)}
        return ModelResponse(parts=[ToolCallPart(tool_name, args, tool_call_id=_CALL_ID)])
    return ModelResponse(parts=[TextPart(_answer(messages, info))])


async def _stream(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    tool_name = _next_delegation(messages, info)
    if tool_name is not None:
        args = json.dumps({"message": _last_prompt(messages)})
        yield {0: DeltaToolCall(name=tool_name, json_args=args, tool_call_id=_CALL_ID)}
        return
    for piece in re.findall(r"\S*\s*", _answer(messages, info)):
        yield piece


def _next_delegation(messages: Sequence[ModelMessage], info: AgentInfo) -> str | None:
    """Return the tool to delegate with, or None if there is none or it was used already."""
    if _tool_answer(messages) is not None:
        return None
    tools = (tool.name for tool in info.function_tools if DELEGATES_TO in (tool.metadata or {}))
    return next(tools, None)


def _answer(messages: Sequence[ModelMessage], info: AgentInfo) -> str:
    parts = (info.instructions, _last_prompt(messages), _tool_answer(messages))
    return "\n\n".join(part for part in parts if part)


def _last_prompt(messages: Sequence[ModelMessage]) -> str:
    prompts = [
        part.content
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart) and isinstance(part.content, str)
    ]
    return prompts[-1]


def _tool_answer(messages: Sequence[ModelMessage]) -> str | None:
    parts = messages[-1].parts if isinstance(messages[-1], ModelRequest) else ()
    return next((part.model_response_str() for part in parts if isinstance(part, ToolReturnPart)), None)


_ECHO = echo_model()
_NO_KEY: Final = "no-key"
"""The placeholder for libraries that require a key if none is configured."""
_KEY_HEADERS: Final = ("Authorization", "X-Api-Key", "Api-Key")
_OPENAI_URL: Final = "https://api.openai.com/v1"
_DEFAULT_URLS: Final = {
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com",
    "groq": "https://api.groq.com",
    "heroku": "https://us.inference.heroku.com",
    "moonshotai": "https://api.moonshot.ai/v1",
    "openai": _OPENAI_URL,
    "openai-chat": _OPENAI_URL,
    "openai-responses": _OPENAI_URL,
    "sambanova": "https://api.sambanova.ai/v1",
}
"""The addresses of the kinds whose library would otherwise read one from the environment."""
_CUSTOM_HEADERS: Final = ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS")
"""The variables with further headers, one `Name: value` per line."""


class Providers:
    """The providers of one event loop; each is created once, since its connections belong to the loop.

    Without `asks_again` their libraries do not retry after a refusal, if they have a setting for that.
    """

    def __init__(self, *, asks_again: bool = True) -> None:
        self._asks_again = asks_again
        self._made: dict[tuple[Any, int], Provider[Any]] = {}
        self._connections: list[httpx2.AsyncClient] = []
        self._lock = Lock()

    def model(
        self, agent_id: str, model: Mapping[str, Any] | None, catalog: ProviderCatalog = BUILT_IN
    ) -> Model:
        """Return the model for `{"provider", "name"}`.

        Raises `NoModel` if there is none, and `ProviderUnavailable` for a provider that is unknown, not
        installed or without credentials; the message says which variable to set.
        """
        if not model or not model.get("provider") or not model.get("name"):
            raise NoModel(f"The agent {agent_id!r} has no model: give it one with a provider and a name.")
        provider, name = str(model["provider"]), str(model["name"])
        if provider == ECHO:
            return _ECHO
        if provider in catalog.own:
            return _model_of_project(provider, catalog.own[provider], name)
        entry = catalog.find(provider)
        if entry is None:
            raise ProviderUnavailable(
                f"The provider {provider!r} is unknown. There are {', '.join(catalog.names)}; for an "
                "OpenAI-compatible server add one to EDITOR_PROVIDERS, or name openai and set the "
                "environment variable OPENAI_BASE_URL and, if it wants a key, OPENAI_API_KEY."
            )
        _check(provider, entry)
        try:
            if isinstance(entry, ConfiguredProvider):
                kind = _library_kind(entry.kind, has_url=entry.base_url is not None)
                make = partial(self._make_as_configured, entry)
                return infer_model(f"{kind}:{name}", provider_factory=lambda _: self._once(entry, make))
            kind = _library_kind(provider, has_url=bool(os.environ.get("OPENAI_BASE_URL")))
            return infer_model(
                f"{kind}:{name}",
                provider_factory=lambda built_in: self._once(built_in, lambda: infer_provider(built_in)),
            )
        except Exception as error:  # each provider's library has its own errors of configuration
            where = "EDITOR_PROVIDERS" if isinstance(entry, ConfiguredProvider) else entry.variables
            message = f"The provider {provider!r} cannot be used: {redact(str(error))} Look at {where}."
            raise ProviderUnavailable(message) from error

    async def aclose(self) -> None:
        """Close the connections of all providers; must run on the loop that used them."""
        for provider in self._made.values():
            # Leaving a provider's context closes the client that it created.
            async with provider:
                pass
        for connections in self._connections:
            await connections.aclose()
        self._made.clear()
        self._connections.clear()

    def _once(self, identity: Any, make: Any) -> Provider[Any]:
        # A changed key or address takes effect at once, because the environment is part of the cache key.
        key = (identity, hash(frozenset(os.environ.items())))
        with self._lock:
            if key not in self._made:
                self._made[key] = provider = make()
                client: Any = getattr(provider, "client", None)
                if not self._asks_again and hasattr(client, "max_retries"):
                    client.max_retries = 0
                reveal_errors(client)
            return self._made[key]

    def _make_as_configured(self, configured: ConfiguredProvider) -> Provider[Any]:
        """Create the provider with exactly this address and key, ignoring the variables of its kind."""
        create: Any = infer_provider_class(configured.kind)
        accepted = inspect.signature(create.__init__).parameters
        key = os.environ[configured.key_variable].strip() if configured.key_variable else None
        conceal(key)
        arguments: dict[str, Any] = {"api_key": key or _NO_KEY}
        if key is None and configured.extra in {"openai", "anthropic"}:
            arguments["http_client"] = self._without_key()
        base_url = configured.base_url or _DEFAULT_URLS.get(configured.kind)
        if base_url is not None and "base_url" in accepted:
            arguments["base_url"] = base_url
        provider: Provider[Any] = create(**arguments)
        client: Any = provider.client
        if base_url is not None and "base_url" not in accepted:
            client.base_url = base_url
        for name in ("organization", "project", "auth_token"):
            if hasattr(client, name):
                setattr(client, name, None)
        lines = (line for variable in _CUSTOM_HEADERS for line in os.environ.get(variable, "").splitlines())
        custom = {line.partition(":")[0].strip() for line in lines}
        if custom and hasattr(client, "_custom_headers"):
            client._custom_headers = {  # noqa: SLF001  there is no other way to remove one
                name: value
                for name, value in client._custom_headers.items()  # noqa: SLF001  as above
                if name not in custom
            }
        return provider

    def _without_key(self) -> httpx2.AsyncClient:
        """Return connections that send no key: the library would send one in any case."""

        async def drop_key(request: httpx2.Request) -> None:
            for name in _KEY_HEADERS:
                request.headers.pop(name, None)

        client = create_async_httpx2_client()
        client.event_hooks = {**client.event_hooks, "request": [*client.event_hooks["request"], drop_key]}
        self._connections.append(client)
        return client


def _model_of_project(name: str, definition: Any, model_name: str) -> Model:
    """Return a model of a provider that the project defines; raises `ProviderUnavailable`."""
    try:
        if isinstance(definition, Provider):
            has_url = "api.openai.com" not in definition.base_url
            kind = _library_kind(definition.name, has_url=has_url)
            result: Any = infer_model(f"{kind}:{model_name}", provider_factory=lambda _: definition)
        else:
            result = definition(model_name)
    except Exception as error:
        reason = redact(f"{type(error).__name__}: {error}")
        raise ProviderUnavailable(
            f"The provider {name!r}, which the application defines, cannot be used: {reason}"
        ) from error
    if not isinstance(result, Model):
        raise ProviderUnavailable(
            f"The provider {name!r}, which the application defines, returned no pydantic-ai model, but "
            f"{type(result).__name__}."
        )
    for model in getattr(result, "models", [result]):  # the models of a fallback
        client = getattr(model, "client", None)
        conceal(getattr(client, "api_key", None))
        reveal_errors(client)
    return result


def _check(provider: str, entry: KnownProvider | ConfiguredProvider) -> None:
    """Raise `ProviderUnavailable` unless the provider is installed and configured.

    This does not load the provider's library: some look for credentials on the network.
    """
    if not is_installed(entry.extra):
        needs = (
            ""
            if isinstance(entry, ConfiguredProvider)
            else f" It also needs the environment: {entry.variables}."
        )
        raise ProviderUnavailable(
            f"The provider {provider!r} is not installed: install pydantic-ai-slim[{entry.extra}].{needs}"
        )
    if entry.missing_variable is None:
        return
    missing = (
        f"set the environment variable {entry.missing_variable}"
        if isinstance(entry, ConfiguredProvider)
        else entry.missing
    )
    raise ProviderUnavailable(f"The provider {provider!r} has no credentials: {missing}.")


def _library_kind(kind: str, *, has_url: bool) -> str:
    """Return the agent library's name for a kind of providers.

    With a custom base URL the server is assumed to support the chat completions API, which compatible
    servers have in common; `openai-responses` selects the other API.
    """
    return "openai-chat" if kind == "openai" and has_url else kind
