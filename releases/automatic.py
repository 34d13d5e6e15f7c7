"""Releases that will be published automatically, without anybody looking at them again.

Whoever may save changes what is in a release. But what goes live by itself, with the rights of whoever
scheduled it, is not for them to change: that would be a way to publish without the right.
"""

from __future__ import annotations

from collections.abc import Callable

from releases.models import Release
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Forbidden
from versioning.domain.registering import require_callable

IsAutomatic = Callable[[Release], bool]
"""Says whether a release, which is locked, will be published by itself."""

_registered: list[IsAutomatic] = []


def register(is_automatic: IsAutomatic) -> None:
    """Add a question, such as whether the release is scheduled."""
    require_callable(is_automatic, by="automatic.register()")
    _registered.append(is_automatic)


def require_right_to_items(release: Release, by: Caller) -> None:
    """Raise `Forbidden` unless the caller may change what is in a release now."""
    if any(is_automatic(release) for is_automatic in _registered) and not by.may(
        Right.PUBLISH, release.workspace_id
    ):
        raise Forbidden(
            "This release goes live by itself, as it is: only who may publish changes what is in it."
        )
