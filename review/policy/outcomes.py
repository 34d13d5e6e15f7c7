"""Whether versions may go live now: the facts from the database, for the rule in `rules`.

    asked = question(resource, version, target_of(resource, code))
    outcome_of(asked).missing

However many versions are asked about, it takes the same number of statements.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q

from review.models import PublishedConfiguration, ReviewPolicy, Verdict
from review.policy.rules import Outcome, Said, outcome, under_review
from versioning.domain.access import LEAST_ROLE, Right, Role, Via
from versioning.domain.events import Target
from versioning.domain.snapshots import Snapshot
from versioning.models import Event, Membership, VersionedResource
from versioning.models.accounts import name_of
from versioning.models.kinds import MODELS

_Key = tuple[Any, ...]
_SAVED: Final = ("created", "versionCreated")


@dataclass(frozen=True, kw_only=True)
class Question:
    """A version that is to go live, in the state of its resource before that."""

    target: Target
    version_id: str
    number: int
    digest: str
    """That of its configuration."""
    live_number: int | None
    """The number of the version that is live; None if nothing is, or nothing that the editor has numbered."""
    is_numbered: bool = True
    """Whether its number is one of those that the editor gives: commits have numbers of their own."""
    was_in_file: bool = False
    """Whether the override file holds or held its configuration: then it was live."""

    @property
    def span(self) -> tuple[int, int]:
        """The numbers of the first and the last version under review."""
        return under_review(self.number, self.live_number)


def question(resource: VersionedResource, version: Snapshot, target: Target) -> Question:
    """Return the question whether a version of a resource may go live."""
    return Question(
        target=target,
        version_id=version.version_id,
        number=version.number,
        digest=version.digest,
        live_number=live_number_of(resource),
        is_numbered=not version.read_only,
        was_in_file=version.read_only or _is_in_file(resource, version),
    )


def live_number_of(resource: VersionedResource) -> int | None:
    """Return the number of the live version of a resource; None if nothing is live.

    If an override file holds something else than what the editor published last, those commits have numbers
    of their own: then it is the number of what the editor published last, None if that is nothing.
    """
    live = resource.active
    if live is not None and live.read_only:
        live = resource.active_version if resource.is_stored else None
    return None if live is None else live.number


def outcome_of(asked: Question) -> Outcome:
    """Return whether a version may go live now, and what is missing if not."""
    [found] = outcomes_of([asked])
    return found


def outcomes_of(
    asked: Sequence[Question], *, was_live: bool | None = None, required: Mapping[str, int] | None = None
) -> list[Outcome]:
    """Return whether versions may go live now, each for itself, in their order.

    `was_live` says whether their configurations were live before, and `required` how many approvals each
    workspace requires, if that is known already.
    """
    if not asked:
        return []
    if required is None:
        required = _required({one.target.workspace_id for one in asked})
    live_before = set(_was_live(asked)) if was_live is None else set()
    said = _said(asked)
    saved = _saved(asked)
    return [
        outcome(
            required=required.get(one.target.workspace_id, 0),
            was_live=was_live if was_live is not None else _is_known(one, live_before, saved),
            authors=_authors(one, saved),
            said=said[_configuration(one)],
        )
        for one in asked
    ]


def _is_in_file(resource: VersionedResource, version: Snapshot) -> bool:
    """Say whether the override file holds exactly this configuration, or did in some commit."""
    if resource.pointers is None:
        return False
    held = (resource.pointers.file, *resource.pointers.from_git)
    return any(one is not None and one.digest == version.digest for one in held)


# Facts


@dataclass(frozen=True, kw_only=True)
class _Save:
    """Somebody saved a version, which may have been deleted since."""

    number: int
    person: str
    """The user name; empty for the application."""
    version_id: str = ""
    is_from_file: bool = False


def _required(workspaces: Collection[str]) -> Mapping[str, int]:
    return dict(ReviewPolicy.objects.filter(pk__in=workspaces).values_list("pk", "required"))


def _was_live(asked: Sequence[Question]) -> Iterable[_Key]:
    """Yield the configurations that were live before."""
    rows = PublishedConfiguration.objects.filter(_about(asked), digest__in={one.digest for one in asked})
    return rows.values_list("kind", "resource_id", "identity", "digest")


def _said(asked: Sequence[Question]) -> Mapping[_Key, list[Said]]:
    """Return what people said of the configurations; with the right to publish that each has now."""
    digests = {one.digest for one in asked}
    verdicts = Verdict.objects.filter(_about(asked), digest__in=digests, author__isnull=False)
    rows: list[Any] = list(verdicts.defer("body").select_related("author").order_by("pk"))
    workspaces = {_resource(one.target): one.target.workspace_id for one in asked}
    publishers = _publishers({row.author_id for row in rows}, set(workspaces.values()))
    found: defaultdict[_Key, list[Said]] = defaultdict(list)
    for row in rows:
        about = (row.kind, row.resource_id, row.identity)
        person = row.author
        may = person.is_superuser or (person.pk, workspaces.get(about)) in publishers
        said = Said(row.pk, person.get_username(), row.verdict, bool(person.is_active and may))
        found[*about, row.digest].append(said)
    return found


def _publishers(people: Collection[Any], workspaces: Collection[str]) -> Collection[tuple[Any, str]]:
    """Return those people who may publish, each with a workspace of those."""
    least = LEAST_ROLE[Right.PUBLISH].rank
    roles = [role.value for role in Role if role.rank >= least]
    members = Membership.objects.filter(user__in=people, workspace__in=workspaces, role__in=roles)
    return set(members.values_list("user_id", "workspace_id"))


def _saved(asked: Sequence[Question]) -> Mapping[_Key, list[_Save]]:
    """Return who saved the versions under review, by resource, with those that were deleted since."""
    found: defaultdict[_Key, list[_Save]] = defaultdict(list)
    of: dict[str, dict[str, Target]] = defaultdict(dict)
    for one in asked:
        of[one.target.kind][one.target.id] = one.target
    for model in MODELS:
        targets = of.get(model.kind.word, {})
        if not targets:
            continue
        rows = model.version_model.objects.filter(_numbered(asked, model.kind.word, "number"))
        for resource_id, number, person in rows.order_by().values_list(
            "resource_id", "number", name_of("author")
        ):
            found[_resource(targets[resource_id])].append(_Save(number=number, person=person or ""))
    for key, saves in _logged(asked).items():
        found[key].extend(saves)
    return found


def _logged(asked: Sequence[Question]) -> Mapping[_Key, list[_Save]]:
    """Return who saved versions according to the log, which knows deleted ones too."""
    kinds = {one.target.kind for one in asked}
    saving = [f"{kind}.{name}" for kind in kinds for name in _SAVED]
    deleting = [f"{kind}.deleted" for kind in kinds]
    entries = Event.objects.filter(
        Q(type__in=saving) | Q(type__in=deleting),
        resource_id__in={one.target.id for one in asked},
        resource_uuid__in={one.target.identity for one in asked},
    )
    columns = ("resource_kind", "resource_id", "resource_uuid", "type", "version_number", "version_id")
    found: defaultdict[_Key, list[_Save]] = defaultdict(list)
    for *about, event_type, number, version_id, actor, via in entries.values_list(*columns, "actor", "via"):
        saves = found[tuple(about)]
        if event_type in deleting:
            saves.clear()  # an override that is made again numbers its versions from 1 again
        else:
            is_from_file = via == Via.FILE
            saves.append(_Save(number=number, person=actor, version_id=version_id, is_from_file=is_from_file))
    return found


# Which rows are about which question


def _authors(asked: Question, saved: Mapping[_Key, Iterable[_Save]]) -> set[str]:
    if not asked.is_numbered:
        return set()  # authors of commits are no accounts
    first, last = asked.span
    saves = saved.get(_resource(asked.target), ())
    return {save.person for save in saves if save.person and first <= save.number <= last}


def _is_known(asked: Question, live_before: Collection[_Key], saved: Mapping[_Key, Iterable[_Save]]) -> bool:
    """Say whether the configuration was live before; what a file held, was."""
    saves = saved.get(_resource(asked.target), ())
    copied = any(save.is_from_file and save.version_id == asked.version_id for save in saves)
    return asked.was_in_file or copied or _configuration(asked) in live_before


def _resource(target: Target) -> _Key:
    return target.kind, target.id, target.identity


def _configuration(asked: Question) -> _Key:
    return *_resource(asked.target), asked.digest


def _about(asked: Sequence[Question]) -> Q:
    """Return the condition for rows about the resources; other resources may share one of the columns."""
    return Q(
        resource_id__in={one.target.id for one in asked},
        identity__in={one.target.identity for one in asked},
    )


def _numbered(asked: Sequence[Question], kind: str, column: str) -> Q:
    """Return a condition that the versions of a kind that are under review meet, and perhaps others.

    It does not grow with the number of questions, as a range for each would: SQLite refuses a thousand.
    """
    numbered = [one for one in asked if one.target.kind == kind and one.is_numbered]
    if not numbered:
        return Q(pk__in=[])
    spans = [one.span for one in numbered]
    span = min(first for first, _ in spans), max(last for _, last in spans)
    return Q(resource_id__in={one.target.id for one in numbered}, **{f"{column}__range": span})
