"""Models by provider and name: echo, and whatever the agent library knows by environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from threading import Lock
from typing import Any

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider

from versioning.runtime.echo import echo_model
from versioning.runtime.errors import NoModel, ProviderUnavailable
from versioning.runtime.redaction import redacted

_ECHO = echo_model()

# Where a provider's variable is not its own name with _API_KEY behind it.
_VARIABLES = {
    "azure": "AZURE_OPENAI_API_KEY",
    "bedrock": "AWS_ACCESS_KEY_ID",
    "cohere": "CO_API_KEY",
    "google-cloud": "GOOGLE_APPLICATION_CREDENTIALS",
    "huggingface": "HF_TOKEN",
}
_FAMILIES = re.compile(r"^(openai|google|azure)-(chat|responses|decisions)$")


class Providers:
    """The providers of one event loop, each made once: its connections belong to that loop."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, int], Provider[Any]] = {}
        self._lock = Lock()

    def model(self, agent_id: str, model: Mapping[str, Any] | None) -> Model:
        """Return the model that `{"provider", "name"}` names.

        Raises `NoModel` when there is none, `ProviderUnavailable` for a provider that is unknown,
        not installed or without credentials, saying which variable to set.
        """
        if not model or not model.get("provider") or not model.get("name"):
            raise NoModel(f"The agent {agent_id!r} has no model: give it one with a provider and a name.")
        provider = str(model["provider"])
        if provider == "echo":
            return _ECHO
        try:
            return infer_model(f"{_kind(provider)}:{model['name']}", provider_factory=self._provider)
        except ProviderUnavailable:
            raise
        except Exception as fault:  # whatever a provider's own library makes of its configuration
            raise ProviderUnavailable(_reason(provider, fault)) from fault

    async def aclose(self) -> None:
        """Close the connections of all providers; on the loop that used them."""
        for provider in self._made.values():
            # Leaving a provider closes the client that it made for itself.
            async with provider:
                pass
        self._made.clear()

    def _provider(self, name: str) -> Provider[Any]:
        variable = credential_variable(name)
        if not os.environ.get(variable, "unset").strip():
            raise ProviderUnavailable(f"The provider {name!r} has no credentials: {variable} is empty.")
        # A changed key or address takes effect at once, so the environment is part of the name.
        key = (name, hash(frozenset(os.environ.items())))
        with self._lock:
            if key not in self._made:
                self._made[key] = infer_provider(name)
            return self._made[key]


def credential_variable(provider: str) -> str:
    """Return the environment variable that usually holds the provider's credentials."""
    family = _FAMILIES.sub(r"\1", provider)
    return _VARIABLES.get(family) or f"{re.sub(r'[^A-Za-z0-9]', '_', family).upper()}_API_KEY"


def _kind(provider: str) -> str:
    """Return the agent library's name for the provider.

    Behind an address of one's own stands a compatible server, and what these have in common is
    the chat completions API; `openai-responses` asks for the other one by name.
    """
    return "openai-chat" if provider == "openai" and os.environ.get("OPENAI_BASE_URL") else provider


def _reason(provider: str, fault: Exception) -> str:
    variable = credential_variable(provider)
    if isinstance(fault, ImportError):
        return (
            f"The provider {provider!r} is not installed: {redacted(str(fault))} "
            f"It also needs the environment variable {variable}."
        )
    named = re.findall(r"`([A-Z][A-Z0-9_]+)`", str(fault)) if isinstance(fault, UserError) else []
    if named:
        variables = " or ".join(named)
        return f"The provider {provider!r} has no credentials: set the environment variable {variables}."
    if isinstance(fault, ValueError) and "Unknown provider" in str(fault):
        return (
            f"The provider {provider!r} is unknown. There are echo, openai (set OPENAI_API_KEY), anthropic "
            "(set ANTHROPIC_API_KEY), google (set GOOGLE_API_KEY) and the others of pydantic-ai."
        )
    return f"The provider {provider!r} cannot be used: {redacted(str(fault))} Look at {variable}."
