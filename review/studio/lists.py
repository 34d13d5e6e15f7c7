"""Drafts in lists: why they would be refused, in a few queries; asking for reviews of some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.urls import reverse
from django.utils.translation import gettext as _

from review.models import ReviewPolicy
from review.policy.judged_versions import judged_version
from review.policy.outcomes import outcomes_of
from review.studio.wording import missing_in_words
from studio.extensions import Action, ChosenOn
from versioning.conf import get_editor
from versioning.domain.access import Caller, Right
from versioning.models import VersionedResource
from versioning.serving.event_visibility import target_of


def publish_blockers(caller: Caller, resources: Sequence[VersionedResource]) -> Mapping[tuple[str, str], str]:
    """Return what the newest versions lack, by the slug of the kind and the id.

    Workspaces whose drafts the caller may not read are left out.
    """
    waiting = [one for one in resources if one.waits and caller.may(Right.READ_DRAFTS, one.workspace_id)]
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
