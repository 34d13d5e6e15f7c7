"""Warnings about parts of a saved configuration without effect on runs. They never prevent a save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from editor_client.shared.instructions import placeholders

from versioning.domain import run_options
from versioning.domain.agents import Notice, Registry
from versioning.domain.closed_paths import closed_paths
from versioning.domain.config import Config
from versioning.domain.context_schema import SCHEMA_FIELD
from versioning.domain.errors import Message
from versioning.domain.kinds import ResourceKind
from versioning.domain.provider_catalog import (
    OwnPrice,
    ProviderCatalog,
    configured_providers,
    own_prices,
)
from versioning.domain.texts import invisible_runs_in

MAX_INVISIBLE: Final = 100
"""The maximum number of warnings about invisible characters."""
MAX_PLACEHOLDERS: Final = 10_000
"""How many placeholders of a configuration are checked."""


def provider_catalog(code: Registry) -> ProviderCatalog:
    """Return the model providers that agents may name: built in, of `EDITOR_PROVIDERS`, and of the code.

    Raises `ImproperlyConfigured` for a setting that cannot be read.
    """
    value = settings.EDITOR_PROVIDERS
    try:
        configured = _providers_of_text(value) if isinstance(value, str) else configured_providers(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"EDITOR_PROVIDERS {error}") from error
    return ProviderCatalog(configured=configured, own=code.providers)


def configured_prices() -> Mapping[str, OwnPrice]:
    """Return the prices of `EDITOR_PRICES`; raises `ImproperlyConfigured` if they cannot be read."""
    value = settings.EDITOR_PRICES
    try:
        return _prices_of_text(value) if isinstance(value, str) else own_prices(value)
    except ValueError as error:
        raise ImproperlyConfigured(f"EDITOR_PRICES {error}") from error


_prices_of_text: Final = lru_cache(maxsize=4)(own_prices)


_providers_of_text: Final = lru_cache(maxsize=4)(configured_providers)


def configuration_warnings(kind: ResourceKind, config: Config, code: Registry) -> Iterator[Notice]:
    """Yield the warnings about a model and options that runs cannot use or do not read."""
    if "model" in config and kind.asks_model(config):
        catalog = provider_catalog(code)
        for field, model in _values(config, "model"):
            problem = catalog.problem(str(model.get("provider")))
            if problem is not None:
                yield Notice("provider_unavailable", problem, f"{field}.provider")
            for path, message in run_options.unread_of_model(model, takes_settings=kind.is_run):
                yield Notice("unknown_option", message, f"{field}.{path}")
    if "defaultOptions" in config and kind.is_run:
        for field, options in _values(config, "defaultOptions"):
            for path, message in run_options.unread_of_options(options):
                yield Notice("unknown_option", message, f"{field}.{path}")


def invisible_characters(config: Config) -> Iterator[Notice]:
    """Yield a warning for each run of characters that a reader of the configuration does not see."""
    for field, run in islice(invisible_runs_in(config), MAX_INVISIBLE):
        message = Message(
            "Invisible characters: {count} after {position} characters, beginning with {code_point}. "
            "The model reads them, but people cannot see them.",
            count=len(run.text),
            position=run.position,
            code_point=run.code_point,
        )
        yield Notice("invisible_characters", message, field, position=run.position, code_point=run.code_point)


def unknown_placeholders(kind: ResourceKind, config: Config) -> Iterator[Notice]:
    """Yield a warning for each placeholder that has no value under the configuration's own schema."""
    schema = config.get(SCHEMA_FIELD)
    if not isinstance(schema, Mapping) or not kind.has_preview:
        return
    occurrences: dict[tuple[str, str], None] = {}
    for field, text in _texts(kind, config):
        for path, _fallback in placeholders(text):
            occurrences[field, path] = None
            if len(occurrences) >= MAX_PLACEHOLDERS:
                break
    if not occurrences:
        return
    closed = set(closed_paths(schema, dict.fromkeys(path for _field, path in occurrences)))
    for field, path in occurrences:
        if path in closed:
            message = Message(
                "The context schema allows no value at {path!r}, so this placeholder is never filled in.",
                path=path,
            )
            yield Notice("unknown_placeholder", message, field)


def _texts(kind: ResourceKind, config: Config) -> Iterator[tuple[str, str]]:
    """Yield (field, text) for the texts of a configuration in which placeholders are filled in."""
    text = config.get(kind.text_field)
    if isinstance(text, str):
        # The instructions of an agent are used as they are.
        if not kind.is_run:
            yield kind.text_field, text
        return
    for position, block in enumerate(text or ()):
        if isinstance(block.get("content"), str):
            yield f"{kind.text_field}.{position}.content", block["content"]


def _values(config: Config, field: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (field, value) for each object that a field may have, conditional variants included."""
    value = config.get(field)
    if isinstance(value, Mapping):
        yield field, value
    for position, variant in enumerate(value if isinstance(value, list) else ()):
        inner = variant.get("value") if isinstance(variant, Mapping) else None
        if isinstance(inner, Mapping):
            yield f"{field}.{position}.value", inner
