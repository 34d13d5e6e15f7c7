"""Releases that will be published automatically, without anybody looking at them again.

Whoever may save changes a release. But what goes live by itself, with the rights of whoever scheduled it, is
not for them to change, and neither to delete: only for those who could also publish it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from uuid import UUID

from releases.models import Release
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Forbidden
from versioning.domain.registering import require_callable

AutomaticOnes = Callable[[Collection[UUID]], Iterable[UUID | None]]
"""Returns which of the releases with these ids will be published by themselves."""

_registered: list[AutomaticOnes] = []


def register(automatic_ones: AutomaticOnes) -> None:
    """Add a question, such as which releases are scheduled."""
    require_callable(automatic_ones, by="automatic.register()")
    _registered.append(automatic_ones)


def changeable(releases: Collection[Release], by: Caller) -> list[Release]:
    """Return those of the draft releases that the caller may change and delete now."""
    saved = [one for one in releases if by.may(Right.SAVE, one.workspace_id)]
    asked = {one.pk for one in saved if not by.may(Right.PUBLISH, one.workspace_id)}
    automatic = {pk for ask in _registered for pk in ask(asked)} if asked else set()
    return [one for one in saved if one.pk not in automatic]


def require_right_to_change(release: Release, by: Caller) -> None:
    """Raise `Forbidden` unless the caller may change a release, which is locked, and delete it."""
    by.require(Right.SAVE, release.workspace_id)
    if not changeable([release], by):
        raise Forbidden(
            "This release goes live by itself, as it is: only who may publish changes or deletes it."
        )
