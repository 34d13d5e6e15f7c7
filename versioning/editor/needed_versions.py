"""Versions that other applications still need: they are neither deleted nor pruned.

An application registers what it needs in `AppConfig.ready()`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from versioning.domain.events import Target

Needs = Callable[[Target], Mapping[str, str]]
"""Returns the ids of the versions of a resource that are needed, each with a sentence without its subject:
what keeps it from being deleted, and what can be done about that."""

_registered: Final[list[Needs]] = []


def register(needs: Needs) -> None:
    """Add an application's needs."""
    _registered.append(needs)


def needed_versions(resource: Target) -> Mapping[str, str]:
    """Return the versions that are needed, each with why; it is asked while the resource is locked."""
    return {version_id: why for needs in _registered for version_id, why in needs(resource).items()}
