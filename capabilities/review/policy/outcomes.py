"""Whether versions may go live now: the facts from the database, for the rule in `rules`.

    asked = judged_version(resource, version, target_of(resource, code))
    outcome_of(asked).missing

The number of statements is the same for any number of versions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db.models import Exists, OuterRef

from capabilities.review.models import ReviewPolicy, Verdict
from capabilities.review.policy import history
from capabilities.review.policy.judged_versions import JudgedVersion, Key, about, named_now
from capabilities.review.policy.recording import are_the_same
from capabilities.review.policy.rules import GivenVerdict, Outcome, outcome
from versioning.domain.access import LEAST_ROLE, Right, Role
from versioning.models import Membership
from versioning.serving.grants import Named


def outcome_of(asked: JudgedVersion) -> Outcome:
    """Return whether a version may go live now, and what is missing if not."""
    [found] = outcomes_of([asked])
    return found


def outcomes_of(
    asked: Sequence[JudgedVersion], *, was_live: bool | None = None, required: Mapping[str, int] | None = None
) -> list[Outcome]:
    """Return whether versions may go live now, each independently, in order.

    `was_live` has whether their configurations were live before, and `required` how many approvals each
    workspace requires, if already known.
    """
    if not asked:
        return []
    if required is None:
        required = _required({one.target.workspace_id for one in asked})
    before = history.published(asked)
    named = named_now(asked)
    verdicts = _verdicts_on(asked, named)
    authors = history.authors(asked, before)

    def is_known(one: JudgedVersion) -> bool:
        now = named.get(one.configuration, frozenset())
        return history.was_live(one, now, before.get(one.resource, ()))

    return [
        outcome(
            required=required.get(one.target.workspace_id, 0),
            was_live=is_known(one) if was_live is None else was_live,
            authors=authors.get((one.resource, one.number), ()),
            verdicts=verdicts[one.configuration],
        )
        for one in asked
    ]


def _required(workspaces: Collection[str]) -> Mapping[str, int]:
    return dict(ReviewPolicy.objects.filter(pk__in=workspaces).values_list("pk", "required"))


def _verdicts_on(
    asked: Sequence[JudgedVersion], named: Mapping[Key, frozenset[Named]]
) -> Mapping[Key, list[GivenVerdict]]:
    """Return the verdicts on the configurations, with whether each person may publish now."""
    digests = {one.digest for one in asked}
    service = Membership.objects.filter(user=OuterRef("author"), is_service=True)
    verdicts = Verdict.objects.filter(about(asked), digest__in=digests, author__isnull=False).annotate(
        is_of_service=Exists(service)
    )
    rows: list[Any] = list(verdicts.defer("body").select_related("author").order_by("pk"))
    workspaces = {one.resource: one.target.workspace_id for one in asked}
    publishers = _publishers({row.author_id for row in rows}, set(workspaces.values()))
    found: defaultdict[Key, list[GivenVerdict]] = defaultdict(list)
    for row in rows:
        resource = (row.kind, row.resource_id, row.identity)
        configuration = (*resource, row.digest)
        person = row.author
        may = person.is_superuser or (person.pk, workspaces.get(resource)) in publishers
        found[configuration].append(
            GivenVerdict(
                id=row.pk,
                account=person.pk,
                person=person.get_username(),
                verdict=row.verdict,
                may_publish=bool(person.is_active and may),
                is_person=not row.is_of_service,
                names_the_same=are_the_same(named.get(configuration, ()), row.named),
            )
        )
    return found


def _publishers(people: Collection[Any], workspaces: Collection[str]) -> Collection[tuple[Any, str]]:
    """Return the people who may publish, each with one of the workspaces."""
    least = LEAST_ROLE[Right.PUBLISH].rank
    roles = [role.value for role in Role if role.rank >= least]
    members = Membership.objects.filter(user__in=people, workspace__in=workspaces, role__in=roles)
    return set(members.values_list("user_id", "workspace_id"))
