"""The verdicts that count for a version, and the outcome of its review."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache, lru_cache, partial
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Exists, F, OuterRef, Q

from capabilities.review.models import (
    Bypass,
    OtherAuthor,
    PublishedConfiguration,
    Review,
    ReviewPolicy,
    Verdict,
    columns_about,
)
from versioning.conf import get_editor
from versioning.domain.access import LEAST_ROLE, Caller, Right, Role, Via
from versioning.domain.events import Target, VersionName
from versioning.domain.overrides import IN_CODE
from versioning.domain.snapshots import Snapshot
from versioning.editor import gate
from versioning.editor.gate import PublishRequest
from versioning.models import ApiKey, Membership, Version, VersionedResource, events
from versioning.models.followers import RESOURCES, Follower
from versioning.models.guarded import unguard
from versioning.models.log import LogPosition
from versioning.models.statements import (
    column_names,
    inserted_columns,
    prepared_cursor,
    quoted_table,
    row_values,
)
from versioning.models.versioned import MODELS, MODELS_BY_SLUG
from versioning.serving.grants import Named, find_targets, named_by_versions, named_in, names_in

Key = tuple[Any, ...]
"""A resource by kind, id and identity, or with a digest one of its configurations."""


@dataclass(frozen=True, kw_only=True)
class JudgedVersion:
    """A version that is about to go live."""

    target: Target
    version_id: str
    number: int
    digest: str
    """The digest of its configuration."""
    named: frozenset[Named] | None = None
    """The resources that the configuration names now; None to read them from the rows of its references."""
    is_numbered: bool = True
    """Whether its number was given by the editor: commits are numbered separately."""
    was_in_file: bool = False
    """Whether the override file has or had its configuration, which then was live."""

    @property
    def resource(self) -> Key:
        """The key of its resource."""
        return self.target.kind, self.target.id, self.target.identity

    @property
    def configuration(self) -> Key:
        """The key of its configuration."""
        return *self.resource, self.digest


def judged_version(
    resource: VersionedResource,
    version: Snapshot,
    target: Target,
    *,
    named: frozenset[Named] | None = None,
) -> JudgedVersion:
    """Return a version of a resource as it is judged before it goes live.

    `named` are the resources that it names, if known. Only identifying fields of the version are used, so it
    may have been read without its text, or deleted.
    """
    pointers = resource.pointers
    source_version = pointers.find(version.version_id) if pointers is not None and version.read_only else None
    return JudgedVersion(
        target=target,
        version_id=version.version_id,
        number=version.number,
        digest=version.digest,
        named=named_by(resource, source_version) if named is None and source_version is not None else named,
        is_numbered=not version.read_only,
        was_in_file=version.read_only
        or (
            pointers is not None
            and any(
                snapshot is not None and snapshot.digest == version.digest
                for snapshot in (pointers.file, *pointers.from_git)
            )
        ),
    )


def named_by(resource: VersionedResource, version: Snapshot) -> frozenset[Named]:
    """Return the resources that a version names now; one query for each kind of reference in it."""
    return named_in(find_targets(names_in(type(resource), version.config)), get_editor().code)


def named_now(versions: Sequence[JudgedVersion]) -> Mapping[Key, frozenset[Named]]:
    """Return the resources that versions name now, by configuration key; one query for each kind."""
    named_by_key = {version.configuration: version.named for version in versions if version.named is not None}
    unknown = [version for version in versions if version.named is None and version.is_numbered]
    code = get_editor().code
    for kind in sorted({version.target.kind for version in unknown}):
        keys_by_version = {
            version.version_id: version.configuration for version in unknown if version.target.kind == kind
        }
        named_by_version = named_by_versions(MODELS_BY_SLUG[kind].version_model, keys_by_version, code)
        named_by_key |= {
            key: named_by_version.get(version_id, frozenset()) for version_id, key in keys_by_version.items()
        }
    return named_by_key


def about(versions: Collection[JudgedVersion]) -> Q:
    """Return the condition for rows about the resources; other resources may share one of the columns."""
    return Q(
        resource_id__in={version.target.id for version in versions},
        identity__in={version.target.identity for version in versions},
    )


APPROVE: Final = "approve"
REQUEST_CHANGES: Final = "requestChanges"


class GivenVerdict(NamedTuple):
    """A person's verdict on a configuration."""

    id: int
    """The key of the verdict."""
    account: Hashable
    """The key of the account, because its name can change."""
    person: str
    """The user name."""
    verdict: str
    """`approve`, `requestChanges` or `withdraw`."""
    may_publish: bool
    """Whether the person may publish in the workspace now."""
    is_person: bool
    """Whether the account is not a service account."""
    names_the_same: bool
    """Whether the configuration still names the same resources as then."""


class Ignored(Enum):
    """Why a person's latest verdict on a configuration does not count."""

    AUTHOR = auto()
    """The person saved one of the versions under review, or suggested its wording."""
    MAY_NOT_PUBLISH = auto()
    NOT_A_PERSON = auto()
    """The verdict is of a service account."""
    REPLACED = auto()
    """A resource that the configuration names has been replaced since."""


@dataclass(frozen=True, kw_only=True)
class ApprovalStatus:
    """Whether a version may go live now, and the missing approvals."""

    required: int
    """The number of approvals that the workspace requires, 0 to 5."""
    was_live: bool
    """Whether the configuration was published for this resource at some time."""
    authors: frozenset[Hashable]
    """The accounts of the authors of versions under review: their verdicts do not count."""
    approved_by: tuple[str, ...]
    """The people whose approvals count, in order of time."""
    changes_requested_by: tuple[str, ...]
    """The people whose requests for changes count, in order of time."""
    counting: frozenset[int]
    """The keys of the verdicts that count."""
    ignored: Mapping[int, Ignored]
    """Why the other latest verdicts do not count, by their keys."""

    @property
    def is_free(self) -> bool:
        """Whether the version may go live without any verdict."""
        return self.required == 0 or self.was_live

    @property
    def missing(self) -> int:
        """The number of missing approvals; 0 for a version that needs none."""
        return 0 if self.is_free else max(0, self.required - len(self.approved_by))

    @property
    def is_allowed(self) -> bool:
        """Whether the version may go live."""
        return self.is_free or (self.missing == 0 and not self.changes_requested_by)


def outcome(
    *, required: int, was_live: bool, authors: Iterable[Hashable], verdicts: Sequence[GivenVerdict]
) -> ApprovalStatus:
    """Return whether a version may go live; `verdicts` are on its configuration, oldest first."""
    own = frozenset(authors)
    latest = sorted(
        {verdict.account: verdict for verdict in sorted(verdicts, key=lambda verdict: verdict.id)}.values()
    )
    ignored = {verdict.id: why for verdict in latest if (why := _why_not(verdict, own)) is not None}
    counting = [verdict for verdict in latest if verdict.id not in ignored]
    approvals = [verdict for verdict in counting if verdict.verdict == APPROVE]
    requests = [verdict for verdict in counting if verdict.verdict == REQUEST_CHANGES]
    return ApprovalStatus(
        required=required,
        was_live=was_live,
        authors=own,
        approved_by=tuple(approval.person for approval in approvals),
        changes_requested_by=tuple(request.person for request in requests),
        counting=frozenset(approval.id for approval in (*approvals, *requests)),
        ignored=ignored,
    )


def _why_not(verdict: GivenVerdict, authors: frozenset[Hashable]) -> Ignored | None:
    if verdict.account in authors:
        return Ignored.AUTHOR
    if not verdict.names_the_same:
        return Ignored.REPLACED
    if not verdict.is_person:
        return Ignored.NOT_A_PERSON
    return None if verdict.may_publish else Ignored.MAY_NOT_PUBLISH


def under_review(number: int, live_numbers: Iterable[int]) -> tuple[int, int]:
    """Return the numbers of the first and the last version whose authors' verdicts do not count.

    The range begins after the newest version with a lower number that was ever live, of which `live_numbers`
    are the numbers, or at the beginning if there is none. The current live version does not matter, so moving
    the pointer does not let authors judge each other's versions. Deleted versions whose numbers were used
    again come before all others.
    """
    before = max((other for other in live_numbers if other < number), default=0)
    return (before + 1 if before else 0), number


def written(named: Iterable[Named]) -> str:
    """Return the identities of resources as one text, for a column `named`."""
    return " ".join(sorted(resource.identity.hex for resource in named))


def are_the_same(named: Iterable[Named], then: str) -> bool:
    """Return whether a configuration names the same resources as when it was `written`.

    A resource that was deleted since does not count as replaced.
    """
    identities = frozenset(then.split())
    return all(resource.identity.hex in identities for resource in named)


# Only names of tables, and the numbers and placeholders of the requested rows, are inserted.
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


def read_requirements(configurations: Sequence[tuple[Target, str]]) -> list[Requirement]:
    """Return the policy for each configuration, a resource and a digest, in order; in one statement."""
    values: list[Any] = []
    field: Any = Review._meta.get_field("identity")
    for target, digest in configurations:
        identity = field.get_db_prep_value(target.identity, connection)
        values += [target.workspace_id, identity, target.id, target.kind, digest]
    placeholders = ", ".join(f"({number}, %s, %s, %s, %s, %s)" for number in range(len(configurations)))
    with prepared_cursor() as cursor:
        cursor.execute(_statement(_POLICIES_FOR, rows=placeholders), values)
        rows = cursor.fetchall()
    requirements: dict[int, Requirement] = {}
    for number, position, required, bypass, review_id, reviewed, live_number, named in rows:
        requirement = requirements.setdefault(
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
    return [requirements[number] for number in range(len(configurations))]


def requires_review(workspace_id: str) -> bool:
    """Return whether a workspace requires approvals."""
    with prepared_cursor() as cursor:
        cursor.execute(_statement(_REQUIRED), [workspace_id])
        return cursor.fetchone() is not None


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
    """Record that a file was live; files pass no gate and can show only blocks of their workspace."""
    model = MODELS_BY_SLUG[target.kind]
    named = named_in(find_targets(names_in(model, version.config)), get_editor().code)
    in_workspace = (resource for resource in named if resource.workspace_id == target.workspace_id)
    events.at_end(partial(_store, target, version.digest, 0, written(in_workspace)))


def record_bypass(request: PublishRequest, target: Target, requirement: Requirement) -> None:
    """Record the person and the reason of a publication without the required approvals."""
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
        unguard(type(version)._default_manager.filter(pk=version.pk)).update(bypassed_by=caller.username)


def _store(target: Target, digest: str, number: int, named: str) -> None:
    """Store a live configuration; resources that it named before cannot be named again, so replace them."""
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
    """Drop the authors of an override: its row can be deleted while the override stays in its file."""
    if resource.identity == IN_CODE:
        OtherAuthor.objects.about(resource).delete()


FOLLOWERS: Final = (
    Follower(call=_remember_file, events=["created", "versionCreated"]),
    Follower(call=_begin_numbers_again, events=["created", "versionCreated"]),
    Follower(call=_remember_author, events=["versionDeleted"]),
    Follower(call=_forget_authors, events=["deleted"]),
    Follower(
        call=lambda instance, **_signal: OtherAuthor.objects.filter(identity=instance.uuid).delete(),
        rows=RESOURCES,
    ),
)


class Published(NamedTuple):
    """A configuration that was live."""

    digest: str
    number: int
    named: str


def list_published(versions: Sequence[JudgedVersion]) -> Mapping[Key, list[Published]]:
    """Return the configurations of the resources that were live, by the keys of the resources."""
    published: defaultdict[Key, list[Published]] = defaultdict(list)
    rows = PublishedConfiguration.objects.filter(about(versions))
    columns = ("kind", "resource_id", "identity", "digest", "number", "named")
    for *resource, digest, number, named in rows.values_list(*columns):
        published[tuple(resource)].append(Published(digest, number, named))
    return published


def has_been_live(version: JudgedVersion, named: frozenset[Named], before: Iterable[Published]) -> bool:
    """Return whether the configuration was live before, with the resources that it names now.

    The content of a file was live, and named only resources of its own workspace, because files have no
    grants. A stored version can have more grants.
    """
    if not version.is_numbered:
        return True
    if version.was_in_file and all(
        resource.workspace_id == version.target.workspace_id for resource in named
    ):
        return True
    return any(earlier.digest == version.digest and are_the_same(named, earlier.named) for earlier in before)


def find_authors(
    judged: Sequence[JudgedVersion], before: Mapping[Key, Sequence[Published]]
) -> Mapping[tuple[Key, int], frozenset[Hashable]]:
    """Return the accounts that saved the versions under review, by resource and number, in four queries.

    The author of an accepted suggestion counts as an author of the version. So does the issuer of a key of
    such an account, such as an admin for a service account, who could have used the key.
    """
    numbered = [version for version in judged if version.is_numbered]  # authors of commits are not accounts
    spans = {
        (version.resource, version.number): under_review(
            version.number, (row.number for row in before.get(version.resource, ()))
        )
        for version in numbered
    }
    saved = _list_authors(numbered, spans.values()) if numbered else {}
    issuers = _issuers({account for versions in saved.values() for _, account in versions})
    return {
        (resource, number): frozenset(
            person
            for saved_number, account in saved.get(resource, ())
            if first <= saved_number <= last
            for person in (account, *issuers.get(account, ()))
        )
        for (resource, number), (first, last) in spans.items()
    }


def _issuers(accounts: Collection[Hashable]) -> Mapping[Hashable, set[Hashable]]:
    """Return the issuers of keys of other people's or programs' accounts."""
    issuers: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
    owners: Any = accounts
    keys = ApiKey.objects.filter(owner__in=owners, issued_by__isnull=False).exclude(issued_by=F("owner"))
    for owner, issuer in keys.order_by().values_list("owner_id", "issued_by_id") if accounts else ():
        issuers[owner].add(issuer)
    return issuers


def _list_authors(
    versions: Sequence[JudgedVersion], spans: Iterable[tuple[int, int]]
) -> Mapping[Key, list[tuple[int, Hashable]]]:
    """Return who saved versions or suggested their wording, by number, including deleted versions."""
    # One range for all: SQLite refuses a thousand conditions.
    first, last = (pick(ends) for pick, ends in zip((min, max), zip(*spans, strict=True), strict=True))
    authors: defaultdict[Key, list[tuple[int, Hashable]]] = defaultdict(list)
    in_range: dict[str, Any] = {"number__range": (first, last), "author__isnull": False}
    for model in MODELS:
        keys = {
            version.target.id: version.resource
            for version in versions
            if version.target.kind == model.kind.slug
        }
        if keys:
            rows = model.version_model.objects.filter(Q(resource_id__in=keys), **in_range).order_by()
            for resource_id, number, account in rows.values_list("resource_id", "number", "author_id"):
                authors[keys[resource_id]].append((number, account))
    other_authors = OtherAuthor.objects.filter(about(versions), number__range=(first, last))
    columns = ("kind", "resource_id", "identity", "number", "author_id")
    for *resource, number, account in other_authors.values_list(*columns):
        authors[tuple(resource)].append((number, account))
    return authors


def judge_version(version: JudgedVersion) -> ApprovalStatus:
    """Return whether a version may go live now, and the missing approvals."""
    [status] = judge_versions([version])
    return status


def judge_versions(
    versions: Sequence[JudgedVersion],
    *,
    was_live: bool | None = None,
    required: Mapping[str, int] | None = None,
) -> list[ApprovalStatus]:
    """Return whether versions may go live now, each independently, in order.

    `was_live` has whether their configurations were live before, and `required` how many approvals each
    workspace requires, if already known.
    """
    if not versions:
        return []
    if required is None:
        required = dict(
            ReviewPolicy.objects.filter(
                pk__in={version.target.workspace_id for version in versions}
            ).values_list("pk", "required")
        )
    before = list_published(versions)
    named_by_key = named_now(versions)
    verdicts = _verdicts_on(versions, named_by_key)
    authors = find_authors(versions, before)

    def is_known(version: JudgedVersion) -> bool:
        now = named_by_key.get(version.configuration, frozenset())
        return has_been_live(version, now, before.get(version.resource, ()))

    return [
        outcome(
            required=required.get(version.target.workspace_id, 0),
            was_live=is_known(version) if was_live is None else was_live,
            authors=authors.get((version.resource, version.number), ()),
            verdicts=verdicts[version.configuration],
        )
        for version in versions
    ]


def _verdicts_on(
    versions: Sequence[JudgedVersion], named_by_key: Mapping[Key, frozenset[Named]]
) -> Mapping[Key, list[GivenVerdict]]:
    """Return the verdicts on the configurations, with whether each person may publish now."""
    digests = {version.digest for version in versions}
    service = Membership.objects.filter(user=OuterRef("author"), is_service=True)
    verdicts = Verdict.objects.filter(about(versions), digest__in=digests, author__isnull=False).annotate(
        is_of_service=Exists(service)
    )
    rows: list[Any] = list(verdicts.defer("body").select_related("author").order_by("pk"))
    workspaces = {version.resource: version.target.workspace_id for version in versions}
    least = LEAST_ROLE[Right.PUBLISH].rank
    members = Membership.objects.filter(
        user__in={row.author_id for row in rows},
        workspace__in=set(workspaces.values()),
        role__in=[role.value for role in Role if role.rank >= least],
    )
    publishers = set(members.values_list("user_id", "workspace_id"))
    by_configuration: defaultdict[Key, list[GivenVerdict]] = defaultdict(list)
    for row in rows:
        resource = (row.kind, row.resource_id, row.identity)
        configuration = (*resource, row.digest)
        person = row.author
        may = person.is_superuser or (person.pk, workspaces.get(resource)) in publishers
        by_configuration[configuration].append(
            GivenVerdict(
                id=row.pk,
                account=person.pk,
                person=person.get_username(),
                verdict=row.verdict,
                may_publish=bool(person.is_active and may),
                is_person=not row.is_of_service,
                names_the_same=are_the_same(named_by_key.get(configuration, ()), row.named),
            )
        )
    return by_configuration
