"""Models by provider and name: echo, and the providers listed in `known_providers`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from threading import Lock
from typing import Any

from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider

from versioning.runtime.echo import echo_model
from versioning.runtime.error_answers import reveal_errors
from versioning.runtime.errors import NoModel, ProviderUnavailable
from versioning.runtime.failures import redacted
from versioning.runtime.known_providers import KNOWN_PROVIDERS

_ECHO = echo_model()


class Providers:
    """The providers of one event loop; each is created once, since its connections belong to the loop.

    Without `asks_again` their libraries report a refusal at once, where they have a setting for that.
    """

    def __init__(self, *, asks_again: bool = True) -> None:
        self._asks_again = asks_again
        self._made: dict[tuple[str, int], Provider[Any]] = {}
        self._lock = Lock()

    def model(self, agent_id: str, model: Mapping[str, Any] | None) -> Model:
        """Return the model for `{"provider", "name"}`.

        Raises `NoModel` if there is none, and `ProviderUnavailable` for a provider that is unknown, not
        installed or without credentials; the message says which variable to set.
        """
        if not model or not model.get("provider") or not model.get("name"):
            raise NoModel(f"The agent {agent_id!r} has no model: give it one with a provider and a name.")
        provider = str(model["provider"])
        if provider == "echo":
            return _ECHO
        _check(provider)
        try:
            return infer_model(f"{_kind(provider)}:{model['name']}", provider_factory=self._provider)
        except Exception as error:  # each provider's library has its own errors of configuration
            raise ProviderUnavailable(_reason(provider, error)) from error

    async def aclose(self) -> None:
        """Close the connections of all providers; must run on the loop that used them."""
        for provider in self._made.values():
            # Leaving a provider's context closes the client that it created.
            async with provider:
                pass
        self._made.clear()

    def _provider(self, name: str) -> Provider[Any]:
        # A changed key or address takes effect at once, because the environment is part of the cache key.
        key = (name, hash(frozenset(os.environ.items())))
        with self._lock:
            if key not in self._made:
                self._made[key] = made = infer_provider(name)
                client: Any = getattr(made, "client", None)
                if not self._asks_again and hasattr(client, "max_retries"):
                    client.max_retries = 0
                reveal_errors(client)
            return self._made[key]


def _check(provider: str) -> None:
    """Raise `ProviderUnavailable` unless the provider is known, installed and configured.

    This does not load the provider's library: some look for credentials on the network.
    """
    known = KNOWN_PROVIDERS.get(provider)
    if known is None:
        names = ", ".join(["echo", *KNOWN_PROVIDERS])
        raise ProviderUnavailable(
            f"The provider {provider!r} is unknown. There are {names}; for a server that is compatible with "
            "OpenAI's name openai, and set the environment variable OPENAI_BASE_URL and, if it wants a key, "
            "OPENAI_API_KEY."
        )
    if not known.is_installed:
        raise ProviderUnavailable(
            f"The provider {provider!r} is not installed: install pydantic-ai-slim[{known.extra}]. "
            f"It also needs the environment: {known.variables}."
        )
    if known.missing is not None:
        raise ProviderUnavailable(f"The provider {provider!r} has no credentials: {known.missing}.")


def _kind(provider: str) -> str:
    """Return the agent library's name for the provider.

    With a custom base URL the server is assumed to support the chat completions API, which compatible
    servers have in common; `openai-responses` selects the other API.
    """
    return "openai-chat" if provider == "openai" and os.environ.get("OPENAI_BASE_URL") else provider


def _reason(provider: str, error: Exception) -> str:
    variables = KNOWN_PROVIDERS[provider].variables
    return f"The provider {provider!r} cannot be used: {redacted(str(error))} Look at {variables}."
