"""The problems that would prevent schedules: from stored subjects and authors, a forecast, and the gate.

The gate decides for the author of the schedule and its time, with the current rights and policy. Earlier
schedules of the same resource are assumed done, so that the end of a pair is judged in the state after its
beginning. Other coming changes, such as a prompt block that another schedule publishes, count only once they
have happened.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, cast
from uuid import UUID

from django.contrib.auth import get_user_model

from capabilities.releases import rules
from capabilities.releases.items import ItemNow, now, read_rows, read_versions
from capabilities.releases.models import Release, ReleaseItem, ReleaseState
from capabilities.releases.rules import Problem as ReleaseProblem
from capabilities.releases.rules import ReleaseBlocked, title_of
from capabilities.releases.verbs import Attempt, find_problems_of_several
from capabilities.schedules.models import Action, Problem, Schedule, ScheduleState
from versioning.domain.access import APPLICATION, Caller, Right, Role, Via
from versioning.domain.errors import (
    EditConflict,
    Forbidden,
    Message,
    NotFound,
    Quoted,
    Unauthorized,
    VersioningError,
)
from versioning.domain.events import Target
from versioning.domain.kinds import KINDS, KINDS_BY_SLUG, ResourceKind
from versioning.domain.snapshots import Snapshot
from versioning.editor import Editor, gate
from versioning.editor.gate import PublishRequest, TakeDownRequest
from versioning.models import ApiKey, Membership, VersionedResource, caller_of_author
from versioning.models.workspaces import caller_with
from versioning.serving.grants import target_of
from versioning.serving.references import UnpublishedBlocks
from versioning.verbs import Verbs

GONE: Final = "gone"
"""The code of a schedule whose resource, version or release was deleted."""
NOT_ALLOWED: Final = "not_allowed"
MAX_NAMED: Final = 20
"""The maximum number of prompt blocks in a message."""


class SomethingElseIsLive(VersioningError):
    """Another version is live than the schedule expects."""

    code = EditConflict.code

    def __init__(self) -> None:
        super().__init__("Something else has gone live since this was scheduled.")


Refusal = str
"""A sentence: why a schedule has no valid author to run as."""


def no_right(author: str) -> Refusal:
    """Return the sentence that the author of a schedule may no longer publish."""
    return Message("{name!r} may no longer publish there.", name=author)


def key_unusable(prefix: str) -> Refusal:
    """Return the sentence that the key of a schedule can no longer be used."""
    return Message("The API key {prefix}… that scheduled this is revoked or has expired.", prefix=prefix)


def failure_code(error: VersioningError) -> str:
    """Return the code of a schedule that an error prevents.

    Schedules end with their resource, so an object that is not found is no longer readable for the person.
    """
    is_refused = error.code in {Forbidden.code, NotFound.code, Unauthorized.code}
    return NOT_ALLOWED if is_refused else error.code


def failure_message(error: VersioningError) -> str:
    """Return an error of the gate for everyone who can read the schedule.

    The gate decided for another person, who may know of other prompt blocks. So the message does not reveal
    whether an unpublished block exists.
    """
    if isinstance(error, UnpublishedBlocks):
        return blocks_in_words(error.blocks)
    if isinstance(error, ReleaseBlocked):
        return ReleaseBlocked(
            [replace(problem, message=item_failure_message(problem)) for problem in error.problems]
        ).message
    return error.message


def item_failure_message(problem: ReleaseProblem) -> str:
    """Return a problem of a release as `failure_message` does; it names the resource."""
    if isinstance(problem.error, UnpublishedBlocks) and problem.resource is not None:
        return f"{title_of(problem.resource)}: {failure_message(problem.error)}"
    return problem.message


def blocks_in_words(blocks: Sequence[str]) -> str:
    """Return the sentence that prompt blocks are not published."""
    named: str = Quoted(blocks[:MAX_NAMED])
    if len(blocks) == 1:
        return Message("The prompt block {id} is not published.", id=named)
    if len(blocks) > MAX_NAMED:
        named = Message("{names} and {count} more", names=named, count=len(blocks) - MAX_NAMED)
    return Message("The prompt blocks {ids} are not published.", ids=named)


ItemsByRelease = Mapping[UUID, ReleaseItem]
"""The actions of releases on one resource, by the ids of the releases."""


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The outcome of a schedule on one resource; versions are ids, or None."""

    fails: bool
    before: str | None
    """The version that is live when it runs."""
    live: str | None
    """The version that is live afterwards."""
    has_nothing_to_do: bool = False
    """Whether it fails only because its version is already live by then."""


def in_order(schedules: Iterable[Schedule]) -> list[Schedule]:
    """Return schedules in running order: at the same time, single versions before releases."""
    return sorted(
        schedules, key=lambda schedule: (schedule.run_at, schedule.release_id is not None, schedule.pk)
    )


def forecast(
    reference: str, live: str | None, waiting: Iterable[Schedule], items: ItemsByRelease
) -> list[Forecast]:
    """Return the outcome of each schedule on a resource if nothing else is published.

    The schedules are in order of time; `live` is the current live version.
    """
    outcomes = []
    for schedule in waiting:
        if schedule.release_id is None:
            makes_live = schedule.version_id or None
        else:
            version_id = items[schedule.release_id].version_id
            makes_live = str(version_id) if version_id else None
        fails = schedule.is_unexpected(reference, live)
        after = live if fails else makes_live
        done = fails and live == makes_live
        outcomes.append(Forecast(fails=fails, before=live, live=after, has_nothing_to_do=done))
        live = after
    return outcomes


def forecast_all(live: Mapping[str, tuple[Target, str | None]]) -> Mapping[tuple[UUID, str], Forecast]:
    """Return the outcomes of all schedules on resources, by schedule and resource.

    `live` are the resources by their references in `Schedule.expects`, each with its live version. Takes at
    most three statements.
    """
    known = {(target.kind, target.id, target.identity) for target, _ in live.values()}
    about = {
        "resource_id__in": {resource_id for _, resource_id, _ in known},
        "identity__in": {identity for *_, identity in known},
    }
    waiting: defaultdict[str, list[Schedule]] = defaultdict(list)
    for schedule in Schedule.objects.waiting().filter(**about).order_by():
        waiting[schedule.reference].append(schedule)
    scheduled = Schedule.objects.waiting().of_releases().order_by().values("release_id")
    rows = ReleaseItem.objects.filter(**about, release__state=ReleaseState.DRAFT, release__in=scheduled)
    items: defaultdict[str, dict[UUID, ReleaseItem]] = defaultdict(dict)
    references: defaultdict[UUID, list[str]] = defaultdict(list)
    for item in rows.order_by():
        if (item.kind, item.resource_id, item.identity) in known:
            reference = f"{item.kind}/{item.resource_id}"
            items[reference][item.release_id] = item
            references[item.release_id].append(reference)
    for schedule in Schedule.objects.waiting().filter(release_id__in=references) if references else ():
        for reference in references[cast("UUID", schedule.release_id)]:
            waiting[reference].append(schedule)
    outcomes = {}
    for reference, (_target, live_now) in live.items():
        ordered = in_order(waiting[reference])
        for schedule, outcome in zip(
            ordered, forecast(reference, live_now, ordered, items[reference]), strict=True
        ):
            outcomes[schedule.pk, reference] = outcome
    return outcomes


_BY_ITSELF: Final = replace(APPLICATION, via=Via.SCHEDULE)
"""The caller of schedules made by the application itself."""


def person(schedule: Schedule) -> Caller:
    """Return the author of a schedule, with current rights, within the limits of the key that made it.

    Raises `Forbidden` if the account was deleted, or the key can no longer be used.
    """
    if not schedule.author_name:
        return _BY_ITSELF
    author = caller_of_author(schedule.author, schedule.author_name, Via.SCHEDULE)
    if schedule.key_prefix:
        key = ApiKey.objects.filter(prefix=schedule.key_prefix).select_related("owner").first()
        if key is None or not key.usable:
            raise Forbidden(key_unusable(schedule.key_prefix))
        return key.caller(Via.SCHEDULE)
    return author


def people(schedules: Sequence[Schedule]) -> Mapping[UUID, Caller | Refusal]:
    """Return the authors of schedules by id, like `person`, or why there is none. Takes three statements.

    A key takes one more if keys need sign-ins of their owners.
    """
    authors = {schedule.author_id for schedule in schedules if schedule.author_name}
    users = get_user_model()._default_manager.in_bulk(authors - {None})
    roles: defaultdict[Any, dict[str, Role]] = defaultdict(dict)
    if users:
        rows = Membership.objects.filter(user__in=users).order_by()
        for user_id, workspace_id, role in rows.values_list("user_id", "workspace_id", "role"):
            roles[user_id][workspace_id] = Role(role)
    callers = {
        pk: caller_with(
            roles[pk],
            is_superuser=user.is_superuser,
            username=user.get_username(),
            user_id=pk,
            via=Via.SCHEDULE,
        )
        for pk, user in users.items()
        if user.is_active
    }
    prefixes = {schedule.key_prefix for schedule in schedules if schedule.key_prefix}
    found = ApiKey.objects.filter(prefix__in=prefixes, owner__in=callers).select_related("owner")
    keys = {key.prefix: key.caller(Via.SCHEDULE, owner=callers[key.owner_id]) for key in found if key.usable}

    def caller_of(schedule: Schedule) -> Caller | Refusal:
        if not schedule.author_name:
            return _BY_ITSELF
        owner = callers.get(schedule.author_id)
        if owner is None:
            return no_right(schedule.author_name)
        if schedule.key_prefix:
            return keys.get(schedule.key_prefix, key_unusable(schedule.key_prefix))
        return owner

    return {schedule.pk: caller_of(schedule) for schedule in schedules}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The stored state of the subjects of schedules."""

    people: Mapping[UUID, Caller | Refusal]
    """The authors, by the ids of the schedules, or why there is none."""
    releases: Mapping[UUID, Release]
    items: Mapping[UUID, Sequence[ItemNow]]
    """The items of the releases, in publishing order."""
    resources: Mapping[str, VersionedResource]
    """By their references in `Schedule.expects`."""
    versions: Mapping[str, Any]
    """Versions in rows, by their ids."""
    live: Mapping[str, tuple[Target, str | None]]
    """The resources, including those in releases, each with its live version."""

    def references(self, schedule: Schedule) -> Sequence[str]:
        """Return the references of the resources that a schedule moves."""
        if schedule.release_id is None:
            return [schedule.reference]
        return [f"{item.kind}/{item.resource_id}" for item in self.items[schedule.release_id]]

    def publisher(self, schedule: Schedule) -> Caller | None:
        """Return the author, if the subject exists and the author may publish it."""
        author = self.people[schedule.pk]
        if self.is_gone(schedule) or not isinstance(author, Caller):
            return None
        return author if author.may(Right.PUBLISH, schedule.workspace_id) else None

    def is_gone(self, schedule: Schedule) -> bool:
        """Return whether the subject of a schedule was deleted, or its release was published otherwise."""
        if schedule.release_id is not None:
            release = self.releases.get(schedule.release_id)
            return release is None or release.state != ReleaseState.DRAFT
        target, _live = self.live.get(schedule.reference, (None, None))
        if target is None or target.identity != schedule.identity:
            return True
        return schedule.action == Action.PUBLISH and self.version(schedule, schedule.version_id) is None

    def version(self, schedule: Schedule, version_id: str | None) -> Snapshot | None:
        """Return a version of a schedule's resource; None if it does not exist."""
        resource = self.resources[schedule.reference]
        unstored = resource.pointers.find(version_id) if resource.pointers and version_id else None
        row = self.versions.get(version_id or "")
        stored: Snapshot | None = row if row is not None and row.resource_id == resource.pk else None
        return unstored or stored


def read_facts(editor: Editor, schedules: Sequence[Schedule]) -> Facts:
    """Return the facts about schedules; the number of statements is constant."""
    releases = Release.objects.in_bulk(
        {schedule.release_id for schedule in schedules if schedule.release_id is not None}
    )
    items: defaultdict[UUID, list[ItemNow]] = defaultdict(list)
    rows = ReleaseItem.objects.filter(release__in=releases).select_related("release")
    for item in rules.in_order(now(editor, rows, with_texts=True)) if releases else ():
        items[item.item.release_id].append(item)
    own = [schedule for schedule in schedules if schedule.release_id is None]
    resources: dict[str, VersionedResource] = {}
    versions: dict[str, Any] = {}
    for kind in KINDS:
        of_kind = [schedule for schedule in own if schedule.kind == kind.slug]
        if of_kind:
            resources |= _resources(editor, kind, {schedule.resource_id for schedule in of_kind})
            versions |= _versions(editor, kind, of_kind)
    live = {
        name: (target_of(resource, editor.code), resource.active_id) for name, resource in resources.items()
    }
    for item in chain.from_iterable(items.values()):
        if item.resource is not None:
            target = target_of(item.resource, editor.code)
            live.setdefault(f"{item.kind}/{item.resource_id}", (target, item.resource.active_id))
    return Facts(
        people=people(schedules),
        releases=releases,
        items=items,
        resources=resources,
        versions=versions,
        live=live,
    )


def _resources(editor: Editor, kind: ResourceKind, ids: set[str]) -> dict[str, VersionedResource]:
    """Return resources by their names in `Schedule.expects`; each override file takes a statement."""
    collection: Any = editor.collection(kind)
    found = read_rows(collection, ids)
    if editor.source == "code" and kind.in_code:
        for resource_id in ids & editor.code.agents.keys():
            found.pop(resource_id, None)
            with suppress(NotFound):
                found[resource_id] = collection.backend.find(resource_id, APPLICATION)
    return {f"{kind.slug}/{pk}": value for pk, value in found.items()}


def _versions(editor: Editor, kind: ResourceKind, schedules: Sequence[Schedule]) -> dict[str, Any]:
    """Return the versions in rows that schedules publish, or expect to be live."""
    named = {schedule.version_id for schedule in schedules} | {
        schedule.expected_version_id or "" for schedule in schedules
    }
    keys = []
    for version_id in named:
        with suppress(ValueError):  # versions in Git have ids of another kind, and no rows
            keys.append(UUID(version_id))
    collection = editor.collection(KINDS_BY_SLUG[kind.slug])
    return {str(pk): version for pk, version in read_versions(collection, keys, with_texts=True).items()}


UNEXPECTED: Final = "Something else is live, or will be by then, than this was scheduled for."

Problems = Mapping[UUID, Sequence[Problem]]
"""By schedule id."""
_Outcomes = Mapping[tuple[UUID, str], Forecast]


def find_problems(schedules: Verbs, some: Iterable[Schedule]) -> Problems:
    """Return the problems that would prevent schedules if their time were now, by their ids.

    Ended schedules have no problems. The number of statements does not depend on the number of schedules,
    with these exceptions: authors with different rights take one more each if versions refer to prompt
    blocks, and keys one if keys need sign-ins.
    """
    waiting = [schedule for schedule in some if schedule.state == ScheduleState.SCHEDULED]
    if not waiting:
        return {}
    editor = schedules.editor
    facts = read_facts(editor, waiting)
    outcomes = forecast_all(facts.live)
    problems: dict[UUID, list[Problem]] = {}
    requests: dict[UUID, PublishRequest | TakeDownRequest] = {}
    attempts: dict[UUID, Attempt] = {}
    for schedule in waiting:
        problems[schedule.pk] = list(_own_problems(schedule, facts, outcomes))
        by = facts.publisher(schedule)
        if by is None:
            continue
        if schedule.release_id is not None:
            attempts[schedule.pk] = Attempt(
                release=facts.releases[schedule.release_id],
                items=facts.items[schedule.release_id],
                by=by,
                at=schedule.run_at,
            )
        elif (request := _request(schedule, by, facts, outcomes)) is not None:
            requests[schedule.pk] = request
    for pk, error in zip(requests, gate.refusals(list(requests.values()), editor.code), strict=True):
        if error is not None:
            problem = Problem(code=failure_code(error), message=failure_message(error), error=error)
            problems[pk].append(problem)
    for pk, blocked in zip(attempts, find_problems_of_several(editor, list(attempts.values())), strict=True):
        problems[pk] += [
            Problem(
                code=item.code if item.error is None else failure_code(item.error),
                message=item_failure_message(item),
                error=item.error,
                item=item,
            )
            for item in blocked
        ]
    return problems


def judge(schedules: Verbs, rows: Iterable[Schedule]) -> list[Schedule]:
    """Return schedules with their `problems`, which would prevent them from running now."""
    judged = list(rows)
    problems = find_problems(schedules, judged)
    for schedule in judged:
        schedule.problems = problems.get(schedule.pk, ())
    return judged


def _own_problems(schedule: Schedule, facts: Facts, outcomes: _Outcomes) -> Iterator[Problem]:
    """Yield problems found without the gate: deleted subjects, missing rights, unexpected live versions."""
    if facts.is_gone(schedule):
        yield Problem(code=GONE, message=Message("What was scheduled no longer exists."))
    elif facts.publisher(schedule) is None:
        author = facts.people[schedule.pk]
        refusal = no_right(schedule.author_name) if isinstance(author, Caller) else author
        yield Problem(code=NOT_ALLOWED, message=refusal)
    else:
        # A schedule that just ran has no outcomes.
        own = [outcomes.get((schedule.pk, reference)) for reference in facts.references(schedule)]
        failing = [outcome for outcome in own if outcome is not None and outcome.fails]
        if failing:
            done = all(outcome.has_nothing_to_do for outcome in failing)
            yield Problem(code=SomethingElseIsLive.code, message=UNEXPECTED, has_nothing_to_do=done)


def _request(
    schedule: Schedule, by: Caller, facts: Facts, outcomes: _Outcomes
) -> PublishRequest | TakeDownRequest | None:
    """Return the request to the gate about a resource; None if the gate is not involved."""
    resource = facts.resources[schedule.reference]
    outcome = outcomes.get((schedule.pk, schedule.reference))
    before = resource.active_id
    # With nothing left to do, an earlier schedule has done it, which may itself be prevented.
    if outcome is not None and not outcome.has_nothing_to_do:
        before = outcome.before
    then = _with_live(resource, before, facts.version(schedule, before))
    if schedule.action == Action.UNPUBLISH:
        return None if before is None else TakeDownRequest(resource=then, caller=by, at=schedule.run_at)
    version = facts.version(schedule, schedule.version_id)
    if version is None:
        return None
    return PublishRequest(resource=then, version=version, caller=by, at=schedule.run_at)


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
