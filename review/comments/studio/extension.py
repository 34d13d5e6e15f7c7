"""What comments add to the studio."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import URLPattern, path

from review.comments.studio.panels import panels
from review.comments.studio.views import CommentPage, CommentsPage
from studio import extensions
from studio.extensions import Extension
from studio.kinds import StudioKind
from versioning.models import Event


def register() -> None:
    """Add the panels, and the pages that their forms are sent to."""
    extensions.register(Extension(resource_urls=_urls, panels=panels, event_address=_of_event))


def _of_event(kind: StudioKind, event: Event) -> str:
    """Return the page of the thread that an event is about; empty if it is about none."""
    comment_id = event.detail.get("commentId")
    if not comment_id or not event.type.startswith("comment."):
        return ""
    return kind.address("comment", event.resource_id, str(comment_id))


def _urls(kind: StudioKind) -> Iterator[URLPattern]:
    yield path("<str:resource>/comments/", CommentsPage.as_view(kind=kind), name=kind.url_name("comments"))
    yield path(
        "<str:resource>/comments/<str:comment>/",
        CommentPage.as_view(kind=kind),
        name=kind.url_name("comment"),
    )
