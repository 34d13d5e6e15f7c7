"""The model providers that agents may name: built in, of the settings, and their prices."""

from __future__ import annotations

import datetime
import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from functools import cache, cached_property
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlsplit

from editor_client.shared import ids

from versioning.domain.config import UNCHANGED, Shape, raise_for_issues
from versioning.domain.errors import Invalid, Message


def read_object(value: str | Mapping[str, Any], *, example: str) -> Mapping[str, Any]:
    """Return the members of a setting given as JSON or as a value; empty means none. Numbers are exact.

    Raises `ValueError` with a sentence and an example for an invalid value. A duplicate member is invalid,
    because one of the two would be lost.
    """
    if not value:
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value, parse_float=Decimal, object_pairs_hook=_without_duplicates)
        except json.JSONDecodeError as error:
            raise ValueError(f"is not JSON: {error}") from None
    if not isinstance(value, Mapping):
        raise ValueError(f"must be an object, such as {example}")  # noqa: TRY004  as for all other faults
    return value


def _without_duplicates(members: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    by_name: dict[str, Any] = {}
    for name, value in members:
        if name in by_name:
            raise ValueError(f"names {name!r} twice")
        by_name[name] = value
    return by_name


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
        return is_installed(self.extra)

    @property
    def empty_variables(self) -> list[str]:
        """The variables that are set, but empty.

        They count as errors even if another alternative is complete, because some libraries would use the
        empty text as the key.
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
        """The missing part of the environment, in words; None if everything is set."""
        if self.missing_variable is None:
            return None
        if empty := self.empty_variables:
            return f"{' and '.join(empty)} is empty"
        plural = "s" if len(self.alternatives[0]) > 1 else ""
        return f"set the environment variable{plural} {self.variables}"

    @property
    def is_a_kind(self) -> bool:
        """Whether it needs only a key and an address, so that others can be configured like it."""
        return all(len(alternative) == 1 for alternative in self.alternatives)

    @property
    def takes_url(self) -> bool:
        return self.extra not in {"cohere", "xai"}

    @property
    def has_default_url(self) -> bool:
        """Whether the library has a default address; self-hosted servers have none."""
        return not self.is_a_kind or self.alternatives[0][0] not in {"OLLAMA_BASE_URL", "VLLM_BASE_URL"}


@cache
def is_installed(extra: str) -> bool:
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
ECHO: Final = "echo"
"""The provider that is built in and needs nothing."""
CODE: Final = "code"
"""The kind of the providers that a project defines itself."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class ConfiguredProvider:
    """A provider of the configuration: one of a built-in kind, with its own address and key."""

    kind: str
    base_url: str | None = None
    key_variable: str | None = None
    """The environment variable with the key; None if no key is sent."""

    @property
    def extra(self) -> str:
        return KNOWN_PROVIDERS[self.kind].extra

    @property
    def missing_variable(self) -> str | None:
        """The variable of its key, if that is not set or empty."""
        name = self.key_variable
        return name if name is not None and not os.environ.get(name, "").strip() else None


@dataclass(frozen=True, kw_only=True)
class ListedProvider:
    """A provider, and its missing package or variable."""

    name: str
    kind: str
    missing_extra: str | None = None
    """The extra of the agent library that is not installed."""
    missing_variable: str | None = None
    """The first environment variable that is not set, or empty."""

    @property
    def is_ready(self) -> bool:
        return self.missing_extra is None and self.missing_variable is None

    @property
    def problem(self) -> Message | None:
        """Why agents cannot run with it; None if they can."""
        if self.missing_extra is not None:
            return Message(
                "The provider {name!r} cannot be used until pydantic-ai-slim[{extra}] is installed.",
                name=self.name,
                extra=self.missing_extra,
            )
        if self.missing_variable is not None:
            return Message(
                "The provider {name!r} cannot be used until the environment variable {variable} is set.",
                name=self.name,
                variable=self.missing_variable,
            )
        return None


@dataclass(frozen=True)
class ProviderCatalog:
    """All providers by name."""

    configured: Mapping[str, ConfiguredProvider] = field(default_factory=dict)
    own: Mapping[str, Any] = field(default_factory=dict)
    """Those of the project: a provider of the agent library, or a function from a model's name to a model."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({ECHO, *KNOWN_PROVIDERS, *self.configured, *self.own}))

    def find(self, name: str) -> KnownProvider | ConfiguredProvider | None:
        """Return a provider that is neither `echo` nor the project's own; None for an unknown one."""
        return self.configured.get(name) or KNOWN_PROVIDERS.get(name)

    def describe(self, name: str) -> ListedProvider | None:
        """Return a provider with its missing package or variable; None for an unknown provider."""
        if name == ECHO:
            return ListedProvider(name=name, kind=ECHO)
        if name in self.own:
            return ListedProvider(name=name, kind=CODE)
        provider = self.find(name)
        if provider is None:
            return None
        kind = provider.kind if isinstance(provider, ConfiguredProvider) else name
        if not is_installed(provider.extra):
            return ListedProvider(name=name, kind=kind, missing_extra=provider.extra)
        return ListedProvider(name=name, kind=kind, missing_variable=provider.missing_variable)

    def kind_of(self, name: str) -> str | None:
        """Return the built-in provider that it is configured like, or itself; None for the project's own."""
        configured = self.configured.get(name)
        return configured.kind if configured is not None else None if name in self.own else name

    def all(self) -> list[ListedProvider]:
        return [provider for name in self.names if (provider := self.describe(name)) is not None]

    def problem(self, name: str) -> Message | None:
        """Return why agents cannot run with the provider of this name; None if they can."""
        provider = self.describe(name)
        if provider is not None:
            return provider.problem
        similar = get_close_matches(name, self.names, n=1)
        if similar:
            return Message(
                "There is no provider {name!r}. Do you mean {other!r}?", name=name, other=similar[0]
            )
        return Message("There is no provider {name!r}.", name=name)


BUILT_IN: Final = ProviderCatalog()
"""The catalog without any configuration."""


def own_providers(providers: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the providers that a project defines, by name.

    Raises `ValueError` for a name that is invalid or built in, and `TypeError` for any object except a
    provider of the agent library or a function.
    """
    for name, provider in providers.items():
        problem = _name_problem(name)
        if problem is not None:
            raise ValueError(f"the provider {name!r}: its name {problem}")
        # A provider is an object of the agent library, so the library is loaded by then.
        library: Any = sys.modules.get("pydantic_ai.providers")
        is_provider = library is not None and isinstance(provider, library.Provider)
        if not is_provider and (isinstance(provider, type) or not callable(provider)):
            raise TypeError(
                f"the provider {name!r} must be a pydantic-ai provider, or a function that takes the name of "
                f"a model and returns a pydantic-ai model, and is {provider!r}"
            )
    return MappingProxyType(dict(providers))


def configured_providers(value: str | Mapping[str, Any]) -> Mapping[str, ConfiguredProvider]:
    """Return the providers of `EDITOR_PROVIDERS`, given as JSON or as a value; empty text means none.

    Raises `ValueError` with a sentence for an invalid value.
    """
    example = '{"vllm-a": {"kind": "openai", "baseUrl": "http://127.0.0.1:8001/v1"}}'
    return {name: _read_provider(name, entry) for name, entry in read_object(value, example=example).items()}


def _name_problem(name: object) -> str | None:
    if not isinstance(name, str):
        return "must be text"
    if name == ECHO or name in KNOWN_PROVIDERS:
        return "is the name of a built-in provider"
    return ids.label_problem(name)


class _ProviderFields(Shape):
    """A provider as `EDITOR_PROVIDERS` describes it."""

    kind: str
    base_url: str = UNCHANGED
    key_variable: str = UNCHANGED


def _read_provider(name: str, definition: Any) -> ConfiguredProvider:
    problem = _name_problem(name)
    if problem is not None:
        raise ValueError(f"has the provider {name!r}, whose name {problem}")
    try:
        raise_for_issues(_ProviderFields, definition)
    except Invalid as error:
        issues = (
            f"{name if issue.field == 'body' else f'{name}.{issue.field}'} {issue.message}"
            for issue in error.issues
        )
        raise ValueError(f"is not right: {'; '.join(issues)}") from None
    kind, url, variable = definition["kind"], definition.get("baseUrl"), definition.get("keyVariable")
    problem = _kind_problem(kind, url)
    if problem is None and variable is not None and not _VARIABLE.fullmatch(variable):
        problem = "keyVariable must be the name of an environment variable, not the key itself"
    if problem is not None:
        raise ValueError(f"is not right: {name}: {problem}")
    return ConfiguredProvider(kind=kind, base_url=url, key_variable=variable)


def _kind_problem(kind: str, url: str | None) -> str | None:
    kinds = [name for name, provider in KNOWN_PROVIDERS.items() if provider.is_a_kind]
    if kind not in kinds:
        return f"kind must be one of {', '.join(kinds)}, not {kind!r}"
    known_provider = KNOWN_PROVIDERS[kind]
    if url is None:
        return None if known_provider.has_default_url else f"the kind {kind} needs a baseUrl"
    if not known_provider.takes_url:
        return f"the kind {kind} takes no baseUrl"
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    return None if is_address else "baseUrl must be an address such as http://127.0.0.1:8001/v1"


PATTERN: Final = r"^(?!.*://)[^\s\u0000-\u001f\u007f-\u009f]+$"
"""The names that `problem` accepts, as a regular expression."""


def problem(name: str) -> str | None:
    """Return why the text cannot name a model, or None if it can."""
    if "://" in name:
        return Message("must be a name, not an address")
    if any(character.isspace() or unicodedata.category(character) == "Cc" for character in name):
        return Message("must have no white space and no control characters")
    return None


def stored_problem(model: Mapping[str, Any] | None) -> str | None:
    """Return the same for a model that may have been saved before this rule existed."""
    name = (model or {}).get("name")
    return problem(name) if isinstance(name, str) else None


CURRENCY: Final = "USD"
BILLION: Final = 10**9
"""Costs are stored in billionths of a dollar."""
_MILLION: Final = 10**6
_MEMBERS: Final = frozenset({"input", "output"})
_HIGHEST: Final = 10**6


@dataclass(frozen=True, slots=True)
class OwnPrice:
    """The price of a model, in US dollars for a million tokens."""

    input: Decimal
    output: Decimal

    def of(self, input_tokens: int, output_tokens: int) -> Decimal:
        return (self.input * input_tokens + self.output * output_tokens) / _MILLION


def own_prices(value: str | Mapping[str, Any]) -> Mapping[str, OwnPrice]:
    """Return the prices of `EDITOR_PRICES` by `provider/model`, from JSON or its value; empty means none.

    Raises `ValueError` with a sentence for an invalid value.
    """
    prices = read_object(value, example='{"vllm-a/qwen3-8b": {"input": 0.1, "output": 0.4}}')
    return {name: _price(name, price) for name, price in prices.items()}


def _price(name: object, price: Any) -> OwnPrice:
    provider, _, model = str(name).partition("/")
    if not provider or not model:
        raise ValueError(f"names the model {name!r}, which must be provider/model")
    if not isinstance(price, Mapping) or price.keys() != _MEMBERS:
        raise ValueError(f"{name}: must be an object with input and output, and nothing else")
    return OwnPrice(input=_amount(name, price["input"]), output=_amount(name, price["output"]))


def _amount(name: object, value: Any) -> Decimal:
    try:
        amount = Decimal("NaN") if isinstance(value, bool) else Decimal(str(value))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 <= amount <= _HIGHEST:
        raise ValueError(
            f"{name}: a price must be a number from 0 to {_HIGHEST}, in dollars for a million tokens"
        )
    return amount


def plus(cost: Decimal | None, other: Decimal | None) -> Decimal | None:
    """Return the sum of two costs; None, because unknown, if one of them is."""
    return None if cost is None or other is None else cost + other


def in_billionths(cost: Decimal | None) -> int:
    """Return a cost as it is stored; 0 for an unknown one, which is counted separately."""
    return 0 if cost is None else round(cost * BILLION)


def from_billionths(stored: int) -> Decimal:
    return Decimal(stored) / BILLION


def cost_dict(cost: Decimal | None, prices_of: datetime.date | None) -> dict[str, Any] | None:
    """Return the JSON form of a cost; None for an unknown one.

    `prices_of` is the date of the price list; None if nothing was priced yet.
    """
    if cost is None or prices_of is None:
        return None
    amount = format(cost.normalize(), "f") if cost else "0"
    return {"amount": amount, "currency": CURRENCY, "estimate": True, "pricesOf": prices_of.isoformat()}
