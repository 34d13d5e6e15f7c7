"""Favorites: the resources that a person has marked. They are personal, and not part of any version."""

from __future__ import annotations

from typing import TypeVar

from versioning.domain.access import Caller
from versioning.domain.errors import Forbidden, NotFound
from versioning.editor.locking import retry_on_conflict
from versioning.editor.resources import Resources, Who, caller_of
from versioning.models import Favorite, Favorited, VersionedResource, events

R = TypeVar("R", bound=VersionedResource)


@retry_on_conflict
def favorite(resources: Resources[R], resource_id: str, *, by: Who) -> tuple[R, Favorited]:
    """Mark a resource as a favorite of the caller; a key acts for its owner.

    Raises `NotFound` if the caller cannot read the resource without a selector, and `Forbidden` for the
    application.
    """
    return _mark(resources, resource_id, caller_of(by), is_favorite=True)


@retry_on_conflict
def unfavorite(resources: Resources[R], resource_id: str, *, by: Who) -> tuple[R, Favorited]:
    """Remove the mark, if there is one; raises as `favorite` does."""
    return _mark(resources, resource_id, caller_of(by), is_favorite=False)


def _mark(resources: Resources[R], resource_id: str, by: Caller, *, is_favorite: bool) -> tuple[R, Favorited]:
    # The lock prevents a mark from outliving a resource that is being deleted.
    with resources.backend.lock_resource(resource_id, by) as resource:
        if resource.gone:
            raise NotFound
        if by.user_id is None:
            raise Forbidden("Only people have favorites.")
        events.acts(by)
        kind = resources.kind
        if is_favorite:
            Favorite.objects.get_or_create(kind=kind.slug, resource_id=resource.pk, user_id=by.user_id)
        else:
            Favorite.objects.of(by.user_id, kind).filter(resource_id=resource.pk).delete()
        return resource, Favorite.objects.about(kind, [resource.pk], by.user_id)[resource.pk]
