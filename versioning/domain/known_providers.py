"""The built-in model providers, and what each needs.

The agent library knows more, some of which send prompts to a public address without credentials, sign in by
other means, or look for credentials on the network.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from types import MappingProxyType

# The extra of the agent library → the package that it installs.
_PACKAGES = {
    "anthropic": "anthropic",
    "bedrock": "boto3",
    "cohere": "cohere",
    "google": "google.genai",
    "groq": "groq",
    "huggingface": "huggingface_hub",
    "mistral": "mistralai",
    "openai": "openai",
    "xai": "xai_sdk",
}


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """A provider, with its environment variables and the extra of the agent library that it needs."""

    alternatives: tuple[tuple[str, ...], ...]
    """Sets of variables, one of which has to be set completely."""
    extra: str = "openai"

    @property
    def variables(self) -> str:
        """The required variables in words: `A and B, or C`."""
        return ", or ".join(" and ".join(names) for names in self.alternatives)

    @property
    def is_installed(self) -> bool:
        """Whether the package for the provider is installed."""
        return is_installed(self.extra)

    @property
    def empty_variables(self) -> list[str]:
        """The variables that are set, but empty.

        One counts as an error even if another alternative is complete: some libraries would use the empty
        text as the key.
        """
        names = dict.fromkeys(name for alternative in self.alternatives for name in alternative)
        return [name for name in names if not os.environ.get(name, "unset").strip()]

    @property
    def missing_variable(self) -> str | None:
        """The first variable that is empty, or that is not set; None if everything is set."""
        if empty := self.empty_variables:
            return empty[0]
        unset = [[name for name in names if name not in os.environ] for names in self.alternatives]
        # Of several alternatives, the one that lacks least.
        return min(unset, key=len)[0] if all(unset) else None

    @property
    def missing(self) -> str | None:
        """What is missing in the environment, in words; None if everything is set."""
        if self.missing_variable is None:
            return None
        if empty := self.empty_variables:
            return f"{' and '.join(empty)} is empty"
        plural = "s" if len(self.alternatives[0]) > 1 else ""
        return f"set the environment variable{plural} {self.variables}"

    @property
    def is_a_kind(self) -> bool:
        """Whether a key and an address are all that it needs, so that others can be configured like it."""
        return all(len(alternative) == 1 for alternative in self.alternatives)

    @property
    def takes_url(self) -> bool:
        """Whether the library accepts another address."""
        return self.extra not in {"cohere", "xai"}

    @property
    def has_default_url(self) -> bool:
        """Whether the library knows an address; a server of one's own has none."""
        return not self.is_a_kind or self.alternatives[0][0] not in {"OLLAMA_BASE_URL", "VLLM_BASE_URL"}


@cache
def is_installed(extra: str) -> bool:
    """Return whether the package of an extra of the agent library is installed."""
    try:
        return find_spec(_PACKAGES[extra]) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


def _key(*names: str, extra: str = "openai") -> KnownProvider:
    return KnownProvider(tuple((name,) for name in names), extra)


_AZURE = KnownProvider((("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"),))
_OPENAI = _key("OPENAI_API_KEY", "OPENAI_BASE_URL")

KNOWN_PROVIDERS: Mapping[str, KnownProvider] = MappingProxyType(
    {
        "alibaba": _key("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"),
        "anthropic": _key("ANTHROPIC_API_KEY", extra="anthropic"),
        "azure": _AZURE,
        "azure-responses": _AZURE,
        "bedrock": KnownProvider(
            (
                ("AWS_BEARER_TOKEN_BEDROCK", "AWS_DEFAULT_REGION"),
                ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"),
            ),
            extra="bedrock",
        ),
        "cerebras": _key("CEREBRAS_API_KEY"),
        "cohere": _key("CO_API_KEY", extra="cohere"),
        "crusoe": _key("CRUSOE_API_KEY"),
        "deepseek": _key("DEEPSEEK_API_KEY"),
        "fireworks": _key("FIREWORKS_API_KEY"),
        "google": _key("GOOGLE_API_KEY", "GEMINI_API_KEY", extra="google"),
        "google-cloud": KnownProvider(
            (
                ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"),
                ("GOOGLE_API_KEY",),
                ("GEMINI_API_KEY",),
            ),
            extra="google",
        ),
        "groq": _key("GROQ_API_KEY", extra="groq"),
        "heroku": _key("HEROKU_INFERENCE_KEY"),
        "huggingface": _key("HF_TOKEN", extra="huggingface"),
        "meta": _key("META_API_KEY"),
        "mistral": _key("MISTRAL_API_KEY", extra="mistral"),
        "moonshotai": _key("MOONSHOTAI_API_KEY"),
        "nebius": _key("NEBIUS_API_KEY"),
        "ollama": _key("OLLAMA_BASE_URL"),
        "openai": _OPENAI,
        "openai-chat": _OPENAI,
        "openai-responses": _OPENAI,
        "openrouter": _key("OPENROUTER_API_KEY"),
        "ovhcloud": _key("OVHCLOUD_API_KEY"),
        "sambanova": _key("SAMBANOVA_API_KEY"),
        "snowflake": KnownProvider((("SNOWFLAKE_ACCOUNT", "SNOWFLAKE_TOKEN"),)),
        "together": _key("TOGETHER_API_KEY"),
        "vercel": _key("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
        "vllm": _key("VLLM_BASE_URL"),
        "xai": _key("XAI_API_KEY", extra="xai"),
        "zai": _key("ZAI_API_KEY"),
    }
)
"""The providers by name; `echo` is built in and needs nothing."""
