"""The options of a run: the number of steps, model settings, other instructions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from versioning.domain.errors import Invalid, Issue

if TYPE_CHECKING:
    from pydantic_ai.settings import ModelSettings

_NUMBER = (int, float)
_SETTINGS: dict[str, tuple[str, tuple[type, ...]]] = {
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
"""The JSON name of a setting → the agent library's name, and the allowed values."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run, by the agent library's names; an option that is not set is left to the agent."""

    max_steps: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    instructions: str | None = None

    @classmethod
    def parse(cls, *, max_steps: Any, model_settings: Any, instructions: Any) -> RunOptions:
        """Return the options of a call; raises `Invalid` with the JSON names of those that are wrong."""
        issues: list[Issue] = []
        if max_steps is not None and not _is_count(max_steps):
            issues.append(Issue("maxSteps", "must be a whole number from 1"))
        if instructions is not None and not (isinstance(instructions, str) and instructions.strip()):
            issues.append(Issue("instructions", "must be a text that is not blank"))
        settings = _settings({} if model_settings is None else model_settings, issues)
        if issues:
            raise Invalid(issues)
        return cls(max_steps=max_steps, settings=settings, instructions=instructions)

    @classmethod
    def stored(cls, default_options: Mapping[str, Any]) -> RunOptions:
        """Return the options in an agent's `defaultOptions`; what is not understood is ignored.

        They are saved without validation, so an error in them is not the caller's.
        """
        max_steps = default_options.get("maxSteps")
        given = default_options.get("modelSettings")
        return cls(
            max_steps=max_steps if _is_count(max_steps) else None,
            settings=_settings(given, []) if isinstance(given, Mapping) else {},
        )

    def over(self, weaker: RunOptions) -> RunOptions:
        """Return these options, completed by those of `weaker`."""
        return RunOptions(
            max_steps=self.max_steps or weaker.max_steps,
            settings={**weaker.settings, **self.settings},
            instructions=self.instructions or weaker.instructions,
        )

    def model_settings(self) -> ModelSettings:
        """Return the settings in the form of the agent library."""
        return cast("ModelSettings", dict(self.settings))


def _settings(given: Any, issues: list[Issue]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        issues.append(Issue("modelSettings", "must be an object"))
        return {}
    settings: dict[str, Any] = {}
    for name, value in given.items():
        problem = _setting_problem(name, value)
        if problem is not None:
            issues.append(Issue(f"modelSettings.{name}", problem))
        elif value is not None:
            settings[_SETTINGS[name][0]] = value
    return settings


def _setting_problem(name: str, value: Any) -> str | None:
    if name not in _SETTINGS:
        return f"is not a known setting; there are {', '.join(_SETTINGS)}"
    types = _SETTINGS[name][1]
    if value is None or (isinstance(value, types) and not isinstance(value, bool)):
        texts = not isinstance(value, list) or all(isinstance(item, str) for item in value)
        return None if texts else "must be a list of texts"
    return "must be a list of texts" if list in types else "must be a number"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
