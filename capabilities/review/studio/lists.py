"""Reviews in lists: what is in review, why drafts would be refused, and asking for many reviews."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from capabilities.review.models import Review, ReviewPolicy
from capabilities.review.policy.judged_versions import judged_version
from capabilities.review.policy.outcomes import outcomes_of
from capabilities.review.reviews.records import Standing, standings_of
from capabilities.review.reviews.verbs import Reviews
from capabilities.review.studio.links import of_review
from capabilities.review.studio.wording import missing_in_words, state_in_words
from studio.extensions import Action, ChosenOn
from studio.kinds import StudioKind
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.models import VersionedResource
from versioning.serving.grants import target_of


def list_notes(
    caller: Caller, kind: StudioKind, resources: Mapping[str, str]
) -> Mapping[str, Sequence[SafeString]]:
    """Return the state of the open reviews, each with a link to it; for callers who may read drafts."""
    found: Any = Reviews.current().list(by=caller, kind=kind.slug).open()
    rows = [row for row in found.filter(resource_id__in=resources) if _is_about(row, resources)]
    standings = standings_of(Reviews.current(), rows) if rows else []
    return {row.resource_id: [_chip(row, one)] for row, one in zip(rows, standings, strict=True)}


def _is_about(review: Review, resources: Mapping[str, str]) -> bool:
    """Return whether a review is about the resource with its id in the list, and not of another workspace."""
    return resources[review.resource_id] == review.workspace_id


def _chip(review: Review, standing: Standing) -> SafeString:
    words = state_in_words(standing.state, review.version_number, outdated=standing.outdated)
    address = of_review(review.kind, review.resource_id, review.pk)
    return format_html('<a class="chip {}" href="{}">{}</a>', words.chip, address, words.word)


def publish_blockers(caller: Caller, resources: Sequence[VersionedResource]) -> Mapping[tuple[str, str], str]:
    """Return what the newest versions lack, by the slug of the kind and the id.

    Workspaces whose drafts the caller may not read are left out.
    """
    waiting = [
        resource
        for resource in resources
        if resource.waits and caller.may(Right.READ_DRAFTS, resource.workspace_id)
    ]
    if not waiting:
        return {}
    strict = set(
        ReviewPolicy.objects.filter(pk__in={one.workspace_id for one in waiting}, required__gt=0).values_list(
            "pk", flat=True
        )
    )
    asked = [one for one in waiting if one.workspace_id in strict]
    code = get_editor().code
    outcomes = outcomes_of([judged_version(one, one.latest, target_of(one, code)) for one in asked])
    return {
        (one.kind.slug, one.pk): missing_in_words(outcome.missing, outcome.changes_requested_by)
        for one, outcome in zip(asked, outcomes, strict=True)
        if not outcome.is_allowed
    }


def chosen(caller: Caller, page: ChosenOn) -> Iterator[Action]:
    """Yield the action on waiting drafts for people who may ask for reviews."""
    if page is ChosenOn.WAITING and caller.scope(Right.SAVE) != frozenset():
        yield Action(title=_("Ask for review…"), address=reverse("studio:ask_for_reviews"))
