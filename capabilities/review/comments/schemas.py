"""The JSON objects of comments."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from capabilities.review.comments.verbs import MAX_BODY, MAX_FIELD
from capabilities.review.models import Comment
from versioning.api.schemas import (
    PageOf,
    RequestSchema,
    ResourceReference,
    ResponseSchema,
    Source,
    Time,
    TimeOrNull,
    Uuid,
)
from versioning.domain.config import UNCHANGED, NotBlank
from versioning.domain.kinds import KINDS_BY_SLUG
from versioning.domain.texts import MAX_QUOTE

# These limits are enforced in `capabilities.review.comments.verbs`, also for Python and the studio.
_BODY = Annotated[NotBlank, Field(json_schema_extra={"maxLength": MAX_BODY})]


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
        Field(
            description="Where in the version, such as `instructions.2.content`.",
            json_schema_extra={"maxLength": MAX_FIELD},
        ),
    ] = None
    line: Annotated[
        int | None,
        Field(description="The line of the field's text, from 1.", json_schema_extra={"minimum": 1}),
    ] = None
    quote: Annotated[
        str | None,
        Field(
            description=(
                "The words that it is about; of a comment on a line that line, when absent, "
                f"or the first {MAX_QUOTE} characters of it."
            ),
            json_schema_extra={"maxLength": MAX_QUOTE},
        ),
    ] = None
    body: _BODY
    parent: Annotated[str | None, Field(description="The comment that it replies to.")] = None


class CommentUpdate(RequestSchema):
    """A change of a comment; an absent member is unchanged."""

    body: Annotated[_BODY, Field(description="Only of one's own comment.")] = UNCHANGED
    resolved: Annotated[bool, Field(description="Of the thread that the comment belongs to.")] = UNCHANGED


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
