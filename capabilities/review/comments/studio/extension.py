"""The extension of the studio by comments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from django.db.models import Count
from django.urls import URLPattern, path
from django.utils.translation import ngettext

from capabilities.review.comments.studio import panels
from capabilities.review.comments.studio.for_you import for_you
from capabilities.review.comments.studio.views import CommentPage, CommentsPage
from capabilities.review.models import Comment
from studio.extensions import Action, Extension
from studio.kinds import KINDS_BY_SLUG, StudioKind
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.snapshots import Snapshot
from versioning.models import Event, VersionedResource
from versioning.serving.grants import target_of


def _open_comments(
    caller: Caller, versions: Sequence[tuple[VersionedResource, Snapshot]]
) -> Mapping[tuple[str, str], Sequence[Action]]:
    """Return the number of open threads on each resource, with the page of the version that shows them."""
    code = get_editor().code
    about = {}
    for resource, version in versions:
        target = target_of(resource, code)
        about[target.kind, target.id, target.identity] = version
    rows = Comment.objects.filter(
        parent=None,
        resolved_at=None,
        resource_id__in={resource_id for _, resource_id, _ in about},
        identity__in={identity for _, _, identity in about},
    )
    counted = rows.order_by().values_list("kind", "resource_id", "identity").annotate(number=Count("pk"))
    return {
        (kind, resource_id): [_link(kind, resource_id, about[kind, resource_id, identity], number)]
        for kind, resource_id, identity, number in counted
        if (kind, resource_id, identity) in about
    }


def _link(kind: str, resource_id: str, version: Snapshot, number: int) -> Action:
    title = ngettext("%(count)s open comment", "%(count)s open comments", number) % {"count": number}
    return Action(
        title=title,
        address=f"{KINDS_BY_SLUG[kind].address('version', resource_id, version.version_id)}#comments",
    )


def _of_event(kind: StudioKind, event: Event) -> str:
    """Return the page of an event's thread; empty for other events."""
    comment_id = event.detail.get("commentId")
    if not comment_id or not event.type.startswith("comment.") or event.type == "comment.deleted":
        return ""
    return kind.address("comment", event.resource_id, str(comment_id))


def resource_urls(kind: StudioKind) -> Iterator[URLPattern]:
    """Yield the routes for the forms of the panels."""
    yield path("<str:resource>/comments/", CommentsPage.as_view(kind=kind), name=kind.url_name("comments"))
    yield path(
        "<str:resource>/comments/<str:comment>/",
        CommentPage.as_view(kind=kind),
        name=kind.url_name("comment"),
    )


STUDIO: Final = Extension(
    resource_urls="capabilities.review.comments.studio.extension.resource_urls",
    panels=panels.panels,
    panels_need=Right.READ_DRAFTS,
    panels_on=panels.PAGES,
    links=_open_comments,
    for_you=for_you,
    event_address=_of_event,
)
