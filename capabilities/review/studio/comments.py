"""Writing, answering and resolving comments, and accepting suggestions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from capabilities.review.comments import Comments, Subject, replace_quote, split_suggestion, with_wording
from capabilities.review.models import MAX_BODY, Comment, OtherAuthor, Review, columns_about
from capabilities.review.places import Hint, locate, top, value_at, with_text
from capabilities.review.reviews import Reviews
from capabilities.review.studio import threads
from capabilities.review.studio.threads import ShownComment, Viewpoint, commentable, tasks, where
from studio.extensions import Action, Extension
from studio.field_words import words_of
from studio.forms.fields import text_of_control
from studio.forms.inputs import typed_text
from studio.kinds import KINDS_BY_SLUG, StudioKind
from studio.resources.base import ResourcePage
from studio.translation import title_of, translate
from studio.views import safe_next_url
from studio.workspaces.members import people_address
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Conflict, Invalid, NotFound
from versioning.domain.snapshots import Snapshot
from versioning.domain.texts import MAX_QUOTE
from versioning.editor.locking import retry_on_conflict
from versioning.models import Event, VersionedResource
from versioning.serving.grants import target_of


@retry_on_conflict
def accept(comments: Comments, comment_id: str, *, state: str, by: Caller) -> Snapshot:
    """Save the suggested wording as a draft, resolve the thread, and return the new version.

    The caller saves the version. The suggester also counts as an author of it, so neither of the two can
    approve it. An open review of the version before moves to the new one. `state` is the `state` of the
    comment that the caller looked at. Raises `Conflict` if the comment or the quoted words have changed
    since.
    """
    subject, _found = Subject.of(comments.editor, comment_id, by)
    with subject.changing():
        comment = subject.comment(comment_id)
        first = comment.parent or comment
        wording = split_suggestion(comment.body).wording
        if wording is None or comment.updated_at.isoformat() != state or first.resolved_at is not None:
            raise Conflict(
                _("The suggestion has changed. Check the new wording first."), code="edit_conflict"
            )
        resource = subject.collection.versions(subject.target.id, by=by).resource
        if resource is None:
            raise NotFound
        before: Snapshot = resource.current
        live = subject.collection.ownership.live_config(resource) if resource.is_taken_down else None
        config = resource.base.config if live is None else live
        try:
            commented = subject.version(first.version_id).config
        except NotFound:  # that version was deleted
            commented = None
        place = where(config, first, commented)
        path = "" if place is None else place.path
        text = None
        if place is not None:
            text = replace_quote(value_at(config, path), place.start, first.quote, wording)
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


_TYPED: Final = ("field", "quote", "body", "suggestion", "control", "line", "earlier")
REPLIES: Final = 50
"""The number of replies on the page of a thread."""


class CommentingPage(ResourcePage):
    """A page that accepts comments on a version."""

    tab = "history"

    @property
    def comments(self) -> Comments:
        """The verbs."""
        return self.editor.capability(Comments)

    @property
    def body(self) -> str:
        """The typed text, with the suggested wording if there is one."""
        body, wording = (typed_text(self.request, name) for name in ("body", "suggestion"))
        return with_wording(body.rstrip(), wording.strip("\n")) if wording.strip() else body

    def back_to(self, comment: Comment, otherwise: str) -> HttpResponse:
        """Return to the page with the form, at the comment."""
        return self.go(f"{safe_next_url(self.request, otherwise)}#comment-{comment.parent_id or comment.pk}")

    def check_body(self) -> None:
        """Raise `Invalid` for an invalid comment, in the language of the page."""
        if not self.body.strip():
            raise Invalid.field("body", _("Write something first."))
        if len(self.body) > MAX_BODY:
            message = _("A comment has up to %(count)d characters, and this one has %(number)d.")
            raise Invalid.field("body", message % {"count": MAX_BODY, "number": len(self.body)})


class CommentsPage(CommentingPage):
    """Accepts a new comment on a version, and shows it again after an error."""

    def post(self, request: HttpRequest, resource: str) -> HttpResponse:
        """Save it and go back to the page with the form."""
        self.require(Right.SAVE)
        resolved = self.collection.version(self.resource_id, request.POST.get("version", ""), by=self.caller)
        version: Snapshot = resolved.version
        try:
            self.check_body()
            place = self._place(version)
            self._check_suggestion(place)
            comment = self.comments.add(
                self.kind.slug, self.resource_id, version.version_id, body=self.body, **place, by=self.caller
            )
        except Invalid as error:
            return self._again(version, error)
        return self.back_to(comment, self.address("version", version.version_id))

    def _place(self, version: Snapshot) -> dict[str, Any]:
        """Return the place in the version; raises `Invalid` if the words are not in the field."""
        name = self.request.POST.get("field", "")
        quote = typed_text(self.request, "quote").strip()
        if name and version.config.get(name) is None:
            raise Invalid.field("field", _("This version has no such field."))
        if not quote:
            return {"field": name}
        if not name:
            raise Invalid.field("quote", _("Choose the field that has these words."))
        # The selection reported by the page's script.
        form = self.request.POST
        line, earlier = (
            int(text) if text.isascii() and text.isdecimal() and len(text) < len("1000000") else None
            for text in (form.get("line", ""), form.get("earlier", ""))
        )
        path = form.get("path", "") or text_of_control(form.get("control", ""))
        place = locate(version.config, name, quote, Hint(path, line, earlier or 0))
        if place is None:
            message = _("These words are not in “%(field)s”. Copy them from its text.")
            message %= {"field": words_of(name).title}
            raise Invalid.field("quote", message)
        return {"field": place.path, "line": place.line, "start": place.start, "quote": quote}

    def _check_suggestion(self, place: dict[str, Any]) -> None:
        wording = split_suggestion(self.body).wording
        if wording is None:
            return
        if "quote" not in place:
            raise Invalid.field("quote", _("Choose the words that your wording replaces."))
        if wording.split() == place["quote"].split():
            raise Invalid.field("suggestion", _("The suggested wording is the same as the text."))

    def _again(self, version: Snapshot, error: Invalid) -> HttpResponse:
        fields = self.request.POST
        return self.page(
            "review/comments/write.html",
            title=_("Comment on %(version)s") % {"version": title_of(version)},
            status=400,
            version=version,
            typed={name: fields.get(name, "") for name in _TYPED},
            commentable=commentable(version),
            problems=[translate(issue.message) for issue in error.issues],
            add_address=self.address("comments"),
            next=safe_next_url(self.request, self.address("version", version.version_id)),
            max_body=MAX_BODY,
            max_quote=MAX_QUOTE,
        )


class CommentPage(CommentingPage):
    """A thread with all its comments and actions."""

    @cached_property
    def comment(self) -> Comment:
        """The comment in the address; raises `NotFound` and `Forbidden` as the verbs do."""
        comment = self.comments.get(self.kwargs["comment"], by=self.caller)
        if (comment.kind, comment.resource_id) != (self.kind.slug, self.resource_id):
            raise NotFound
        return comment

    def get(self, request: HttpRequest, resource: str, comment: str) -> HttpResponse:
        """Show the thread."""
        return self._show()

    def post(self, request: HttpRequest, resource: str, comment: str) -> HttpResponse:
        """Perform the button's action."""
        self.require(Right.SAVE)
        comment_to_show, key = self.comment, str(self.comment.pk)
        otherwise = self.address("comment", str(comment_to_show.parent_id or comment_to_show.pk))
        try:
            match request.POST.get("do"):
                case "reply":
                    self.check_body()
                    first = comment_to_show.parent or comment_to_show
                    comment_to_show = self.comments.add(
                        comment_to_show.kind,
                        comment_to_show.resource_id,
                        first.version_id,
                        body=self.body,
                        parent=key,
                        by=self.caller,
                    )
                case "edit":
                    self.check_body()
                    self.comments.change(key, body=self.body, by=self.caller)
                case "resolve" | "reopen" as what:
                    self.comments.change(key, resolved=what == "resolve", by=self.caller)
                case "accept":
                    return self._accept()
                case "delete":
                    self.comments.delete(key, by=self.caller)
                    # The page with the form, unless it was that of the comment itself.
                    back = safe_next_url(self.request, self.address("history"))
                    if back.startswith(self.address("comment", key)):
                        back = self.address("history")
                    return self.go(back, _("The comment is deleted."))
                case _:
                    raise Invalid.field("do", _("Nothing was chosen."))
        except Invalid as error:
            return self._show(status=400, problems=[translate(issue.message) for issue in error.issues])
        return self.back_to(comment_to_show, otherwise)

    def _accept(self) -> HttpResponse:
        """Accept the suggested wording, and go on with the new version on the page with the form."""
        key, state = str(self.comment.pk), self.request.POST.get("seen", "")
        next_address = safe_next_url(self.request, self.address("history"))
        try:
            version = accept(self.comments, key, state=state, by=self.caller)
        except Conflict as error:
            return self.go(next_address, translate(error.message), level=messages.ERROR)
        path, new = urlsplit(next_address).path, version.version_id
        pages = {self.address("publish"): "version", self.address("compare"): "to"}
        if path in pages:
            next_address = f"{path}?{urlencode({pages[path]: new})}"
        elif path.startswith(self.address("version", new).removesuffix(f"{new}/")):
            next_address = self.address("version", new)
        message = _("Suggestion accepted. %(version)s is saved as a draft.") % {"version": title_of(version)}
        return self.go(next_address, message)

    def _show(self, *, status: int = 200, **context: Any) -> HttpResponse:
        first = self.comment.parent or self.comment
        viewpoint = Viewpoint(kind=self.kind, resource=self.with_history, version=None, caller=self.caller)
        replies = Paginator(first.replies.order_by("created_at", "pk"), REPLIES)
        page = replies.get_page(self.request.GET.get("page", replies.num_pages))
        return self.page(
            "review/comments/thread_page.html",
            title=_("Comment"),
            status=status,
            thread=viewpoint.whole(first),
            replies=[ShownComment.of(reply, self.caller, MAX_BODY) for reply in page],
            replies_page=page,
            edited=str(self.comment.pk) if self.request.POST.get("do") == "edit" else "",
            typed=self.request.POST.get("body", ""),
            next=safe_next_url(self.request, self.request.get_full_path()),
            add_address=self.address("comments"),
            max_body=MAX_BODY,
            max_quote=MAX_QUOTE,
            is_alone=True,
            people_address=people_address(self.workspace_id, persons=True),
            **context,
        )


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
    counts = rows.order_by().values_list("kind", "resource_id", "identity").annotate(number=Count("pk"))
    links = {}
    for kind, resource_id, identity, number in counts:
        newest = about.get((kind, resource_id, identity))
        if newest is not None:
            title = ngettext("%(count)s open comment", "%(count)s open comments", number) % {"count": number}
            page = KINDS_BY_SLUG[kind].address("version", resource_id, newest.version_id)
            links[kind, resource_id] = [Action(title=title, address=f"{page}#comments")]
    return links


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
    resource_urls="capabilities.review.studio.comments.resource_urls",
    panels=threads.panels,
    panels_need=Right.READ_DRAFTS,
    panels_on=threads.PAGES,
    links=_open_comments,
    tasks=tasks,
    event_address=_of_event,
)
