"""The run options in an agent's configuration, and their values. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final

from versioning.domain.errors import Message

_NUMBER: Final = (int, float)
SETTINGS: Final[Mapping[str, tuple[str, tuple[type, ...]]]] = MappingProxyType(
    {
        "temperature": ("temperature", _NUMBER),
        "maxTokens": ("max_tokens", (int,)),
        "maxOutputTokens": ("max_tokens", (int,)),
        "topP": ("top_p", _NUMBER),
        "topK": ("top_k", (int,)),
        "presencePenalty": ("presence_penalty", _NUMBER),
        "frequencyPenalty": ("frequency_penalty", _NUMBER),
        "seed": ("seed", (int,)),
        "stopSequences": ("stop_sequences", (list,)),
        "timeout": ("timeout", _NUMBER),
        "maxRetries": ("max_retries", (int,)),
    }
)
"""The JSON name of a model setting → the agent library's name, and the allowed values."""
MODEL_SETTINGS: Final[Mapping[str, tuple[str, tuple[type, ...]]]] = MappingProxyType(
    {
        **{name: SETTINGS[name] for name in ("temperature", "topP", "frequencyPenalty", "presencePenalty")},
        "maxCompletionTokens": ("max_tokens", (int,)),
    }
)
"""The settings that `model` may contain besides its provider and name, in the same form."""
_MODEL: Final = ("provider", "name")
_OPTIONS: Final = ("maxSteps", "modelSettings")


def setting_problem(
    name: str, value: Any, known: Mapping[str, tuple[str, tuple[type, ...]]] = SETTINGS
) -> str | None:
    """Return why no run can use a setting with this value; None if one can. Null means not set."""
    if name not in known:
        return Message("is not a known setting; there are {names}", names=", ".join(known))
    types = known[name][1]
    if value is None or (isinstance(value, types) and not isinstance(value, bool)):
        texts = not isinstance(value, list) or all(isinstance(item, str) for item in value)
        return None if texts else Message("must be a list of texts")
    if list in types:
        return Message("must be a list of texts")
    return Message("must be a number") if float in types else Message("must be a whole number")


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def usable_settings(
    settings: Any, known: Mapping[str, tuple[str, tuple[type, ...]]] = SETTINGS
) -> dict[str, Any]:
    """Return the settings that a run can use, by the agent library's names; others are omitted."""
    if not isinstance(settings, Mapping):
        return {}
    return {
        known[name][0]: value
        for name, value in settings.items()
        if value is not None and setting_problem(name, value, known) is None
    }


def unread_of_model(model: Mapping[str, Any], *, takes_settings: bool) -> Iterator[tuple[str, Message]]:
    """Yield (path, why) for each member of a `model` that no run reads."""
    settings = MODEL_SETTINGS if takes_settings else {}
    for name, value in model.items():
        if name not in _MODEL:
            yield from _unread(name, name, value, settings, (*_MODEL, *settings))


def unread_of_options(options: Mapping[str, Any]) -> Iterator[tuple[str, Message]]:
    """Yield (path, why) for each member of `defaultOptions`, and of its model settings, that no run reads."""
    for name, value in options.items():
        if name not in _OPTIONS:
            yield name, _unknown(name, _OPTIONS)
        elif value is None:
            continue
        elif name == "maxSteps" and not is_count(value):
            yield name, _unusable(name, Message("must be a whole number from 1"))
        elif name == "modelSettings" and not isinstance(value, Mapping):
            yield name, _unusable(name, Message("must be an object"))
        elif name == "modelSettings":
            for setting, inner in value.items():
                yield from _unread(setting, f"{name}.{setting}", inner, SETTINGS, tuple(SETTINGS))


def _unread(
    name: str,
    path: str,
    value: Any,
    known: Mapping[str, tuple[str, tuple[type, ...]]],
    names: tuple[str, ...],
) -> Iterator[tuple[str, Message]]:
    if name not in known:
        yield path, _unknown(name, names)
    elif (problem := setting_problem(name, value, known)) is not None:
        yield path, _unusable(name, problem)


def _unknown(name: str, names: tuple[str, ...]) -> Message:
    similar = get_close_matches(name, names, n=1)
    if similar:
        return Message(
            "The setting {name!r} has no effect on runs. Do you mean {other!r}?", name=name, other=similar[0]
        )
    return Message(
        "The setting {name!r} has no effect on runs; there are {names}.", name=name, names=", ".join(names)
    )


def _unusable(name: str, problem: str) -> Message:
    return Message("The value of {name!r} cannot be used: it {problem}.", name=name, problem=problem)
