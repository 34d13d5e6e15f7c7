"""The facts that the gate needs for every version, in one statement.

Most workspaces require no approvals, and then this is the whole cost of publishing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection

from review.models import Bypass, PublishedConfiguration, Review, ReviewPolicy
from review.named import are_the_same
from versioning.domain.events import Target
from versioning.models.log import LogPosition
from versioning.models.statements import prepared_cursor, table_of
from versioning.serving.grants import Named

# Only names of tables are inserted.
_POLICY_FOR: Final = (
    "SELECT log.rights_position, policy.required, policy.bypass, review.id, review.digest,"
    " live.number, live.named"
    " FROM (SELECT 1 AS one) AS asked LEFT JOIN {log} AS log ON log.id = 1"
    " LEFT JOIN {policy} AS policy ON policy.workspace_id = %s"
    " LEFT JOIN {review} AS review ON review.identity = %s AND review.resource_id = %s AND review.kind = %s"
    " AND review.published_at IS NULL AND review.closed_at IS NULL"
    " LEFT JOIN {published} AS live ON live.identity = %s AND live.resource_id = %s AND live.kind = %s"
    " AND live.digest = %s"
)
_REQUIRED: Final = "SELECT 1 FROM {policy} WHERE workspace_id = %s AND required > 0"


class Requirement(NamedTuple):
    """The policy for a configuration of a resource, and the configuration's history."""

    rights_position: int
    """The position of the newest change of any rights or policy."""
    required: int
    bypass: str
    review_id: UUID | None
    """The open review of the resource, if any."""
    reviewed: str | None
    """The digest of the configuration under review."""
    published: Mapping[int, str]
    """The resources that the configuration named when it was published, by the numbers of its versions."""

    def was_live(self, named: Iterable[Named]) -> bool:
        """Return whether the configuration was published before, with the resources that it names now."""
        return any(are_the_same(named, then) for then in self.published.values())


def requirement_of(target: Target, digest: str) -> Requirement:
    """Return the policy for a configuration of a resource; in one statement."""
    about = [_stored(target.identity), target.id, target.kind]
    with prepared_cursor() as cursor:
        cursor.execute(_statement(_POLICY_FOR), [target.workspace_id, *about, *about, digest])
        rows = cursor.fetchall()
    position, required, bypass, review_id, reviewed, *_ = rows[0]
    return Requirement(
        rights_position=position or 0,
        required=required or 0,
        bypass=bypass or Bypass.ADMIN,
        review_id=UUID(review_id) if isinstance(review_id, str) else review_id,
        reviewed=reviewed,
        published={number: named for *_, number, named in rows if number is not None},
    )


def requires_review(workspace_id: str) -> bool:
    """Return whether a workspace requires approvals."""
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
