"""The application's extension of the studio."""

from __future__ import annotations

from typing import Final

from django.utils.translation import gettext_lazy as _

from capabilities.rollouts.studio import links, panels
from studio.extensions import Extension, ResourceTab
from versioning.domain.access import Right

STUDIO: Final = Extension(
    resource_urls="capabilities.rollouts.studio.urls.resource_urls",
    resource_tabs=[
        ResourceTab(page="rollouts", title=_("Rollout"), right=Right.READ_DRAFTS, needs_record=True),
        ResourceTab(page="runs", title=_("Usage"), right=Right.READ_DRAFTS),
    ],
    panels=panels.panels,
    panels_need=Right.READ_DRAFTS,
    panels_on=panels.WITH_STRIP,
    concerns=panels.running,
    buttons=[panels.BUTTON],
    notes=panels.notes,
    list_notes=panels.list_notes,
    event_address=links.of_event,
    way_out=links.way_out,
)
