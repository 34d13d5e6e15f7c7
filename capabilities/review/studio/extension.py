"""The extension of the studio by reviews."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from capabilities.review.policy.check import ReviewRequired
from capabilities.review.studio import for_you, history_notes, links, lists, panels, waiting
from studio.extensions import Extension, WorkspaceTab
from studio.navigation import MainPage
from versioning.domain.access import Right

STUDIO: Final = Extension(
    urls="capabilities.review.studio.urls",
    own_urls="capabilities.review.studio.own_urls",
    resource_urls="capabilities.review.studio.urls.resource_urls",
    pages=[
        MainPage(
            page="reviews",
            title=_("Reviews"),
            place=10,
            sections=["reviews/"],
            waiting=waiting.count_for,
            waiting_query=waiting.QUERY,
        )
    ],
    tabs=[
        WorkspaceTab(page="reviews", title=_("Reviews"), right=Right.READ_DRAFTS, place=10),
        WorkspaceTab(
            page="review_policy",
            title=_("Review policy"),
            right=Right.READ_DRAFTS,
            place=10,
            is_setting=True,
        ),
    ],
    panels=panels.panels,
    panels_need=Right.READ_DRAFTS,
    concerns=panels.open_reviews,
    buttons=panels.ASKING,
    next_steps=panels.next_steps,
    after_saving={panels.BUTTON: panels.go_on},
    for_you=for_you.for_you,
    notes=history_notes.notes,
    list_notes=lists.list_notes,
    publish_blockers=lists.publish_blockers,
    chosen=lists.chosen,
    event_address=links.of_event,
    way_out=links.way_out,
    reasons={ReviewRequired.code: _("Publish without a review")},
)
