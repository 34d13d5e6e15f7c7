"""The reviews that are for a person to do: changes to make, and versions to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from capabilities.review.models import VerdictValue
from capabilities.review.reviews.records import ReviewRecord
from capabilities.review.studio.presenters import ReviewLine, lines_of
from capabilities.review.studio.waiting import QUERY, waiting_for
from studio.for_you import SHOWN, Task, TaskGroup, Urgency
from studio.named import Place, people, person
from versioning.domain.access import Caller


def for_you(caller: Caller) -> Iterator[TaskGroup]:
    """Yield the changes that are requested of the person, and the reviews that wait for them."""
    found = waiting_for(caller)
    shown = [*found.returned[:SHOWN], *found.asked[:SHOWN]]
    lines = {line.record.id: line for line in lines_of(shown, caller)}
    address = f"{reverse('studio:reviews')}?{QUERY}"

    def shown_of(records: Sequence[ReviewRecord]) -> list[ReviewLine]:
        return [lines[record.id] for record in records[:SHOWN]]

    yield TaskGroup(
        key="returned",
        urgency=Urgency.RETURNED,
        title=_("Changes requested of you"),
        tasks=[_returned(line) for line in shown_of(found.returned)],
        count=len(found.returned),
        address=address,
    )
    yield TaskGroup(
        key="asked",
        urgency=Urgency.ASKED,
        title=_("Waiting for your review"),
        tasks=[_asked(line, caller) for line in shown_of(found.asked)],
        count=len(found.asked),
        address=address,
    )


def _returned(line: ReviewLine) -> Task:
    """Return a review in which a reviewer requested changes, with the comment."""
    requests = [
        verdict
        for verdict in line.record.verdicts
        if verdict.counts and verdict.verdict == VerdictValue.REQUEST_CHANGES
    ]
    who = people(line.record.outcome.changes_requested_by, Place.BEGINNING)
    about = _("{who} asked for changes to version {number}")
    return Task(
        name=line.name,
        address=line.address,
        icon=line.kind.icon,
        chip=(line.state.word, line.state.chip),
        said=requests[-1].body if requests else "",
        about=format_html(about, who=who, number=line.record.version_number),
        at=requests[-1].created_at if requests else None,
        notes=_notes(line),
        workspace_id=line.record.workspace_id,
        action=_("Edit"),
        action_address=line.kind.address("change", line.record.resource_id),
    )


def _asked(line: ReviewLine, caller: Caller) -> Task:
    """Return a review that waits for the person."""
    record = line.record
    who = person(record.requested_by, Place.BEGINNING)
    about = (
        _("{who} asked you to look at version {number}")
        if caller.username in record.reviewers
        else _("{who} asked for a review of version {number}")
    )
    return Task(
        name=line.name,
        address=line.address,
        icon=line.kind.icon,
        chip=(line.state.word, line.state.chip),
        said=record.message,
        about=format_html(about, who=who, number=record.version_number),
        at=record.created_at,
        notes=_notes(line),
        workspace_id=record.workspace_id,
        action=_("Review"),
    )


def _notes(line: ReviewLine) -> list[str]:
    return [_("There is now a newer version.")] if line.record.outdated else []
