"""What the values of settings have to be: a check of Django's, which commands make before they begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.exceptions import ImproperlyConfigured

from versioning.conf import get_framework
from versioning.models.throttle import parse_rate

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "EDITOR_PIN_WORKERS": ("auto", "on", "off"),
    "EDITOR_WORKER": ("on", "off"),
}
_NOT_NEGATIVE: Final = ("EDITOR_KEEP_EVENTS", "EDITOR_STREAMS")


def check_values(**_options: Any) -> list[CheckMessage]:
    """Return an error for each setting whose value would fail later, in a sentence that names the setting."""
    return [Error(problem, id="versioning.E002") for problem in _problems()]


def _problems() -> Iterator[str]:
    for name, choices in _CHOICES.items():
        value = getattr(settings, name)
        if value not in choices:
            yield f"{name} is {', '.join(choices[:-1])} or {choices[-1]}, not {value!r}."
    for name in _NOT_NEGATIVE:
        value = getattr(settings, name)
        if value is not None and value < 0:
            yield f"{name} must not be negative, and is {value}."
    for load in (_load_rate, get_framework):
        try:
            load()
        except ImproperlyConfigured as error:
            yield str(error)


def _load_rate() -> None:
    if settings.EDITOR_THROTTLE:
        parse_rate(settings.EDITOR_THROTTLE)
