"""Reviews on pages about a version: request one, show or move the open one; the next steps after a save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from django.db.models import QuerySet
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.translation import gettext as _

from capabilities.review.models import Review
from capabilities.review.policy.administration import policy_of
from capabilities.review.reviews.subjects import MAX_TEXT
from capabilities.review.reviews.verbs import Reviews
from capabilities.review.studio import requested_changes
from capabilities.review.studio.links import of_asking, of_review
from capabilities.review.studio.presenters import has_decided, may_decide, open_review_of, record_of
from capabilities.review.studio.wording import STATES, missing_in_words, state_in_words
from studio.extensions import NextStep, VersionButton
from studio.kinds import StudioKind
from studio.panels import Panel, Slot, VersionOnPage
from versioning.domain.access import Caller, Right
from versioning.domain.errors import Conflict, Invalid, NotFound
from versioning.domain.snapshots import Snapshot
from versioning.models import VersionedResource

BUTTON: Final = "review"
"""The value of `then` that the button of the edit page sends."""


def next_steps(
    caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot
) -> Iterator[NextStep]:
    """Yield the suggested next step for the author of a version: its review."""
    review = open_review_of(resource)
    if review is not None:
        yield NextStep(
            title=_("Open the review"), address=of_review(review.kind, review.resource_id, review.pk)
        )
    elif not caller.may(Right.PUBLISH, resource.workspace_id) or policy_of(resource.workspace_id).required:
        yield NextStep(title=_("Ask for review"), address=of_asking(kind, resource.pk, version.version_id))


def go_on(caller: Caller, kind: StudioKind, resource: VersionedResource, version: Snapshot) -> str:
    """Move the open review to the version, as the button requests; return the next address.

    Without an open review, that is the page to request one.
    """
    asking = of_asking(kind, resource.pk, version.version_id)
    review = open_review_of(resource)
    if review is None:
        return asking
    address = of_review(review.kind, review.resource_id, review.pk)
    if review.version_id != version.version_id:
        try:
            Reviews.current().change(str(review.pk), version_id=version.version_id, by=caller)
        except (Conflict, Invalid, NotFound):  # it has just ended, or moved further
            return address
    return address


ASKING: Final = (
    VersionButton(
        page="review_ask",
        template="review/ask_button.html",
        right=Right.SAVE,
        off={"edit", "since", "review"},
        stylesheets=["review/review.css"],
    ),
    VersionButton(
        page="review_ask",
        template="review/save_and_ask_button.html",
        right=Right.SAVE,
        on={"edit", "since"},
        stylesheets=["review/review.css"],
        for_live=True,
    ),
)
"""The buttons while there is no open review."""
DECIDING = frozenset({"publish", "compare"})
"""The pages with the differences of a version, on which the open review of the version can be decided."""
EDIT: Final = "edit"
EDITING = frozenset({EDIT, "since"})
"""The edit page, and the page that updates its buttons."""
OWN_PAGE = "review"
SAYING_WHY = EDITING | {"history", "version", "publish"}
"""The pages that tell publishers why a version cannot be published."""


def open_reviews(about: Mapping[str, Any]) -> Sequence[QuerySet[Any]]:
    """Return the open review of a resource, without which there is no panel."""
    return [Review.objects.open().filter(**about)]


def panels(shown: VersionOnPage) -> Iterator[Panel]:
    """Yield the buttons, and the state of the open review."""
    if shown.page == OWN_PAGE:
        return
    review = open_review_of(shown.resource)
    if review is None:  # it has just ended
        return
    context = {
        "is_editing": shown.page in EDITING,
        "may_save": Right.SAVE in shown.rights,
        "button": BUTTON,
        "version": shown.version,
        "csrf_token": get_token(shown.request),
        **_about(review, shown),
    }
    if shown.page in EDITING:
        yield Panel(slot=Slot.STATE, html=render_to_string("review/state.html", context))
        if context["missing"]:
            yield Panel(slot=Slot.NOTES, html=format_html('<p class="help">{}</p>', context["missing"]))
    html = render_to_string("review/panel.html", context)
    yield Panel(slot=Slot.ACTIONS, html=html, stylesheets=["review/review.css"])
    if shown.page == EDIT:
        yield from requested_changes.panels(shown, context["review"])
    if context["may_decide"]:
        yield Panel(slot=Slot.VERSION, html=render_to_string("review/verdict.html", context))


def _about(review: Review, shown: VersionOnPage) -> dict[str, Any]:
    """Return the context of the panels; the review can be moved to a newer version of the resource."""
    record, caller = record_of(review), shown.caller
    is_newest = shown.version.version_id == shown.resource.latest_id
    return {
        "review": record,
        "state": STATES[record.state],
        "state_of_resource": state_in_words(record.state, record.version_number, outdated=record.outdated),
        "missing": ""
        if shown.page in SAYING_WHY and Right.PUBLISH in shown.rights
        else missing_in_words(record.missing, record.outcome.changes_requested_by),
        "address": of_review(review.kind, review.resource_id, review.pk),
        "move_address": of_review(review.kind, review.resource_id, review.pk, "review_change"),
        "can_move": record.outdated and is_newest,
        "may_decide": shown.page in DECIDING
        and shown.version.version_id == record.version_id
        and may_decide(record, caller),
        "has_said": has_decided(record, caller),
        "verdict_address": of_review(review.kind, review.resource_id, review.pk, "review_verdict"),
        "max_text": MAX_TEXT,
        "next": shown.request.get_full_path(),
    }
