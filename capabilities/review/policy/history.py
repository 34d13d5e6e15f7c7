"""The history that the rule needs: what was live, and who saved which version.

Neither the log nor the versions suffice: the former is pruned, the latter are deleted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import F, Q

from capabilities.review.models import OtherAuthor, PublishedConfiguration
from capabilities.review.policy.judged_versions import JudgedVersion, Key, about
from capabilities.review.policy.recording import are_the_same
from capabilities.review.policy.rules import under_review
from versioning.models import ApiKey
from versioning.models.versioned import MODELS
from versioning.serving.grants import Named


class Published(NamedTuple):
    """A configuration that was live."""

    digest: str
    number: int
    named: str


def published(asked: Sequence[JudgedVersion]) -> Mapping[Key, list[Published]]:
    """Return the configurations of the resources that were live, by the keys of the resources."""
    found: defaultdict[Key, list[Published]] = defaultdict(list)
    rows = PublishedConfiguration.objects.filter(about(asked))
    columns = ("kind", "resource_id", "identity", "digest", "number", "named")
    for *resource, digest, number, named in rows.values_list(*columns):
        found[tuple(resource)].append(Published(digest, number, named))
    return found


def was_live(asked: JudgedVersion, named: frozenset[Named], before: Iterable[Published]) -> bool:
    """Return whether the configuration was live before, with the resources that it names now.

    The content of a file was live, and named only resources of its own workspace, because files have no
    grants. A stored version can have more grants.
    """
    if not asked.is_numbered:
        return True
    if asked.was_in_file and all(one.workspace_id == asked.target.workspace_id for one in named):
        return True
    return any(one.digest == asked.digest and are_the_same(named, one.named) for one in before)


def authors(
    asked: Sequence[JudgedVersion], before: Mapping[Key, Sequence[Published]]
) -> Mapping[tuple[Key, int], frozenset[Hashable]]:
    """Return the accounts that saved the versions under review, by resource and number, in four queries.

    Whoever suggested a wording that one of the versions accepted counts as if they had saved it.
    Whoever issued a key of such an account, as admins do for service accounts, may have saved them by it.
    """
    numbered = [one for one in asked if one.is_numbered]  # authors of commits are not accounts
    spans = {
        (one.resource, one.number): under_review(
            one.number, (row.number for row in before.get(one.resource, ()))
        )
        for one in numbered
    }
    saved = _saved(numbered, spans.values()) if numbered else {}
    issuers = _issuers({account for versions in saved.values() for _, account in versions})
    return {
        (resource, number): frozenset(
            person
            for one, account in saved.get(resource, ())
            if first <= one <= last
            for person in (account, *issuers.get(account, ()))
        )
        for (resource, number), (first, last) in spans.items()
    }


def _issuers(accounts: Collection[Hashable]) -> Mapping[Hashable, set[Hashable]]:
    """Return who issued keys of the accounts of other people or programs."""
    found: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
    owners: Any = accounts
    keys = ApiKey.objects.filter(owner__in=owners, issued_by__isnull=False).exclude(issued_by=F("owner"))
    for owner, issuer in keys.order_by().values_list("owner_id", "issued_by_id") if accounts else ():
        found[owner].add(issuer)
    return found


def _saved(
    asked: Sequence[JudgedVersion], spans: Iterable[tuple[int, int]]
) -> Mapping[Key, list[tuple[int, Hashable]]]:
    """Return who saved versions of the resources or suggested their wording, by number; also deleted ones."""
    # One range for all: SQLite refuses a thousand conditions.
    first, last = (pick(ends) for pick, ends in zip((min, max), zip(*spans, strict=True), strict=True))
    found: defaultdict[Key, list[tuple[int, Hashable]]] = defaultdict(list)
    in_range: dict[str, Any] = {"number__range": (first, last), "author__isnull": False}
    for model in MODELS:
        keys = {one.target.id: one.resource for one in asked if one.target.kind == model.kind.slug}
        if keys:
            rows = model.version_model.objects.filter(Q(resource_id__in=keys), **in_range).order_by()
            for resource_id, number, account in rows.values_list("resource_id", "number", "author_id"):
                found[keys[resource_id]].append((number, account))
    others = OtherAuthor.objects.filter(about(asked), number__range=(first, last))
    columns = ("kind", "resource_id", "identity", "number", "author_id")
    for *resource, number, account in others.values_list(*columns):
        found[tuple(resource)].append((number, account))
    return found
