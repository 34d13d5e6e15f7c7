"""Releases that will be published automatically, without further review.

Members who may save can change a release. But a release that goes live by itself, with the rights of its
scheduler, can be changed or deleted only by people who could also publish it. A person who changes its items
becomes responsible for it: otherwise the change would borrow the rights of another person.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from capabilities.releases.models import Release
from capabilities.releases.models.releases import State
from versioning.domain.access import Action, Caller, Right
from versioning.domain.errors import Forbidden
from versioning.domain.registering import require_instance


@dataclass(frozen=True, kw_only=True)
class AutomaticReleases:
    """The functions of an application that publishes releases automatically."""

    among: Callable[[Collection[UUID]], Iterable[UUID | None]]
    """Returns which of the releases with these ids will be published automatically."""
    take_over: Callable[[Release, Caller], object]
    """Makes a release run with the rights of the caller, who has changed its items."""
    published: Callable[[Release, Caller], object]
    """Ends what would publish a release later, because the caller has just published it."""


_registered: Final[list[AutomaticReleases]] = []


def register(automatic: AutomaticReleases) -> None:
    """Register an application's functions, which it declares with `EditorApp.adds`."""
    require_instance(automatic, AutomaticReleases, by="automatic.register()")
    _registered.append(automatic)


def items_changed(release: Release, by: Caller) -> None:
    """Make the locked release run with the rights of the caller, if it is published automatically."""
    for automatic in _registered:
        automatic.take_over(release, by)


def was_published(release: Release, by: Caller) -> None:
    """End what would publish the locked release later."""
    for automatic in _registered:
        automatic.published(release, by)


def changeable(releases: Collection[Release], by: Caller) -> list[Release]:
    """Return the draft releases among these that the caller may change and delete now."""
    saved = [release for release in releases if by.may(Right.SAVE, release.workspace_id)]
    publishes = by.may_act(Action.PUBLISH)
    asked = {one.pk for one in saved if not (publishes and by.may(Right.PUBLISH, one.workspace_id))}
    automatic = {pk for one in _registered for pk in one.among(asked)} if asked else set()
    return [one for one in saved if one.pk not in automatic]


def automatic_among(releases: Collection[Release]) -> set[UUID | None]:
    """Return the ids of the draft releases among these that will be published automatically."""
    drafts = [release.pk for release in releases if release.state == State.DRAFT]
    return {pk for one in _registered for pk in one.among(drafts)} if drafts else set()


def require_right_to_change(release: Release, by: Caller) -> None:
    """Raise `Forbidden` unless the caller may change and delete a locked release."""
    by.require(Right.SAVE, release.workspace_id)
    if not changeable([release], by):
        by.require_action(Action.PUBLISH)
        raise Forbidden(
            "This release is scheduled to go live as it is: only people who may publish can change or "
            "delete it."
        )
