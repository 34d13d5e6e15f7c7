"""The verbs of feedback: give it, list it, sum it up."""

from __future__ import annotations

import datetime
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from editor_client.shared import scores as shared

from capabilities.rollouts.counting import RECORDER, SECONDS
from capabilities.rollouts.ending import target
from capabilities.rollouts.models import MAX_COMMENT, MAX_TEXT, Feedback, ServedRun
from capabilities.rollouts.usage.verbs import about_versions, version_reported_by
from versioning.domain.access import APPLICATION, Right
from versioning.domain.agents import AGENT
from versioning.domain.errors import Invalid, Message, NotFound
from versioning.domain.kinds import kind_named
from versioning.domain.texts import checked_text
from versioning.domain.uuids import parse_uuid
from versioning.editor.resources import Who, caller_of
from versioning.models import VersionedResource
from versioning.models.followers import Follower
from versioning.models.rules import validate
from versioning.verbs import Verbs

Value = float | str | bool
MAX_NUMBER: Final = 2**53
"""From this number on, some programs cannot represent JSON numbers exactly."""
ATTEMPTS: Final = 3
"""The number of lookups for a run that another process may be about to write."""


class About(NamedTuple):
    """A resource, as kind and id."""

    kind: str
    id: str


@dataclass(frozen=True, kw_only=True)
class GivenFeedback:
    """The feedback, and whether it already existed."""

    feedback: Feedback
    is_new: bool


def give(
    feedback: Verbs,
    *,
    name: str,
    value: Value,
    run_id: str | None = None,
    about: About | None = None,
    version_id: str | None = None,
    arm: str = "",
    comment: str = "",
    external_id: str | None = None,
    by: Who = APPLICATION,
) -> GivenFeedback:
    """Give feedback on a version, by the run that served it or directly.

    By a run it is about the called agent, unless `about` names another resource of the run. Everyone who can
    run the agent may give feedback. Repeating an `external_id` changes nothing. Raises `NotFound`,
    `Forbidden` and `Invalid`.
    """
    by = caller_of(by)
    _check(name, value, comment, external_id)
    run = None
    served: tuple[str | None, str] | None = None
    if run_id is not None:
        run = _run(run_id)
        resource: VersionedResource = feedback.editor.collection(AGENT).find_or_defined(run.called, by=by)
        served = run.version_of(target(resource), resource.created_at)
        if served is None:  # a later agent with its id
            raise NotFound
    elif about is None:
        raise Invalid.field("runId", "is required, unless resource is given")
    if about is not None:
        resource = feedback.editor.collection(kind_named(about.kind)).find_or_defined(about.id, by=by)
        if run is not None:
            served = run.version_of(target(resource), resource.created_at)
            if served is None:
                raise Invalid.field("resource", "took no part in this run")
    if served is not None:
        version_id, arm = served
    else:
        version_id = version_reported_by(feedback, resource, version_id, arm, by=by)
    row = Feedback(
        workspace_id=resource.workspace_id,
        kind=resource.kind.slug,
        resource_id=resource.pk,
        version_id=version_id or "",
        arm=arm,
        run_id=run.pk if run else None,
        name=name,
        value=value,
        comment=comment,
        external_id=external_id,
        author_id=by.user_id,
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        existing = Feedback.objects.filter(workspace=resource.workspace_id, external_id=external_id).first()
        if external_id is None or existing is None:
            raise
        # Callers who cannot read feedback get back only what they sent.
        may_read = existing.author_id == by.user_id or by.may(Right.READ_DRAFTS, existing.workspace_id)
        is_readable = may_read and by.covers(existing.resource_id)
        row.pk, row.created_at = existing.pk, existing.created_at
        return GivenFeedback(feedback=existing if is_readable else row, is_new=False)
    return GivenFeedback(feedback=row, is_new=True)


def list_readable(
    feedback: Verbs,
    kind: str,
    resource_id: str,
    *,
    version_id: str | None = None,
    name: str | None = None,
    by: Who = APPLICATION,
) -> QuerySet[Feedback]:
    """Return the feedback on a resource, newest first; requires the right to read drafts."""
    by, found_kind = caller_of(by), kind_named(kind)
    resource = feedback.editor.collection(found_kind).find_or_defined(resource_id, by=by)
    by.require(Right.READ_DRAFTS, resource.workspace_id)
    filters = {"version_id": version_id, "name": name}
    rows = Feedback.objects.filter(kind=found_kind.slug, resource_id=resource.pk)
    return rows.filter(**{field: value for field, value in filters.items() if value is not None})


def summarize(
    feedback: Verbs,
    kind: str,
    resource_id: str,
    *,
    since: datetime.datetime | None = None,
    until: datetime.datetime | None = None,
    by: Who = APPLICATION,
) -> Sequence[shared.Summary]:
    """Return the feedback by version, arm and name, summed up; requires the right to read drafts.

    `since` and `until` limit it to feedback that was given between two moments, inclusive.
    """
    rows = list_readable(feedback, kind, resource_id, by=by).order_by()
    if since is not None:
        rows = rows.filter(created_at__gte=since)
    if until is not None:
        rows = rows.filter(created_at__lte=until)
    return shared.sum_feedback(rows.values_list("version_id", "arm", "name", "value").iterator())


class Feedbacks(Verbs):
    """Feedback on answers."""

    give = give
    list = list_readable
    summarize = summarize


def _check(name: str, value: Value, comment: str, external_id: str | None) -> None:
    if not name.strip():
        raise Invalid.field("name", "must not be blank")
    feedback = Feedback(name=name, comment=comment, external_id=external_id)
    validate(feedback, ["name", "comment", "external_id"])
    if not isinstance(value, str | int | float):  # a boolean is an int in Python
        raise Invalid.field("value", "must be a number, a text, true or false")
    if isinstance(value, str):
        checked_text("value", value, MAX_TEXT)
    elif not abs(value) < MAX_NUMBER:
        raise Invalid.field("value", "must be a number below 2**53, or a text")
    if len(comment.encode(errors="replace")) > MAX_COMMENT:
        raise Invalid.field("comment", Message("must not be longer than {limit} bytes", limit=MAX_COMMENT))


def _run(run_id: str) -> ServedRun:
    """Return a run; one that has just ended may not be written yet, perhaps by another process."""
    runs = ServedRun.objects.filter(pk=parse_uuid(run_id))
    run = runs.first()
    if run is None:
        RECORDER.write()
        run = runs.first()
    for _ in range(ATTEMPTS if RECORDER.every is not None else 0):
        if run is None:
            time.sleep(SECONDS)
            run = runs.first()
    if run is None or run.is_forgotten:
        raise NotFound
    return run


FOLLOWER: Final = Follower(
    call=lambda _by, resource, *_about: about_versions(Feedback.objects.all(), resource).delete(),
    events=["deleted"],
)
