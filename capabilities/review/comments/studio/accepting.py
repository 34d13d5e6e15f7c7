"""Accepting a suggested wording: a new version, like one that is edited, with the wording for the quote."""

from __future__ import annotations

from django.utils.translation import gettext as _

from capabilities.review.about import columns_about
from capabilities.review.comments.places import top, value_at, with_text
from capabilities.review.comments.studio.threads import where
from capabilities.review.comments.subjects import Subject
from capabilities.review.comments.suggestions import parts_of, replaced
from capabilities.review.comments.verbs import Comments
from capabilities.review.models import Comment, OtherAuthor, Review
from capabilities.review.reviews.verbs import Reviews
from versioning.domain.access import Caller
from versioning.domain.errors import Conflict, NotFound
from versioning.domain.snapshots import Snapshot
from versioning.editor.locking import retry_on_conflict


@retry_on_conflict
def accept(comments: Comments, comment_id: str, *, seen: str, by: Caller) -> Snapshot:
    """Save the suggested wording as a draft, resolve the thread, and return the new version.

    The caller saves the version. The suggester counts as an author of it, too, so neither of the two can
    approve it. An open review of the version before moves to the new one. `seen` is the `state` of the
    comment that the caller looked at. Raises `Conflict` if the comment or the quoted words have changed
    since.
    """
    subject, _found = Subject.of(comments.editor, comment_id, by)
    with subject.changing():
        comment = subject.comment(comment_id)
        first = comment.parent or comment
        wording = parts_of(comment.body).wording
        if wording is None or comment.updated_at.isoformat() != seen or first.resolved_at is not None:
            raise Conflict(
                _("The suggestion has changed. Check the new wording first."), code="edit_conflict"
            )
        resource = subject.collection.versions(subject.target.id, by=by).resource
        if resource is None:
            raise NotFound
        before: Snapshot = resource.current
        live = subject.collection.ownership.live_config(resource) if resource.is_taken_down else None
        config = resource.base.config if live is None else live
        place = where(config, first, _commented(subject, first))
        path = "" if place is None else place.path
        text = None
        if place is not None:
            text = replaced(value_at(config, path), place.start, first.quote, wording)
        if text is None:
            message = _("The newest version no longer has these words. Change its text in the editor.")
            raise Conflict(message, code="edit_conflict")
        name = top(config, path)
        changes = {name: with_text(config, path, text)[name]}
        saved = subject.collection.edit(subject.target.id, changes, default_message="", from_live=True, by=by)
        version: Snapshot = saved.version
        if comment.author_id not in {None, by.user_id} and version.version_id != before.version_id:
            OtherAuthor.objects.create(
                **columns_about(subject.target),
                number=version.number,
                author_id=comment.author_id,
                suggestion=comment.pk,
            )
        comments.change(comment_id, resolved=True, by=by)
        review = Review.objects.open().about(subject.target).filter(version_id=before.version_id).first()
        if review is not None:
            Reviews.current().change(str(review.pk), version_id=version.version_id, by=by)
    return version


def _commented(subject: Subject, comment: Comment) -> dict[str, object] | None:
    """Return the configuration that a comment was written on; None if that version was deleted."""
    try:
        return subject.version(comment.version_id).config
    except NotFound:
        return None
