"""Reviews over HTTP."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from django.db.models import Sum
from rest_framework.request import Request
from rest_framework.response import Response

from capabilities.review.models import Verdict
from capabilities.review.reviews.records import ReviewRecord
from capabilities.review.reviews.schemas import (
    STATES,
    ReviewAnswer,
    ReviewCreate,
    ReviewPage,
    ReviewUpdate,
    VerdictCreate,
)
from capabilities.review.reviews.verbs import Reviews
from versioning.api import addresses, parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import Page
from versioning.conf import get_editor
from versioning.domain.agents import Notice
from versioning.domain.errors import NotFound
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.editor.configuration_checks import invisible_characters
from versioning.models.search import ByteLength, together

ORDERS: Final = {"createdAt": "created_at"}
LENGTH: Final = ByteLength("message") + together(Verdict.objects.all(), "review", Sum(ByteLength("body")))


class ReviewViewSet(EditorViewSet):
    """Reviews of the resources whose drafts the caller may read."""

    job = "Review"
    subject = "review"
    created = frozenset({"create"})
    errors = {"create": (404, 409), "update": (409,), "give_verdict": (409,)}
    query = {
        "list": (
            *parameters.paging(100, ORDERS),
            parameters.query("state", "Only in this state.", enum=STATES),
            parameters.KIND,
            parameters.RESOURCE_ID,
            parameters.query("reviewer", "`me`: only those that you were asked for.", enum=["me"]),
            parameters.query("author", "`me`: only those that you asked for.", enum=["me"]),
            parameters.WORKSPACE,
        ),
    }
    requests = {"create": ReviewCreate, "update": ReviewUpdate, "give_verdict": VerdictCreate}
    paths = {"id": (parameters.UUID, "The id of the review.")}
    responses = {
        "list": ReviewPage,
        "create": ReviewAnswer,
        "retrieve": ReviewAnswer,
        "update": ReviewAnswer,
        "give_verdict": ReviewAnswer,
    }

    @property
    def reviews(self) -> Reviews:
        """The verbs."""
        return Reviews.current()

    def list(self, request: Request) -> Response:
        """List the reviews that the caller may read, newest first."""
        given = request.query_params
        found = self.reviews.list(
            state=given.get("state"),
            kind=given.get("kind"),
            resource_id=given.get("id"),
            workspace_id=given.get("workspaceId"),
            reviewer=self.caller if "reviewer" in given else None,
            author=self.caller if "author" in given else None,
            by=self.caller,
        )
        page = Page.read(given, size=100, fields=ORDERS, then="pk")
        return self.page_of(page, found, self.reviews.records_of, weight=LENGTH)

    def create(self, request: Request) -> Response:
        """Ask for a review of a version, by default of the latest."""
        given = ReviewCreate.read(request)
        review = self.reviews.ask(
            given["resource"]["kind"],
            given["resource"]["id"],
            version_id=given.get("versionId"),
            message=given.get("message") or "",
            reviewers=given.get("reviewers", ()),
            by=self.caller,
        )
        address = addresses.location(f"reviews/{review.id}")
        return self._answer(request, review, status=201, headers={"Location": address})

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a review in its current state."""
        return self._answer(request, self.reviews.find(id, by=self.caller))

    def update(self, request: Request, id: str) -> Response:
        """Move a review to a newer version, name its reviewers, or close it."""
        given = ReviewUpdate.read(request)
        review = self.reviews.change(
            id,
            version_id=given.get("versionId"),
            reviewers=given.get("reviewers"),
            is_closed=True if "state" in given else None,
            by=self.caller,
        )
        return self._answer(request, review)

    def give_verdict(self, request: Request, id: str) -> Response:
        """Approve the version under review, request changes to it, or withdraw your verdict."""
        given = VerdictCreate.read(request)
        review = self.reviews.give_verdict(
            id,
            version_id=given["versionId"],
            verdict=given["verdict"],
            body=given.get("body") or "",
            by=self.caller,
        )
        return self._answer(request, review)

    def _answer(self, request: Request, review: ReviewRecord, **response: Any) -> Response:
        collection = get_editor().collection(KINDS_BY_SLUG[review.resource_kind])
        warnings: tuple[Notice, ...] = ()
        with suppress(NotFound):  # the version may have been deleted
            version = collection.version(review.resource_id, review.version_id, by=self.caller).version
            warnings = tuple(invisible_characters(version.config))
        return with_etag(request, self.dump(replace(review, warnings=warnings)), **response)
