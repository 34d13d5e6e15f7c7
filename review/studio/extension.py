"""The extension of the studio by reviews."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from review.policy.errors import ReviewRequired
from review.studio import after_save, history_notes, home, links, lists, panels
from studio.extensions import Extension, WorkspaceTab
from versioning.domain.access import Right

STUDIO: Final = Extension(
    urls="review.studio.urls",
    own_urls="review.studio.own_urls",
    resource_urls="review.studio.urls.resource_urls",
    tabs=[
        WorkspaceTab(page="reviews", title=_("Reviews"), right=Right.READ_DRAFTS),
        WorkspaceTab(page="review_policy", title=_("Review policy"), right=Right.READ_DRAFTS),
    ],
    panels=panels.panels,
    next_steps=after_save.next_steps,
    after_saving={after_save.BUTTON: after_save.go_on},
    home=home.sections,
    notes=history_notes.notes,
    publish_blockers=lists.publish_blockers,
    chosen=lists.chosen,
    event_address=links.of_event,
    way_out=links.way_out,
    reason_forms={ReviewRequired.code: "review/bypass.html"},
)
