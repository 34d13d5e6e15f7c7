"""Releases of which it is decided that they go live, without anybody looking at them again.

Who may save changes what is in a release. But what goes live by itself, with the rights of whoever decided
so, is not for them to change: that would be a way to publish without the right.
"""

from __future__ import annotations

from collections.abc import Callable

from releases.models import Release
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Forbidden

IsDecided = Callable[[Release], bool]
"""Says whether a release, which is locked, will be published by itself."""

_registered: list[IsDecided] = []


def register(is_decided: IsDecided) -> None:
    """Add a question, such as whether the release is scheduled."""
    _registered.append(is_decided)


def require_right_to_items(release: Release, by: Caller) -> None:
    """Raise `Forbidden` unless the caller may change what is in a release now."""
    if any(is_decided(release) for is_decided in _registered) and not by.may(
        Right.PUBLISH, release.workspace_id
    ):
        raise Forbidden(
            "This release goes live by itself, as it is: only who may publish changes what is in it."
        )
