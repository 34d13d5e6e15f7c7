"""What would prevent schedules from running: the gate's refusals.

The gate is asked as the author of the schedule, about its time, with the current rights and policy. Earlier
schedules of the same resource are assumed done, so that the end of a pair is judged in the state that its
beginning leaves. Other coming changes, such as a prompt block that another schedule publishes, count only
once they have happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Final
from uuid import UUID

from capabilities.releases.checking import Attempt, problems_of_several
from capabilities.releases.rules import Problem as ReleaseProblem
from capabilities.schedules.deletions import GONE
from capabilities.schedules.facts import Facts, facts_of
from capabilities.schedules.forecast import Outcome, expected
from capabilities.schedules.models import Action, Schedule, State
from capabilities.schedules.refusals import (
    NOT_ALLOWED,
    Problem,
    SomethingElseIsLive,
    code_of,
    message_of,
    message_of_item,
    no_right,
)
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Message, VersioningError
from versioning.domain.snapshots import Snapshot
from versioning.editor import Editor, gate
from versioning.editor.gate import PublishRequest, TakeDownRequest
from versioning.models import VersionedResource
from versioning.verbs import Verbs

UNEXPECTED: Final = "Something else is live, or will be by then, than this was scheduled for."

Problems = Mapping[UUID, Sequence[Problem]]
"""By schedule id."""
_Outcomes = Mapping[tuple[UUID, str], Outcome]


def problems_of(schedules: Verbs, some: Iterable[Schedule]) -> Problems:
    """Return what would prevent schedules from running, if their time were now, by their ids.

    Ended schedules have no problems. The number of statements does not depend on the number of schedules,
    with these exceptions: authors with different rights take one more each where versions refer to prompt
    blocks, and keys one where keys need sign-ins.
    """
    waiting = {one.pk: one for one in some if one.state == State.SCHEDULED}
    if not waiting:
        return {}
    facts = facts_of(schedules.editor, list(waiting.values()))
    outcomes = expected(facts.live)
    found = {pk: list(_own_problems(value, facts, outcomes)) for pk, value in waiting.items()}
    allowed = [one for one in waiting.values() if _may(one, facts)]
    for pk, problems in _of_the_gate(schedules.editor, allowed, facts, outcomes):
        found[pk] += problems
    return found


def _own_problems(schedule: Schedule, facts: Facts, outcomes: _Outcomes) -> Iterator[Problem]:
    """Yield problems found without the gate: deleted subjects, missing rights, unexpected live versions."""
    if facts.is_gone(schedule):
        yield Problem(code=GONE, message=Message("What was scheduled no longer exists."))
    elif not _may(schedule, facts):
        person = facts.people[schedule.pk]
        why = no_right(schedule.author_name) if isinstance(person, Caller) else person
        yield Problem(code=NOT_ALLOWED, message=why)
    elif failing := _failing(schedule, facts, outcomes):
        done = all(one.has_nothing_to_do for one in failing)
        yield Problem(code=SomethingElseIsLive.code, message=UNEXPECTED, has_nothing_to_do=done)


def _failing(schedule: Schedule, facts: Facts, outcomes: _Outcomes) -> Sequence[Outcome]:
    """Return the outcomes on resources of which another version is live by then.

    A schedule that just ran has none.
    """
    found = [outcomes.get((schedule.pk, name)) for name in facts.references(schedule)]
    return [one for one in found if one is not None and one.fails]


def _may(schedule: Schedule, facts: Facts) -> bool:
    """Return whether the subject exists, and the author may publish it."""
    person = facts.people[schedule.pk]
    return (
        not facts.is_gone(schedule)
        and isinstance(person, Caller)
        and person.may(Right.PUBLISH, schedule.workspace_id)
    )


def _of_the_gate(
    editor: Editor, some: Sequence[Schedule], facts: Facts, outcomes: _Outcomes
) -> Iterator[tuple[UUID, list[Problem]]]:
    """Yield the gate's refusals of the versions, and of the items of releases."""
    alone = {one.pk: _request(one, facts, outcomes) for one in some if one.release_id is None}
    requests = {pk: request for pk, request in alone.items() if request is not None}
    for pk, error in zip(requests, gate.refusals(list(requests.values()), editor.code), strict=True):
        if error is not None:
            yield pk, [_of_error(error)]
    together = [one for one in some if one.release_id is not None]
    attempts = [
        Attempt(
            release=facts.releases[one.release_id],
            items=facts.items[one.release_id],
            by=_person(one, facts),
            at=one.run_at,
        )
        for one in together
        if one.release_id is not None
    ]
    for one, problems in zip(together, problems_of_several(editor, attempts), strict=True):
        yield one.pk, [_of_item(problem) for problem in problems]


def _of_error(error: VersioningError) -> Problem:
    return Problem(code=code_of(error), message=message_of(error), error=error)


def _request(
    schedule: Schedule, facts: Facts, outcomes: _Outcomes
) -> PublishRequest | TakeDownRequest | None:
    """Return the request to the gate about a resource; None if the gate is not involved."""
    resource, outcome = facts.resource(schedule), outcomes.get((schedule.pk, schedule.reference))
    before = resource.active_id if outcome is None else outcome.before
    then = _with_live(resource, before, facts.version(schedule, before))
    by, at = _person(schedule, facts), schedule.run_at
    if schedule.action == Action.UNPUBLISH:
        return None if before is None else TakeDownRequest(resource=then, caller=by, at=at)
    version = facts.version(schedule, schedule.version_id)
    if version is None:
        return None
    return PublishRequest(resource=then, version=version, caller=by, at=at)


def _with_live(resource: VersionedResource, live_id: str | None, live: Snapshot | None) -> VersionedResource:
    """Return a resource as if another version were live; unchanged if that is unknown."""
    if live_id == resource.active_id or (live_id is not None and live is None):
        return resource
    then = copy(resource)
    if then.pointers is None:
        then.active_version = live
    else:
        then.pointers = replace(then.pointers, active=live)
    return then


def _person(schedule: Schedule, facts: Facts) -> Caller:
    person = facts.people[schedule.pk]
    assert isinstance(person, Caller)  # noqa: S101  asked only where `_may`
    return person


def _of_item(problem: ReleaseProblem) -> Problem:
    """Return a problem of a release as one of its schedule, for everyone who may read the schedule."""
    code = problem.code if problem.error is None else code_of(problem.error)
    return Problem(code=code, message=message_of_item(problem), error=problem.error, item=problem)
