"""What would prevent schedules from running: their subjects and authors as stored, a forecast, and the gate.

The gate is asked as the author of the schedule, about its time, with the current rights and policy. Earlier
schedules of the same resource are assumed done, so that the end of a pair is judged in the state that its
beginning leaves. Other coming changes, such as a prompt block that another schedule publishes, count only
once they have happened.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import get_user_model

from capabilities.releases import rules
from capabilities.releases.checking import Attempt, problems_of_several
from capabilities.releases.items import ItemNow, now, rows_of, versions_of
from capabilities.releases.models import Release, ReleaseItem
from capabilities.releases.models.releases import State as ReleaseState
from capabilities.releases.rules import Problem as ReleaseProblem
from capabilities.releases.rules import ReleaseBlocked, title_of
from capabilities.schedules.models import Action, Schedule, State
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
from versioning.editor.publish_requests import PublishRequest, TakeDownRequest
from versioning.models import ApiKey, Membership, VersionedResource, caller_of_author
from versioning.models.workspaces import caller_with
from versioning.serving.grants import target_of
from versioning.serving.reference_checks import UnpublishedBlocks
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


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem that would prevent a schedule."""

    code: str
    """The code of the failed schedule; for a release, the code of its check."""
    message: str
    """A sentence for everyone who may read the schedule."""
    error: VersioningError | None = None
    """The gate's error; None for problems found by schedules and releases themselves."""
    item: ReleaseProblem | None = None
    """The release's own problem; None for a resource."""
    has_nothing_to_do: bool = False
    """Whether what the schedule would make live is live by then already."""


Refusal = str
"""A sentence: why a schedule has nobody to run as."""


def no_right(author: str) -> Refusal:
    """Return the sentence that the author of a schedule may not publish any more."""
    return Message("{name!r} may no longer publish there.", name=author)


def key_unusable(prefix: str) -> Refusal:
    """Return the sentence that the key of a schedule cannot be used any more."""
    return Message("The API key {prefix}… that scheduled this is revoked or has expired.", prefix=prefix)


def code_of(error: VersioningError) -> str:
    """Return the code of a schedule that an error prevents.

    Schedules end with their resource, so anything not found is not readable for the person any more.
    """
    is_refused = error.code in {Forbidden.code, NotFound.code, Unauthorized.code}
    return NOT_ALLOWED if is_refused else error.code


def message_of(error: VersioningError) -> str:
    """Return an error of the gate for everyone who may read the schedule.

    The gate was asked as another person, who may know of other prompt blocks: so the message does not reveal
    whether an unpublished block exists.
    """
    if isinstance(error, UnpublishedBlocks):
        return blocks_in_words(error.blocks)
    if isinstance(error, ReleaseBlocked):
        return ReleaseBlocked(
            [replace(problem, message=message_of_item(problem)) for problem in error.problems]
        ).message
    return error.message


def message_of_item(problem: ReleaseProblem) -> str:
    """Return a problem of a release as `message_of` does; it names the resource."""
    if isinstance(problem.error, UnpublishedBlocks) and problem.resource is not None:
        return f"{title_of(problem.resource)}: {message_of(problem.error)}"
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
class Step:
    """What one schedule does with a resource; versions are ids, None stands for none."""

    expects: str | None
    """The version that must be live by then."""
    makes_live: str | None
    is_forced: bool = False
    """Whether it runs even if another version is live by then."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a step."""

    fails: bool
    before: str | None
    """The version that is live when it runs."""
    live: str | None
    """The version that is live afterwards."""
    has_nothing_to_do: bool = False
    """Whether it fails only because what it would make live is live by then already."""


def is_unexpected(live: str | None, *, expects: str | None, is_forced: bool) -> bool:
    """Return whether another version is live than expected, so that the schedule does not run."""
    return not is_forced and expects != live


def forecast(live: str | None, steps: Iterable[Step]) -> Iterator[Outcome]:
    """Yield the outcome of each step, in order of time; `live` is the current live version."""
    for step in steps:
        before = live
        fails = is_unexpected(live, expects=step.expects, is_forced=step.is_forced)
        live = live if fails else step.makes_live
        has_nothing_to_do = fails and before == step.makes_live
        yield Outcome(fails=fails, before=before, live=live, has_nothing_to_do=has_nothing_to_do)


def in_order(schedules: Iterable[Schedule]) -> list[Schedule]:
    """Return schedules in running order: at the same time, single versions before releases."""
    return sorted(schedules, key=lambda one: (one.run_at, one.release_id is not None, one.pk))


def outcomes_of(
    reference: str, live: str | None, waiting: Sequence[Schedule], items: ItemsByRelease
) -> list[tuple[Step, Outcome]]:
    """Return each schedule's step on a resource with its outcome; they are ordered by time."""
    steps = [_step(one, reference, items) for one in waiting]
    return list(zip(steps, forecast(live, steps), strict=True))


def expected(live: Mapping[str, tuple[Target, str | None]]) -> Mapping[tuple[UUID, str], Outcome]:
    """Return the outcomes of all schedules on resources, by schedule and resource.

    `live` are the resources by their references in `Schedule.expects`, each with its live version. Takes at
    most three statements.
    """
    known = {(target.kind, target.id, target.identity) for target, _ in live.values()}
    ids, identities = {one[1] for one in known}, {one[2] for one in known}
    own = Schedule.objects.waiting().filter(resource_id__in=ids, identity__in=identities)
    scheduled = Schedule.objects.waiting().filter(release_id__isnull=False).order_by().values("release_id")
    items = ReleaseItem.objects.filter(
        resource_id__in=ids, identity__in=identities, release__state=ReleaseState.DRAFT, release__in=scheduled
    )
    items_of: defaultdict[str, dict[UUID, ReleaseItem]] = defaultdict(dict)
    for item in items.order_by():
        if (item.kind, item.resource_id, item.identity) in known:
            items_of[f"{item.kind}/{item.resource_id}"][item.release_id] = item
    releases = {release_id for of_one in items_of.values() for release_id in of_one}
    together = Schedule.objects.waiting().filter(release_id__in=releases) if releases else ()
    waiting = _by_resource([*own.order_by(), *together], items_of)
    found = {}
    for reference, (_target, live_now) in live.items():
        rows = in_order(waiting[reference])
        for row, (_step, outcome) in zip(
            rows, outcomes_of(reference, live_now, rows, items_of[reference]), strict=True
        ):
            found[row.pk, reference] = outcome
    return found


def _by_resource(
    rows: Iterable[Schedule], items_of: Mapping[str, ItemsByRelease]
) -> Mapping[str, list[Schedule]]:
    found: defaultdict[str, list[Schedule]] = defaultdict(list)
    concerned: defaultdict[UUID, list[str]] = defaultdict(list)
    for reference, of_one in items_of.items():
        for release_id in of_one:
            concerned[release_id].append(reference)
    for row in rows:
        for reference in [row.reference] if row.release_id is None else concerned[row.release_id]:
            found[reference].append(row)
    return found


def _step(schedule: Schedule, reference: str, items: ItemsByRelease) -> Step:
    if schedule.release_id is None:
        makes_live = schedule.version_id or None
    else:
        item = items[schedule.release_id]
        makes_live = str(item.version_id) if item.version_id else None
    return Step(expects=schedule.expects.get(reference), makes_live=makes_live, is_forced=schedule.force)


_BY_ITSELF: Final = replace(APPLICATION, via=Via.SCHEDULE)
"""The caller of schedules made by the application itself."""


def person(schedule: Schedule) -> Caller:
    """Return the author of a schedule, with current rights, within the limits of the key that made it.

    Raises `Forbidden` if the account is gone, or the key cannot be used any more.
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

    A key takes one more where keys need sign-ins of their owners.
    """
    authors = {one.author_id for one in schedules if one.author_name}
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
    prefixes = {one.key_prefix for one in schedules if one.key_prefix}
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

    return {one.pk: caller_of(one) for one in schedules}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The stored state of what schedules are about."""

    people: Mapping[UUID, Caller | Refusal]
    """The authors, by the ids of the schedules, or why there is none any more."""
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
        return [f"{one.kind}/{one.resource_id}" for one in self.items[schedule.release_id]]

    def resource(self, schedule: Schedule) -> VersionedResource:
        """Return the resource of a schedule about one; it must exist."""
        return self.resources[schedule.reference]

    def is_gone(self, schedule: Schedule) -> bool:
        """Return whether the subject of a schedule was deleted, or its release was published otherwise."""
        if schedule.release_id is not None:
            release = self.releases.get(schedule.release_id)
            return release is None or release.state != ReleaseState.DRAFT
        found = self.live.get(schedule.reference)
        if found is None or found[0].identity != schedule.identity:
            return True
        return schedule.action == Action.PUBLISH and self.version(schedule, schedule.version_id) is None

    def version(self, schedule: Schedule, version_id: str | None) -> Snapshot | None:
        """Return a version of a schedule's resource; None if it does not exist."""
        resource = self.resource(schedule)
        unstored = resource.pointers.find(version_id) if resource.pointers and version_id else None
        row = self.versions.get(version_id or "")
        found: Snapshot | None = row if row is not None and row.resource_id == resource.pk else None
        return unstored or found


def facts_of(editor: Editor, schedules: Sequence[Schedule]) -> Facts:
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
        of_kind = [one for one in own if one.kind == kind.slug]
        if of_kind:
            resources |= _resources(editor, kind, {one.resource_id for one in of_kind})
            versions |= _versions(editor, kind, of_kind)
    live = {
        name: (target_of(resource, editor.code), resource.active_id) for name, resource in resources.items()
    }
    for one in (one for of_one in items.values() for one in of_one if one.resource is not None):
        about = target_of(one.resource, editor.code)
        live.setdefault(f"{one.kind}/{one.resource_id}", (about, one.resource.active_id))
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
    found = rows_of(collection, ids)
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
    return {str(pk): version for pk, version in versions_of(collection, keys, with_texts=True).items()}


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
