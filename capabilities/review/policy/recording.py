"""The facts that the gate needs for every version, in one statement, and the history that is recorded for it.

What goes live is recorded, and which versions are created and deleted. Most workspaces require no approvals,
and then this is the whole cost of publishing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection

from capabilities.review.about import columns_about
from capabilities.review.models import Bypass, OtherAuthor, PublishedConfiguration, Review, ReviewPolicy
from versioning.conf import get_editor
from versioning.domain.access import Caller, Via
from versioning.domain.events import Target, VersionName
from versioning.domain.overrides import IN_CODE
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.editor.gate import PublishRequest
from versioning.models import Version, events
from versioning.models.followers import RESOURCES, Follower
from versioning.models.guarded import unguarded
from versioning.models.log import LogPosition
from versioning.models.statements import (
    column_names,
    inserted_columns,
    prepared_cursor,
    quoted_table,
    row_values,
)
from versioning.models.versioned import MODELS_BY_SLUG
from versioning.serving.grants import Named, find_targets, named_in, names_in


def written(named: Iterable[Named]) -> str:
    """Return the identities of resources as one text, for a column `named`."""
    return " ".join(sorted(one.identity.hex for one in named))


def are_the_same(named: Iterable[Named], then: str) -> bool:
    """Return whether a configuration names only what it named when it was `written`.

    A resource that was deleted since does not count as replaced.
    """
    known = frozenset(then.split())
    return all(one.identity.hex in known for one in named)


# Only names of tables are inserted, and the numbers and placeholders of the rows that are asked about.
_POLICIES_FOR: Final = (
    "SELECT asked.column1, log.rights_position, policy.required, policy.bypass, review.id, review.digest,"
    " live.number, live.named"
    " FROM (VALUES {rows}) AS asked LEFT JOIN {log} AS log ON log.id = 1"
    " LEFT JOIN {policy} AS policy ON policy.workspace_id = asked.column2"
    " LEFT JOIN {review} AS review ON review.identity = asked.column3 AND review.resource_id = asked.column4"
    " AND review.kind = asked.column5 AND review.published_at IS NULL AND review.closed_at IS NULL"
    " LEFT JOIN {published} AS live ON live.identity = asked.column3 AND live.resource_id = asked.column4"
    " AND live.kind = asked.column5 AND live.digest = asked.column6"
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
    published: dict[int, str]
    """The resources that the configuration named when it was published, by the numbers of its versions."""

    def was_live(self, named: Iterable[Named]) -> bool:
        """Return whether the configuration was published before, with the resources that it names now."""
        return any(are_the_same(named, then) for then in self.published.values())


def requirements_of(configurations: Sequence[tuple[Target, str]]) -> list[Requirement]:
    """Return the policy for each configuration, a resource and a digest, in order; in one statement."""
    values = [
        value
        for target, digest in configurations
        for value in (target.workspace_id, _stored(target.identity), target.id, target.kind, digest)
    ]
    asked = ", ".join(f"({number}, %s, %s, %s, %s, %s)" for number in range(len(configurations)))
    with prepared_cursor() as cursor:
        cursor.execute(_statement(_POLICIES_FOR, rows=asked), values)
        rows = cursor.fetchall()
    found: dict[int, Requirement] = {}
    for number, position, required, bypass, review_id, reviewed, live_number, named in rows:
        requirement = found.setdefault(
            number,
            Requirement(
                rights_position=position or 0,
                required=required or 0,
                bypass=bypass or Bypass.ADMIN,
                review_id=UUID(review_id) if isinstance(review_id, str) else review_id,
                reviewed=reviewed,
                published={},
            ),
        )
        if live_number is not None:
            requirement.published[live_number] = named
    return [found[number] for number in range(len(configurations))]


def requires_review(workspace_id: str) -> bool:
    """Return whether a workspace requires approvals."""
    with prepared_cursor() as cursor:
        cursor.execute(_statement(_REQUIRED), [workspace_id])
        return cursor.fetchone() is not None


def _stored(identity: UUID) -> Any:
    field: Any = Review._meta.get_field("identity")
    return field.get_db_prep_value(identity, connection)


@lru_cache(maxsize=32)
def _statement(text: str, **more: str) -> str:
    tables = {
        "log": LogPosition,
        "policy": ReviewPolicy,
        "published": PublishedConfiguration,
        "review": Review,
    }
    return text.format(**more, **{name: quoted_table(model) for name, model in tables.items()})


def named_by_request(request: PublishRequest) -> frozenset[Named]:
    """Return the resources that the version names as it passes the gate."""
    return named_in(request.targets, get_editor().code)


def record_publication(request: PublishRequest, target: Target, requirement: Requirement) -> None:
    """Record that a configuration is the active one, and end the open review of it.

    The former is written together with the end of the transaction, which saves a round trip to PostgreSQL.
    """
    version, pointers = request.version, request.resource.pointers
    if version.read_only:
        record_file(target, version)
    else:
        named = written(named_by_request(request))
        if requirement.published.get(version.number) != named:
            events.at_end(partial(_store, target, version.digest, version.number, named))
    if pointers is not None and pointers.active is not None and pointers.active.read_only:
        record_file(target, pointers.active)
    if requirement.review_id is not None and requirement.reviewed == version.digest:
        Review.objects.went_live(target, version.digest)


def record_file(target: Target, version: Snapshot) -> None:
    """Record that a file was live, which passes no gate; it can show only blocks of its workspace."""
    model = MODELS_BY_SLUG[target.kind]
    named = named_in(find_targets(names_in(model, version.config)), get_editor().code)
    own = (one for one in named if one.workspace_id == target.workspace_id)
    events.at_end(partial(_store, target, version.digest, 0, written(own)))


def record_bypass(request: PublishRequest, target: Target, requirement: Requirement) -> None:
    """Record who published a version without the required approvals, and why."""
    version, caller = request.version, request.caller
    events.record(
        "review.bypassed",
        by=caller,
        workspace_id=target.workspace_id,
        resource=target,
        version=version,
        label=request.label,
        reviewId=None if requirement.review_id is None else str(requirement.review_id),
        reason=gate.reason_of(request, "bypass_review"),
    )
    if isinstance(version, Version) and caller.username:
        version.bypassed_by = caller.username
        unguarded(type(version)._default_manager.filter(pk=version.pk)).update(bypassed_by=caller.username)


def _store(target: Target, digest: str, number: int, named: str) -> None:
    """Store what was live; resources that it named before cannot be named again, so they are replaced."""
    row = {**columns_about(target), "digest": digest, "number": number, "named": named}
    with prepared_cursor() as cursor:
        cursor.execute(_insertion(), row_values(inserted_columns(PublishedConfiguration), [row]))


@cache
def _insertion() -> str:
    names = column_names(PublishedConfiguration)
    places = ", ".join(["%s"] * len(names))
    table = quoted_table(PublishedConfiguration)
    # Only names of the table and its columns are inserted.
    return (
        f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places})"  # noqa: S608
        " ON CONFLICT (identity, resource_id, kind, digest, number) DO UPDATE SET named = excluded.named"
    )


_FIRST: Final = 1


def _remember_author(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    if isinstance(version, Version) and version.author_id is not None:
        OtherAuthor.objects.create(
            **columns_about(resource), number=version.number, author_id=version.author_id
        )


def _remember_file(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    """Record that the configuration of a version was live, if it was copied from a file."""
    if by.via is Via.FILE and isinstance(version, Version):
        record_file(resource, version)


def _begin_numbers_again(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    """Drop the numbers recorded for an override whose row is created again.

    Its identity is that of the code, and stays. So the old numbers would now refer to other versions.
    """
    if version is not None and version.number == _FIRST and resource.identity == IN_CODE:
        OtherAuthor.objects.about(resource).update(number=0)
        PublishedConfiguration.objects.forget_numbers(resource)


def _forget_authors(
    by: Caller, resource: Target, version: VersionName | None, detail: Mapping[str, Any]
) -> None:
    """Drop the authors of an override: its row may come and go while the override stays in its file."""
    if resource.identity == IN_CODE:
        OtherAuthor.objects.about(resource).delete()


def _forget_with_row(instance: Any, **_signal: Any) -> None:
    OtherAuthor.objects.filter(identity=instance.uuid).delete()


FOLLOWERS: Final = (
    Follower(call=_remember_file, events=["created", "versionCreated"]),
    Follower(call=_begin_numbers_again, events=["created", "versionCreated"]),
    Follower(call=_remember_author, events=["versionDeleted"]),
    Follower(call=_forget_authors, events=["deleted"]),
    Follower(call=_forget_with_row, rows=RESOURCES),
)
