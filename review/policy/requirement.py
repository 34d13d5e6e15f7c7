"""What the gate has to know of every version, in one statement.

Most workspaces require no approvals, and then this is all that publishing costs.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection

from review.models import Bypass, PublishedConfiguration, Review, ReviewPolicy
from versioning.domain.events import Target
from versioning.models.log import LogPosition
from versioning.models.statements import prepared_cursor, table_of

# Nothing but names of tables is put in.
_POLICY_FOR: Final = (
    "SELECT log.rights_position, policy.required, policy.bypass, review.id, review.digest,"
    " EXISTS(SELECT 1 FROM {published} AS live WHERE live.identity = %s AND live.resource_id = %s"
    " AND live.kind = %s AND live.digest = %s)"
    " FROM (SELECT 1 AS one) AS asked LEFT JOIN {log} AS log ON log.id = 1"
    " LEFT JOIN {policy} AS policy ON policy.workspace_id = %s"
    " LEFT JOIN {review} AS review ON review.identity = %s AND review.resource_id = %s AND review.kind = %s"
    " AND review.published_at IS NULL AND review.closed_at IS NULL"
)
_REQUIRED: Final = "SELECT 1 FROM {policy} WHERE workspace_id = %s AND required > 0"


class Requirement(NamedTuple):
    """The policy for a configuration of a resource, and what is known of the configuration."""

    rights_position: int
    """The position of the newest change of anybody's rights, or of a policy."""
    required: int
    bypass: str
    review_id: UUID | None
    """The review of the resource that is open."""
    reviewed: str | None
    """The digest of the configuration that it is about."""
    was_live: bool
    """Whether the configuration was the published one before."""


def requirement_of(target: Target, digest: str) -> Requirement:
    """Return the policy for a configuration of a resource; in one statement."""
    about = [_stored(target.identity), target.id, target.kind]
    with prepared_cursor() as cursor:
        cursor.execute(_statement(_POLICY_FOR), [*about, digest, target.workspace_id, *about])
        position, required, bypass, review_id, reviewed, was_live = cursor.fetchone()
    return Requirement(
        rights_position=position or 0,
        required=required or 0,
        bypass=bypass or Bypass.ADMIN,
        review_id=UUID(review_id) if isinstance(review_id, str) else review_id,
        reviewed=reviewed,
        was_live=bool(was_live),
    )


def requires_review(workspace_id: str) -> bool:
    """Say whether a workspace requires approvals."""
    with prepared_cursor() as cursor:
        cursor.execute(_statement(_REQUIRED), [workspace_id])
        return cursor.fetchone() is not None


def _stored(identity: UUID) -> Any:
    field: Any = Review._meta.get_field("identity")
    return field.get_db_prep_value(identity, connection)


@cache
def _statement(text: str) -> str:
    tables = {
        "log": LogPosition,
        "policy": ReviewPolicy,
        "published": PublishedConfiguration,
        "review": Review,
    }
    return text.format(**{name: table_of(model) for name, model in tables.items()})
