"""Comments over HTTP."""

from __future__ import annotations

from typing import Any, Final

from django.db.models.functions import Left
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.review.comments.schemas import CommentAnswer, CommentCreate, CommentPage, CommentUpdate
from capabilities.review.comments.verbs import Comments
from versioning.api import addresses, parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import Page, query
from versioning.api.schemas import Nothing, Success
from versioning.domain.texts import MAX_QUOTE
from versioning.models.search import ByteLength

ORDERS: Final = {"createdAt": "created_at"}
LENGTH: Final = ByteLength("body") + ByteLength(Left("quote", MAX_QUOTE)) + ByteLength("field")
_NAMES: Final = {"versionId": "version_id"}


class CommentViewSet(EditorViewSet):
    """Comments on resources whose drafts the caller may read."""

    job = "Review"
    subject = "comment"
    created = frozenset({"create"})
    errors = {"create": (404,)}
    query = {
        "list": (
            *parameters.paging(100, ORDERS, direction="ASC"),
            parameters.KIND,
            parameters.RESOURCE_ID,
            query("versionId", "Only on this version."),
            query("resolved", "Only in threads that are resolved, or are not.", enum=["true", "false"]),
        )
    }
    requests = {"create": CommentCreate, "update": CommentUpdate, "destroy": Nothing}
    paths = {"id": (parameters.UUID, "The id of the comment.")}
    responses = {
        "list": CommentPage,
        "create": CommentAnswer,
        "retrieve": CommentAnswer,
        "update": CommentAnswer,
        "destroy": Success,
    }

    @property
    def comments(self) -> Comments:
        """The verbs."""
        return Comments.current()

    def list(self, request: Request) -> Response:
        """List comments, oldest first."""
        given = request.query_params
        resolved = given.get("resolved")
        found = self.comments.list(
            given.get("kind"),
            given.get("id"),
            version_id=given.get("versionId"),
            resolved=None if resolved is None else resolved == "true",
            by=self.caller,
        )
        page = Page.read(given, size=100, fields=ORDERS, then="pk", direction="ASC")
        return self.page_of(page, found, weight=LENGTH)

    def create(self, request: Request) -> Response:
        """Comment on a version, on a field or a line of it, or reply to a comment."""
        given: dict[str, Any] = CommentCreate.read(request)
        resource = given.pop("resource")
        place = {_NAMES.get(name, name): value for name, value in given.items() if value is not None}
        comment = self.comments.add(resource["kind"], resource["id"], **place, by=self.caller)
        address = addresses.location(f"comments/{comment.pk}")
        return with_etag(request, self.dump(comment), status=201, headers={"Location": address})

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a comment."""
        return with_etag(request, self.dump(self.comments.get(id, by=self.caller)))

    def update(self, request: Request, id: str) -> Response:
        """Resolve or reopen a thread, or change the text of your own comment."""
        changes = CommentUpdate.read(request)
        return with_etag(request, self.dump(self.comments.change(id, **changes, by=self.caller)))

    def destroy(self, request: Request, id: str) -> Response:
        """Delete your own comment; replies stay."""
        Nothing.read(request)
        self.comments.delete(id, by=self.caller)
        return Response(self.dump(f"The comment {id} is deleted."))
