"""Releases that will be published automatically, without anybody looking at them again.

Members who may save change a release. But what goes live by itself, with the rights of its scheduler, is
not for them to change, and neither to delete: only for those who could also publish it. Who changes what
is in it answers for it from then on: it would lend them the rights of another person otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from releases.models import Release
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Forbidden
from versioning.domain.registering import require_instance


@dataclass(frozen=True, kw_only=True)
class AutomaticReleases:
    """What an application that publishes releases by itself says of them."""

    among: Callable[[Collection[UUID]], Iterable[UUID | None]]
    """Returns which of the releases with these ids will be published by themselves."""
    take_over: Callable[[Release, Caller], object]
    """Lets a release be published with the rights of the caller, who has changed its items."""


_registered: Final[list[AutomaticReleases]] = []


def register(automatic: AutomaticReleases) -> None:
    """Take what an application says; it is declared with `EditorApp.adds`."""
    require_instance(automatic, AutomaticReleases, by="automatic.register()")
    _registered.append(automatic)


def items_changed(release: Release, by: Caller) -> None:
    """Let the release, which is locked, go live with the rights of the caller if it goes live by itself."""
    for automatic in _registered:
        automatic.take_over(release, by)


def changeable(releases: Collection[Release], by: Caller) -> list[Release]:
    """Return those of the draft releases that the caller may change and delete now."""
    saved = [one for one in releases if by.may(Right.SAVE, one.workspace_id)]
    asked = {one.pk for one in saved if not by.may(Right.PUBLISH, one.workspace_id)}
    automatic = {pk for one in _registered for pk in one.among(asked)} if asked else set()
    return [one for one in saved if one.pk not in automatic]


def require_right_to_change(release: Release, by: Caller) -> None:
    """Raise `Forbidden` unless the caller may change a release, which is locked, and delete it."""
    by.require(Right.SAVE, release.workspace_id)
    if not changeable([release], by):
        raise Forbidden(
            "This release goes live by itself, as it is: only who may publish changes or deletes it."
        )
