"""Reviews, comments and review policies over HTTP."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Final, Literal, NamedTuple

from django.db.models import Sum
from django.db.models.functions import Left
from django.urls import URLPattern, re_path
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response
from typing_extensions import TypeAliasType

from capabilities.review.comments import Comments
from capabilities.review.models import MAX_REQUIRED, Comment, Review, ReviewPolicy, Verdict, VerdictValue
from capabilities.review.policy import ReviewPolicies
from capabilities.review.reviews import MAX_REVIEWERS, ReviewRecord, Reviews, ReviewState
from versioning.api import addresses, parameters
from versioning.api.base import EditorViewSet, with_etag
from versioning.api.parameters import Paging, query
from versioning.api.schemas import (
    NotEmpty,
    Nothing,
    NoticeAnswer,
    PageOf,
    ReferencedResource,
    RequestSchema,
    ResourceReference,
    ResponseSchema,
    Source,
    Success,
    Time,
    TimeOrNull,
    Uuid,
    limits,
)
from versioning.conf import get_editor
from versioning.domain.access import Action
from versioning.domain.agents import Notice
from versioning.domain.config import UNCHANGED, NotBlank
from versioning.domain.errors import NotFound
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.texts import MAX_QUOTE
from versioning.editor.configuration_checks import invisible_characters
from versioning.models.search import ByteLength, together

_REQUIRED = Annotated[
    int, Field(ge=0, le=MAX_REQUIRED, description=("The number of approvals that a version needs."))
]
_BYPASS = Annotated[
    Literal["admin", "nobody"], Field(description="The people who can publish a version without them.")
]


class ReviewPolicyUpdate(RequestSchema):
    """A review policy; an absent member has its default: 0, and `admin`."""

    required: _REQUIRED = UNCHANGED
    bypass: _BYPASS = UNCHANGED


class ReviewPolicyAnswer(ResponseSchema):
    """The number of approvals that versions of a workspace need to go live."""

    required: _REQUIRED
    bypass: _BYPASS


class MissingReview(ResponseSchema):
    """The approvals that a version still needs to go live."""

    id: Annotated[
        str | None,
        Field(description="The open review, if there is one.", json_schema_extra={"format": "uuid"}),
    ]
    missing: Annotated[int, Field(ge=0, description="The number of missing approvals.")]
    changes_requested_by: Annotated[
        list[str], Field(description=("The user names of people who request changes."))
    ]


class ReviewErrorMembers(ResponseSchema):
    """The additional members of errors about reviews."""

    review: MissingReview | None = None
    review_id: Annotated[str | None, Field(description="The existing open review.")] = None


class ReviewPolicyViewSet(EditorViewSet):
    """The review policy of a workspace: the number of approvals that versions need."""

    job = "Review"
    subject = "review policy"
    actions = {"update": Action.ADMIN}
    requests = {"update": ReviewPolicyUpdate}
    responses = {"retrieve": ReviewPolicyAnswer, "update": ReviewPolicyAnswer}
    paths = {"id": ({"type": "string"}, "The id of the workspace.")}

    @property
    def policies(self) -> ReviewPolicies:
        """The verbs for policies."""
        return ReviewPolicies.current()

    def retrieve(self, request: Request, id: str) -> Response:
        """Read the policy of a workspace; its members may."""
        return self._answer(self.policies.get(id, by=self.caller))

    def update(self, request: Request, id: str) -> Response:
        """Replace the policy of a workspace; its admins may."""
        return self._answer(self.policies.set(id, **ReviewPolicyUpdate.read(request), by=self.caller))

    def _answer(self, policy: ReviewPolicy) -> Response:
        return with_etag(self.request, self.dump(policy))


STATES = tuple(state.value for state in ReviewState)
ReviewStateName = TypeAliasType("ReviewStateName", Literal[STATES])  # type: ignore[valid-type]
VERDICTS = tuple(VerdictValue.values)
VerdictName = TypeAliasType("VerdictName", Literal[VERDICTS])  # type: ignore[valid-type]

# These limits are enforced in `capabilities.review.reviews`, for all callers.
_TEXT = Annotated[str, limits(Review.message)]
_REVIEWERS = Annotated[
    list[str],
    Field(
        description="User names of members of the workspace.", json_schema_extra={"maxItems": MAX_REVIEWERS}
    ),
]


class ReviewCreate(RequestSchema):
    """A request for a review."""

    resource: ReferencedResource
    version_id: Annotated[NotEmpty, Field(description="The latest when absent.")] = UNCHANGED
    message: _TEXT | None = None
    reviewers: _REVIEWERS = UNCHANGED


class ReviewUpdate(RequestSchema):
    """A change of a review; an absent member is unchanged."""

    version_id: Annotated[NotEmpty, Field(description="A newer version, to which it is moved.")] = UNCHANGED
    reviewers: _REVIEWERS = UNCHANGED
    state: Annotated[Literal["closed"], Field(description="Ends it.")] = UNCHANGED


class VerdictCreate(RequestSchema):
    """A verdict on the version under review."""

    version_id: Annotated[NotEmpty, Field(description="The version that you have seen.")]
    verdict: VerdictName
    body: _TEXT | None = None


class VerdictAnswer(ResponseSchema):
    """A person's verdict on a version."""

    by: str
    verdict: VerdictName
    body: str
    version_id: str
    created_at: Time
    counts: Annotated[bool, Field(description="Whether it currently counts for the version under review.")]


class ReviewAnswer(ResponseSchema):
    """A review in its current state."""

    id: Uuid
    resource: Annotated[ResourceReference, Source(lambda review: review)]
    version_id: str
    version_number: int
    base_version_id: Annotated[
        str | None, Field(description="The version that was live when the review was requested.")
    ]
    state: ReviewStateName
    requested_by: str | None
    message: str
    reviewers: Annotated[list[str], Field(description="The requested reviewers who are members.")]
    verdicts: Annotated[
        list[VerdictAnswer],
        Field(
            description=(
                "The oldest first. An open review also includes verdicts on an equal configuration from "
                "earlier reviews."
            )
        ),
    ]
    missing: Annotated[
        int, Field(description=("The number of approvals that the version still needs to go live."))
    ]
    outdated: Annotated[bool, Field(description="Whether there is a newer version.")]
    created_at: Time
    warnings: Annotated[
        list[NoticeAnswer],
        Field(description="Invisible characters in the version under review; absent in lists."),
    ] = []


class ReviewPage(PageOf):
    """Reviews, newest first."""

    reviews: Annotated[list[ReviewAnswer], Source("items")]


REVIEW_PAGING: Final = Paging(100)
LENGTH: Final = ByteLength("message") + together(Verdict.objects.all(), "review", Sum(ByteLength("body")))


class ReviewViewSet(EditorViewSet):
    """Reviews of the resources whose drafts the caller may read."""

    job = "Review"
    subject = "review"
    created = frozenset({"create"})
    errors = {"create": (404, 409), "update": (409,), "give_verdict": (409,)}
    query = {
        "list": (
            *REVIEW_PAGING.parameters,
            parameters.query("state", "Only in this state.", enum=STATES),
            parameters.KIND,
            parameters.RESOURCE_ID,
            parameters.query("reviewer", "`me`: only reviews requested from you.", enum=["me"]),
            parameters.query("author", "`me`: only reviews that you requested.", enum=["me"]),
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
        filters = request.query_params
        reviews = self.reviews.list(
            state=filters.get("state"),
            kind=filters.get("kind"),
            resource_id=filters.get("id"),
            workspace_id=filters.get("workspaceId"),
            reviewer=self.caller if "reviewer" in filters else None,
            author=self.caller if "author" in filters else None,
            by=self.caller,
        )
        page = REVIEW_PAGING.read(filters)
        return self.page_of(page, reviews, self.reviews.records_of, weight=LENGTH)

    def create(self, request: Request) -> Response:
        """Request a review of a version, by default of the latest."""
        body = ReviewCreate.read(request)
        review = self.reviews.ask(
            body["resource"]["kind"],
            body["resource"]["id"],
            version_id=body.get("versionId"),
            message=body.get("message") or "",
            reviewers=body.get("reviewers", ()),
            by=self.caller,
        )
        address = addresses.location(f"reviews/{review.id}")
        return self._answer(request, review, status=201, headers={"Location": address})

    def retrieve(self, request: Request, id: str) -> Response:
        """Read a review in its current state."""
        return self._answer(request, self.reviews.find(id, by=self.caller))

    def update(self, request: Request, id: str) -> Response:
        """Move a review to a newer version, name its reviewers, or close it."""
        body = ReviewUpdate.read(request)
        review = self.reviews.change(
            id,
            version_id=body.get("versionId"),
            reviewers=body.get("reviewers"),
            is_closed=True if "state" in body else None,
            by=self.caller,
        )
        return self._answer(request, review)

    def give_verdict(self, request: Request, id: str) -> Response:
        """Approve the version under review, request changes to it, or withdraw your verdict."""
        body = VerdictCreate.read(request)
        review = self.reviews.give_verdict(
            id,
            version_id=body["versionId"],
            verdict=body["verdict"],
            body=body.get("body") or "",
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


# These limits are enforced in `capabilities.review.comments`, also for Python and the studio.
_BODY = Annotated[NotBlank, limits(Comment.body)]


class CommentedResource(RequestSchema):
    """The resource that a comment is about."""

    kind: Literal[tuple(KINDS_BY_SLUG)]  # type: ignore[valid-type]
    id: NotBlank


class CommentCreate(RequestSchema):
    """A new comment."""

    resource: CommentedResource
    version_id: NotBlank
    field: Annotated[
        str | None,
        limits(Comment.field),
        Field(description="Where in the version, such as `instructions.2.content`."),
    ] = None
    line: Annotated[
        int | None,
        Field(description="The line of the field's text, from 1.", json_schema_extra={"minimum": 1}),
    ] = None
    quote: Annotated[
        str | None,
        Field(
            description=(
                "The quoted words. When absent in a comment on a line: that line, or its first "
                "{MAX_QUOTE} characters."
            ),
        ),
        limits(Comment.quote),
    ] = None
    body: _BODY
    parent: Annotated[str | None, Field(description="The comment that it replies to.")] = None


class CommentUpdate(RequestSchema):
    """A change of a comment; an absent member is unchanged."""

    body: Annotated[_BODY, Field(description="Only for your own comment.")] = UNCHANGED
    resolved: Annotated[bool, Field(description="The state of the comment's thread.")] = UNCHANGED


class _About(NamedTuple):
    resource_kind: str
    resource_id: str


def _first(comment: Comment) -> Comment:
    """Return the comment that begins the thread."""
    return comment.parent or comment


def _or_null(attribute: str) -> Any:
    return Source(lambda comment: getattr(comment, attribute) or None)


class CommentAnswer(ResponseSchema):
    """A comment. It is resolved if its thread is; `updatedAt` is the last change of its text."""

    id: Annotated[Uuid, Source(lambda comment: str(comment.pk))]
    workspace_id: str
    resource: Annotated[ResourceReference, Source(lambda comment: _About(comment.kind, comment.resource_id))]
    version_id: str
    version_number: int
    field: Annotated[str | None, _or_null("field")]
    line: int | None
    quote: Annotated[str | None, _or_null("quote")]
    body: str
    parent: Annotated[
        str | None,
        Source(lambda comment: str(comment.parent_id) if comment.parent_id else None),
        Field(
            description="The comment that begins the thread; null for that one.",
            json_schema_extra={"format": "uuid"},
        ),
    ]
    author: Annotated[str | None, _or_null("author_name")]
    resolved: Annotated[bool, Source(lambda comment: _first(comment).resolved_at is not None)]
    resolved_by: Annotated[str | None, Source(lambda comment: _first(comment).resolved_by_name or None)]
    resolved_at: Annotated[TimeOrNull, Source(lambda comment: _first(comment).resolved_at)]
    created_at: Time
    updated_at: Time


class CommentPage(PageOf):
    """Comments on resources whose drafts the caller may read, oldest first."""

    comments: Annotated[list[CommentAnswer], Source("items")]


COMMENT_PAGING: Final = Paging(100, direction="ASC")
COMMENT_LENGTH: Final = ByteLength("body") + ByteLength(Left("quote", MAX_QUOTE)) + ByteLength("field")


class CommentViewSet(EditorViewSet):
    """Comments on resources whose drafts the caller may read."""

    job = "Review"
    subject = "comment"
    created = frozenset({"create"})
    errors = {"create": (404,)}
    query = {
        "list": (
            *COMMENT_PAGING.parameters,
            parameters.KIND,
            parameters.RESOURCE_ID,
            query("versionId", "Only on this version."),
            query("resolved", "Only in resolved, or only in open threads.", enum=["true", "false"]),
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
        filters = request.query_params
        resolved = filters.get("resolved")
        comments = self.comments.list(
            filters.get("kind"),
            filters.get("id"),
            version_id=filters.get("versionId"),
            resolved=None if resolved is None else resolved == "true",
            by=self.caller,
        )
        page = COMMENT_PAGING.read(filters)
        return self.page_of(page, comments, weight=COMMENT_LENGTH)

    def create(self, request: Request) -> Response:
        """Comment on a version, on a field or a line of it, or reply to a comment."""
        arguments = CommentCreate.read_arguments(request)
        resource = arguments.pop("resource")
        place = {name: value for name, value in arguments.items() if value is not None}
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


_REVIEW: Final = "reviews/(?P<id>[^/]+)"
_REVIEWS: Final[dict[str, dict[str, Any]]] = {
    "reviews": {"get": "list", "post": "create"},
    f"{_REVIEW}/verdicts": {"post": "give_verdict"},
    _REVIEW: {"get": "retrieve", "patch": "update"},
}
_POLICY: Final[dict[str, Any]] = {"get": "retrieve", "put": "update"}
_COMMENTS: Final[dict[str, dict[str, Any]]] = {
    "comments": {"get": "list", "post": "create"},
    "comments/(?P<id>[^/]+)": {"get": "retrieve", "patch": "update", "delete": "destroy"},
}

urlpatterns: list[URLPattern] = [
    re_path(r"^workspaces/(?P<id>[^/]+)/review-policy\Z", ReviewPolicyViewSet.as_view(_POLICY)),
    *(re_path(rf"^{route}\Z", ReviewViewSet.as_view(verbs)) for route, verbs in _REVIEWS.items()),
    *(re_path(rf"^{route}\Z", CommentViewSet.as_view(verbs)) for route, verbs in _COMMENTS.items()),
]
