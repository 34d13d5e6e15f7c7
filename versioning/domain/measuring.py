"""Measurements for monitoring the service.

The code says what happens; a process that has a `Meter` counts it (`editor_project.metrics`). Without one, a
measurement is a call that returns at once.
"""

from __future__ import annotations

from typing import Protocol


class Meter(Protocol):
    """Counts what happens in this process."""

    def request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request and its duration."""

    def count(self, name: str, amount: float, **labels: str) -> None:
        """Add to a counter."""

    def level(self, name: str, value: float, **labels: str) -> None:
        """Set what there is of something now."""

    def took(self, name: str, seconds: float, **labels: str) -> None:
        """Add a duration to a histogram."""


_meters: list[Meter] = []


def use(meter: Meter) -> None:
    """Let a meter count what happens in this process from now on, in place of an earlier one."""
    _meters[:] = [meter]


def is_on() -> bool:
    """Return whether anything is counted."""
    return bool(_meters)


def request(method: str, path: str, status: int, seconds: float) -> None:
    """Count a request."""
    for meter in _meters:
        meter.request(method, path, status, seconds)


def count(name: str, amount: float = 1, **labels: str) -> None:
    """Add to a counter; the labels have few values, and never an id, a name or a text."""
    for meter in _meters:
        meter.count(name, amount, **labels)


def level(name: str, value: float, **labels: str) -> None:
    """Set what there is of something in this process."""
    for meter in _meters:
        meter.level(name, value, **labels)


def took(name: str, seconds: float, **labels: str) -> None:
    """Add a duration."""
    for meter in _meters:
        meter.took(name, seconds, **labels)
