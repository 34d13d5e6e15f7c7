"""What is recorded when a version goes live."""

from __future__ import annotations

from functools import cache
from typing import Any

from review.models import PublishedConfiguration, Review
from review.policy.requirement import Requirement
from versioning.domain.events import Target
from versioning.editor import gate
from versioning.models import Version, events
from versioning.models.statements import columns_of, names_of, prepared_cursor, table_of, values_of


def record_publication(passage: gate.Passage, target: Target, requirement: Requirement) -> None:
    """Record that a configuration is published, and that the open review of exactly it has come to its end.

    The first is written together with the end of the transaction, so that PostgreSQL is not waited for.
    """
    published = [] if requirement.was_live else [passage.version.digest]
    pointers = passage.resource.pointers
    if pointers is not None and pointers.active is not None and pointers.active.read_only:
        published.append(pointers.active.digest)  # a file was live without passing the gate
    for digest in published:
        about = {"kind": target.kind, "resource_id": target.id, "identity": target.identity}
        values = values_of(columns_of(PublishedConfiguration), [{**about, "digest": digest}])
        events.at_end(_Statement(_insertion(), values))
    if requirement.review_id is not None and requirement.reviewed == passage.version.digest:
        Review.objects.went_live(target, passage.version.digest)


def record_bypass(passage: gate.Passage, target: Target, requirement: Requirement) -> None:
    """Record who let a version go live without the approvals that it needed, and why."""
    version, caller = passage.version, passage.caller
    events.record(
        "review.bypassed",
        by=caller,
        workspace_id=target.workspace_id,
        resource=target,
        version=version,
        label=passage.label,
        reviewId=None if requirement.review_id is None else str(requirement.review_id),
        reason=(passage.bypass_review or "").strip(),
    )
    if isinstance(version, Version) and caller.username:
        version.bypassed_by = caller.username
        type(version)._default_manager.filter(pk=version.pk).update(bypassed_by=caller.username)


class _Statement:
    """A statement that is executed when it is called."""

    def __init__(self, text: str, parameters: list[Any]) -> None:
        self.text, self.parameters = text, parameters

    def __call__(self) -> None:
        with prepared_cursor() as cursor:
            cursor.execute(self.text, self.parameters)


@cache
def _insertion() -> str:
    names = names_of(PublishedConfiguration)
    places = ", ".join(["%s"] * len(names))
    table = table_of(PublishedConfiguration)
    # Nothing but names of the table and its columns is put in.
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places}) ON CONFLICT DO NOTHING"  # noqa: S608
